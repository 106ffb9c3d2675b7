#include "annotate/tensor_parallel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "annotate/match.h"
#include "tests/support/graph_with_weights.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using testing::graph_with_weights;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::refusal;

// "y: w 1/2": the op that makes y wants w in two parts along axis 1; "3.1/2": of each of three parts; "all":
// whole on every device; "1/2@[[0, 1], [2, 3]]" where several devices hold a part.
std::string text_of(const ir::ShardingSpec& spec) {
  if (spec.axes.empty()) return "all";
  std::string text;
  for (const ir::ShardedAxis& axis : spec.axes) {
    if (!text.empty()) text += ",";
    for (const ir::ShardedFactor& factor : axis.factors) {
      if (factor.size) text += fmt::format("{}.", *factor.size);
    }
    text += fmt::format("{}/{}", axis.axis, axis.factors.back().shards);
  }
  if (spec.holders[0].size() > 1) text += fmt::format("@{}", spec.holders);
  return text;
}

std::string planned(const ir::Graph& graph, const TensorParallelOptions& options) {
  const TensorParallelPlan plan = plan_tensor_parallel(graph, options);
  std::string text;
  ir::OpId last;
  for (const OpTensorSpec& said : plan.specs) {
    if (said.op != last)
      text += fmt::format("{}{}:", text.empty() ? "" : "\n", name_of(graph, graph[said.op]));
    text += fmt::format(" {} {}", graph[said.tensor].name, text_of(said.spec));
    last = said.op;
  }
  return text + "\n" + to_string(plan, graph, options);
}

std::string planned(const ir::Graph& graph, std::int64_t devices,
                    TokensBetweenBlocks tokens = TokensBetweenBlocks::Whole) {
  return planned(graph, {.devices = devices, .tokens = tokens});
}

TEST(TensorParallel, CutsAnMlpInColumnsThenRows) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,3,4] x) => (float[2,3,4] y) <float[4,8] w1, float[8] b, float[8,4] w2> {"
      " h = MatMul(x, w1)\n i = Add(h, b)\n j = Relu(i)\n y = MatMul(j, w2) }");
  EXPECT_EQ(planned(graph, 2),
            "h: x all w1 1/2 h -1/2\n"
            "i: b -1/2\n"
            "y: j -1/2 w2 0/2 y all\n"
            "1 MLP cut over 2 devices");
}

TEST(TensorParallel, CutsAGatedMlpAndOneWhoseGateIsInTheSameProduct) {
  const ir::Graph gated = graph_with_weights(
      "g (float[2,3,4] x) => (float[2,3,4] y) <float[4,8] up, float[4,8] gate, float[8,4] down> {"
      " u = MatMul(x, up)\n g = MatMul(x, gate)\n s = Sigmoid(g)\n a = Mul(g, s)\n m = Mul(a, u)\n"
      " y = MatMul(m, down) }");
  EXPECT_THAT(planned(gated, 2), HasSubstr("g: x all gate 1/2 g -1/2"));
  EXPECT_THAT(planned(gated, 2), HasSubstr("1 MLP cut over 2 devices"));
  const ir::Graph fused = graph_with_weights(
      "g (float[2,3,4] x) => (float[2,3,4] y) <float[4,16] up, float[8,4] down> {"
      " u = MatMul(x, up)\n a, b = Split <axis = 2, num_outputs = 2> (u)\n m = Mul(a, b)\n"
      " y = MatMul(m, down) }");
  EXPECT_THAT(planned(fused, 2), HasSubstr("u: x all up 2.1/2 u 2.-1/2"));
}

constexpr const char* kAttention =
    " qr = Reshape(q, s)\n kr = Reshape(k, s)\n vr = Reshape(v, s)\n"
    " qt = Transpose <perm = [0,2,1,3]> (qr)\n kt = Transpose <perm = [0,2,3,1]> (kr)\n"
    " vt = Transpose <perm = [0,2,1,3]> (vr)\n m = MatMul(qt, kt)\n n = Div(m, d)\n p = Softmax <axis = -1> (n)\n"
    " c = MatMul(p, vt)\n ct = Transpose <perm = [0,2,1,3]> (c)\n cr = Reshape(ct, f)\n y = MatMul(cr, wo) }";

// Two sequences of three tokens, four heads of two elements.
std::string separate() {
  return std::string(
             "g (float[2,3,8] x) => (float[2,3,8] y) <float[8,8] wq, float[8,8] wk, float[8,8] wv, float[8,8] wo, "
             "int64[4] s = {2,3,4,2}, int64[3] f = {2,3,8}, float d = {1.5}> {"
             " q = MatMul(x, wq)\n k = MatMul(x, wk)\n v = MatMul(x, wv)\n") +
         kAttention;
}

std::string fused() {
  return std::string(
             "g (float[2,3,8] x) => (float[2,3,8] y) <float[8,24] w, float[8,8] wo, "
             "int64[4] s = {2,3,4,2}, int64[3] f = {2,3,8}, float d = {1.5}> {"
             " a = MatMul(x, w)\n q, k, v = Split <axis = 2, num_outputs = 3> (a)\n") +
         kAttention;
}

TEST(TensorParallel, CutsAttentionByHeads) {
  EXPECT_EQ(planned(graph_with_weights(separate()), 4),
            "q: x all wq 1/4 q -1/4\n"
            "k: x all wk 1/4 k -1/4\n"
            "v: x all wv 1/4 v -1/4\n"
            "y: cr -1/4 wo 0/4 y all\n"
            "1 attention block cut over 4 devices");
}

TEST(TensorParallel, CutsAttentionThatDropsWeightsByHeads) {
  std::string text = separate();
  const auto insert = [&](const std::string& before, const std::string& what) {
    text.insert(text.find(before), what);
  };
  insert("float d =", "float ratio = {0.5}, bool training = {1}, ");
  insert(" c = MatMul(p", " r = Dropout(p, ratio, training)\n");
  text.replace(text.find("MatMul(p, vt)"), 13, "MatMul(r, vt)");
  EXPECT_EQ(planned(graph_with_weights(text), 4),
            "q: x all wq 1/4 q -1/4\n"
            "k: x all wk 1/4 k -1/4\n"
            "v: x all wv 1/4 v -1/4\n"
            "y: cr -1/4 wo 0/4 y all\n"
            "1 attention block cut over 4 devices");
}

TEST(TensorParallel, CutsEachPartOfAProductThatMakesAllThree) {
  EXPECT_EQ(planned(graph_with_weights(fused()), 2),
            "a: x all w 3.1/2 a 3.-1/2\n"
            "y: cr -1/2 wo 0/2 y all\n"
            "1 attention block cut over 2 devices");
}

TEST(TensorParallel, CutsTheOpOfAttentionAndSharesFewHeadsOfKeys) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,3,8] x) => (float[2,3,8] y) <float[8,8] wq, float[8,4] wk, float[8,4] wv, float[8,8] wo> {"
      " q = MatMul(x, wq)\n k = MatMul(x, wk)\n v = MatMul(x, wv)\n"
      " a = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)\n y = MatMul(a, wo) }");
  EXPECT_EQ(planned(graph, 4),
            "q: x all wq 1/4 q -1/4\n"
            "k: x all wk 1/2@[[0, 1], [2, 3]] k -1/2@[[0, 1], [2, 3]]\n"
            "v: x all wv 1/2@[[0, 1], [2, 3]] v -1/2@[[0, 1], [2, 3]]\n"
            "y: a -1/4 wo 0/4 y all\n"
            "1 attention block cut over 4 devices");
}

TEST(TensorParallel, CutsTokensBetweenTheBlocks) {
  EXPECT_THAT(planned(graph_with_weights(separate()), 2, TokensBetweenBlocks::Cut),
              HasSubstr("wo 0/2 y 1/2\n"));
  EXPECT_THAT(planned(graph_with_weights(separate()), 2, TokensBetweenBlocks::Cut), HasSubstr("q: x all wq"));
}

// Devices 0 and 1 have the first tokens, 2 and 3 the others. The first movement on the way of keys and values
// reads those of both groups.
TEST(TensorParallel, SharesOutTokensOverGroups) {
  EXPECT_EQ(planned(graph_with_weights(separate()), {.devices = 1, .context_groups = 3}),
            "q: x 1/3 wq all q 1/3\n"
            "k: x 1/3 wk all k 1/3\n"
            "v: x 1/3 wv all v 1/3\n"
            "kr: k all\n"
            "vr: v all\n"
            "y: cr 1/3 wo all y 1/3\n"
            "1 attention block cut over 3 devices, tokens over 3 groups of 1");
  EXPECT_EQ(planned(graph_with_weights(separate()), {.devices = 2, .context_groups = 2}),
            "q: x 1/2@[[0, 1], [2, 3]] wq 1/2@[[0, 2], [1, 3]] q 1/2,-1/2\n"
            "k: x 1/2@[[0, 1], [2, 3]] wk 1/2@[[0, 2], [1, 3]] k 1/2,-1/2\n"
            "v: x 1/2@[[0, 1], [2, 3]] wv 1/2@[[0, 2], [1, 3]] v 1/2,-1/2\n"
            "kr: k 2/2@[[0, 2], [1, 3]]\n"
            "vr: v 2/2@[[0, 2], [1, 3]]\n"
            "y: cr 1/2,-1/2 wo 0/2@[[0, 2], [1, 3]] y 1/2@[[0, 1], [2, 3]]\n"
            "1 attention block cut over 4 devices, tokens over 2 groups of 2");
}

// Each group has the same part of each of several stretches, so that none has only the last tokens, which see
// the most; as many stretches as tokens allow.
TEST(TensorParallel, DealsOutTokensInTurnWhereAttentionIsCausal) {
  const auto model = [](int tokens, int is_causal) {
    return graph_with_weights(fmt::format(
        "g (float[2,{0},8] x) => (float[2,{0},8] y) <float[8,8] wq, float[8,8] wk, float[8,8] wv, float[8,8] wo> "
        "{{ q = MatMul(x, wq)\n k = MatMul(x, wk)\n v = MatMul(x, wv)\n"
        " a = Attention <is_causal = {1}, q_num_heads = 4, kv_num_heads = 4> (q, k, v)\n y = MatMul(a, wo) }}",
        tokens, is_causal));
  };
  const auto tokens_of_queries = [&](int tokens, int is_causal, int devices) {
    const std::string text = planned(model(tokens, is_causal), {.devices = devices, .context_groups = 2});
    const std::size_t begin = text.find("q: x ") + 5;
    return text.substr(begin, text.find(" wq") - begin);
  };
  EXPECT_EQ(tokens_of_queries(64, 1, 1), "16.1/2");
  EXPECT_EQ(tokens_of_queries(24, 1, 1), "4.1/2");
  EXPECT_EQ(tokens_of_queries(24, 1, 2), "2.1/2@[[0, 1], [2, 3]]");
  EXPECT_EQ(tokens_of_queries(7, 1, 1), "1/2");
  EXPECT_EQ(tokens_of_queries(64, 0, 1), "1/2");
}

TEST(TensorParallel, RefusesToShareOutTokensOfExperts) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,3,4] x) => (float[2,3,4] y) <float[2,4,8] w1, float[2,8,4] w2> {"
      " h = MatMul(x, w1)\n j = Relu(h)\n y = MatMul(j, w2) }");
  EXPECT_THAT(refusal([&] { planned(graph, {.devices = 1, .context_groups = 2}); }),
              HasSubstr("experts found, none needed where groups share out the tokens"));
}

TEST(TensorParallel, GivesSomeDevicesAHeadLessWhereThatIsNeeded) {
  for (const std::string& model : {separate(), fused()}) {
    const auto plan = plan_tensor_parallel(graph_with_weights(model), {.devices = 3});
    EXPECT_EQ(plan.attentions, 1);
    const std::vector<ir::ShardedFactor>& rows = plan.specs[plan.specs.size() - 2].spec.axes.at(0).factors;
    ASSERT_EQ(rows.size(),
              2U);  // of the projection's weight: heads, which are cut, of elements that stay together
    EXPECT_EQ(rows[0].size, 4);
    EXPECT_EQ(rows[0].shards, 3);
    EXPECT_EQ(rows[1].shards, 1);
  }
}

// Six heads of keys over four devices: two devices have two, each with the two queries that share it, one has
// two and one none. A query is never apart from its key.
TEST(TensorParallel, KeepsKeysWithTheirQueries) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,3,24] x) => (float[2,3,24] y) <float[24,24] wq, float[24,12] wk, float[24,12] wv, float[24,24] wo> {"
      " q = MatMul(x, wq)\n k = MatMul(x, wk)\n v = MatMul(x, wv)\n"
      " a = Attention <q_num_heads = 12, kv_num_heads = 6> (q, k, v)\n y = MatMul(a, wo) }");
  const auto plan = plan_tensor_parallel(graph, {.devices = 4});
  for (const OpTensorSpec& said : plan.specs) {
    if (said.spec.axes.empty()) continue;
    EXPECT_EQ(said.spec.axes[0].factors.at(0).size, 6) << graph[said.tensor].name;
    EXPECT_EQ(said.spec.axes[0].factors[0].shards, 4) << graph[said.tensor].name;
  }
}

TEST(TensorParallel, LeavesDevicesOverWhereThereAreMoreThanHeads) {
  for (const std::string& model : {separate(), fused()}) {
    const auto plan = plan_tensor_parallel(graph_with_weights(model), {.devices = 8});
    EXPECT_EQ(plan.attentions, 1);
    EXPECT_EQ(plan.specs[plan.specs.size() - 2].spec.axes.at(0).factors.at(0).size, 4);
  }
}

// One key for all queries is on all devices.
TEST(TensorParallel, SharesOutQueriesOfOneKey) {
  EXPECT_EQ(
      planned(graph_with_weights(
                  "g (float[2,3,6] x) => (float[2,3,6] y) <float[6,6] wq, float[6,2] wk, float[6,2] wv, "
                  "float[6,6] wo> { q = MatMul(x, wq)\n k = MatMul(x, wk)\n v = MatMul(x, wv)\n"
                  " a = Attention <q_num_heads = 3, kv_num_heads = 1> (q, k, v)\n y = MatMul(a, wo) }"),
              {.devices = 3}),
      "q: x all wq 1/3 q -1/3\nk: x all wk all k all\nv: x all wv all v all\n"
      "y: a -1/3 wo 0/3 y all\n1 attention block cut over 3 devices");
}

// Columns of queries, keys and values side by side: of queries twice as many.
TEST(TensorParallel, SharesOutColumnsOfUnlikeWidthsBehindTheirSplit) {
  EXPECT_EQ(
      planned(
          graph_with_weights(
              "g (float[2,3,8] x) => (float[2,3,8] y) <float[8,16] w, float[8,8] wo, "
              "int64[3] sizes = {8, 4, 4}> { all = MatMul(x, w)\n q, k, v = Split <axis = 2> (all, sizes)\n"
              " a = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)\n y = MatMul(a, wo) }"),
          {.devices = 2}),
      "all: x all w 1/2 all -1/2\nq: q -1/2 k -1/2 v -1/2\n"
      "y: a -1/2 wo 0/2 y all\n1 attention block cut over 2 devices");
}

TEST(TensorParallel, CutsTheVocabularyOfATiedTable) {
  const ir::Graph graph = graph_with_weights(
      "g (int64[2,3] ids) => (float[2,3,10] y) <float[10,4] table, float[3,4] places, int64[2,3] at> {"
      " e = Gather(table, ids)\n p = Gather(places, ids)\n x = Add(e, p)\n"
      " t = Transpose <perm = [1,0]> (table)\n y = MatMul(x, t) }");
  EXPECT_EQ(planned(graph, 2),
            "e: table 0/2 ids all e all\n"
            "y: x all t 1/2\n"
            "t: t 1/2 table 0/2\n"
            "y: y -1/2\n"
            "1 embedding, 1 head cut over 2 devices");
}

// Tokens of 4 features, an MLP of 8 inside, and a head.
ir::Graph language_model(int words) {
  return graph_with_weights(
      fmt::format("g (int64[2,3] ids) => (float[2,3,{0}] y) <float[{0},4] table, float[4,8] up, "
                  "float[8,4] down, float[4,{0}] head> {{"
                  " e = Gather(table, ids)\n h = MatMul(e, up)\n i = Relu(h)\n j = MatMul(i, down)\n"
                  " k = Add(e, j)\n y = MatMul(k, head) }}",
                  words));
}

TEST(TensorParallel, TakesAnMlpWithAsManyFeaturesAsThereAreWordsForNoHead) {
  EXPECT_THAT(planned(language_model(8), 2), HasSubstr("1 MLP, 1 embedding, 1 head cut over 2 devices"));
}

TEST(TensorParallel, TakesTheLastOfProductsWithAsManyFeaturesAsThereAreWordsForTheHead) {
  EXPECT_THAT(planned(language_model(4), 2), HasSubstr("1 MLP, 1 embedding, 1 head cut over 2 devices"));
}

// Two experts whose rows are there by expert.
ir::Graph experts() {
  return graph_with_weights(
      "g (float[2,3,4] x) => (float[2,3,4] y) <float[2,4,8] up, float[2,8,4] down> {"
      " h = MatMul(x, up)\n i = Relu(h)\n y = MatMul(i, down) }");
}

TEST(TensorParallel, CutsExpertsInColumnsAndRowsOrSharesThemOut) {
  EXPECT_EQ(planned(experts(), 2),
            "h: x all up 2/2 h -1/2\n"
            "y: i -1/2 down 1/2 y all\n"
            "1 expert layer cut over 2 devices");
  EXPECT_EQ(planned(experts(), {.devices = 2, .expert_groups = 2}),
            "h: x 0/2 up 0/2 h 0/2\n"
            "y: i 0/2 down 0/2 y 0/2\n"
            "1 expert layer cut over 2 devices");
  EXPECT_EQ(planned(experts(), {.devices = 4, .expert_groups = 2}),
            "h: x 0/2@[[0, 1], [2, 3]] up 0/2,2/2 h 0/2,-1/2\n"
            "y: i 0/2,-1/2 down 0/2,1/2 y 0/2@[[0, 1], [2, 3]]\n"
            "1 expert layer cut over 4 devices");
}

TEST(TensorParallel, RefusesGroupsOfExpertsThatDoNotFit) {
  EXPECT_EQ(refusal([] { plan_tensor_parallel(experts(), {.devices = 4, .expert_groups = 4}); }),
            "node 'y' (MatMul): 2 experts found for 4 groups of devices, a multiple needed");
  EXPECT_EQ(refusal([] { plan_tensor_parallel(experts(), {.devices = 4, .expert_groups = 3}); }),
            "3 groups of experts found for 4 devices, a divisor needed");
  EXPECT_EQ(refusal([] {
              plan_tensor_parallel(graph_with_weights(separate()), {.devices = 2, .expert_groups = 2});
            }),
            "no MLP of experts found, one with weights [experts, in, out] needed for groups of experts");
}

TEST(TensorParallel, CutsConvolutionsInPairsAndSaysWhatStaysWhole) {
  const ir::Graph graph = graph_with_weights(
      "g (float[1,2,4,4] x) => (float[1,4,4,4] y) <float[4,2,1,1] a, float[4] b, float[4,4,1,1] c, "
      "float[4,4,1,1] d> {"
      " p = Conv(x, a, b)\n q = Relu(p)\n r = Conv(q, c)\n y = Conv(r, d) }");
  EXPECT_EQ(planned(graph, 2),
            "p: x all a 0/2 b -1/2 p 1/2\n"
            "r: q 1/2 c 1/2 r all\n"
            "1 convolution pair cut over 2 devices; 1 product stays whole: y");
}

TEST(TensorParallel, DoesNotTakeAProductOfAnotherBlockForAnMlp) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,3,4] x) => (float[2,3,4] y) <float[4,8] w1, float[8,4] w2> {"
      " h = MatMul(x, w1)\n j = Softmax(h)\n y = MatMul(j, w2) }");
  EXPECT_EQ(refusal([&] { plan_tensor_parallel(graph, {.devices = 2}); }),
            "no attention, MLP or pair of convolutions found, one needed");
}

}  // namespace
}  // namespace podium::annotate
