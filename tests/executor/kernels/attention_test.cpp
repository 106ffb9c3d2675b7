#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "executor/kernels/tools/kernel.h"
#include "executor/session/session.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/ops/attention.h"
#include "ir/work.h"
#include "tests/support/fusing.h"
#include "tests/support/near.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::Dims;
using ir::Float16;
using ir::Tensor;
using ::testing::Each;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::tensor;
using ::testing::ThrowsMessage;
using testing::values;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

Tensor numbers(Dims dims, int seed) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < ir::element_count(dims); ++i) {
    result.push_back(std::sin(1.3 * static_cast<double>(i) + seed));
  }
  return tensor<double>(std::move(dims), result);
}

// Runs an op on constants; an undefined tensor is an input left out.
std::vector<ir::Datum> run(const std::string& op, const std::vector<Tensor>& inputs, std::size_t outputs,
                           std::vector<ir::Attribute> attributes = {}, const std::string& domain = "") {
  ir::Graph graph;
  ir::Builder builder(graph);
  std::vector<ir::ValueId> ids;
  std::vector<ir::Datum> data;
  for (const Tensor& input : inputs) {
    ids.push_back(input.defined() ? builder.constant(input) : ir::kNoValue);
    data.push_back(input.defined() ? ir::Datum(input) : ir::Datum());
  }
  builder.ops(domain, op, ids, outputs, std::move(attributes));
  return evaluate(graph.ops.back(), data);
}

ir::Attribute with(const std::string& name, std::int64_t value) { return {name, value}; }

// The bias of the score of position j for row i of head h of batch element b; -infinity hides the position.
using Bias = std::function<double(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;

// Attention as it is defined, for tensors [batch, heads, length, size].
std::vector<double> attend(const Tensor& q, const Tensor& k, const Tensor& v, const Bias& bias,
                           double softcap = 0) {
  const std::int64_t group = q.dim(1) / k.dim(1);
  std::vector<double> y;
  for (std::int64_t row = 0; row < q.dim(0) * q.dim(1) * q.dim(2); ++row) {
    const std::int64_t b = row / q.dim(2) / q.dim(1);
    const std::int64_t h = row / q.dim(2) % q.dim(1);
    const std::int64_t kv = b * k.dim(1) + h / group;
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t j = 0; j < k.dim(2); ++j) {
      double score = 0;
      for (std::int64_t e = 0; e < q.dim(3); ++e) {
        score += q.data<double>()[row * q.dim(3) + e] * k.data<double>()[(kv * k.dim(2) + j) * q.dim(3) + e];
      }
      score /= std::sqrt(static_cast<double>(q.dim(3)));
      if (softcap > 0) score = softcap * std::tanh(score / softcap);
      weights.push_back(std::exp(score + bias(b, h, row % q.dim(2), j)));
      total += weights.back();
    }
    for (std::int64_t e = 0; e < v.dim(3); ++e) {
      double sum = 0;
      for (std::int64_t j = 0; j < k.dim(2); ++j) {
        sum += weights[j] * v.data<double>()[(kv * k.dim(2) + j) * v.dim(3) + e];
      }
      y.push_back(total == 0 ? 0 : sum / total);
    }
  }
  return y;
}

double none(std::int64_t /*b*/, std::int64_t /*h*/, std::int64_t /*i*/, std::int64_t /*j*/) { return 0; }
double hidden_unless(bool seen) { return seen ? 0 : -kInfinite; }

TEST(Attention, GoesOverSeveralBlocksOfRowsWithSharedHeads) {
  const Tensor q = numbers({2, 4, 150, 3}, 1);
  const Tensor k = numbers({2, 2, 70, 3}, 2);
  const Tensor v = numbers({2, 2, 70, 5}, 3);
  expect_near(values<double>(run("Attention", {q, k, v}, 1)[0]), attend(q, k, v, none));
}

TEST(Attention, CombinesCausalityWindowsAndTheOffsetOfThePast) {
  const Tensor q = numbers({1, 2, 100, 4}, 1);
  const Tensor past_k = numbers({1, 2, 30, 4}, 2);
  const Tensor past_v = numbers({1, 2, 30, 4}, 3);
  const Tensor k = numbers({1, 2, 100, 4}, 4);
  const Tensor v = numbers({1, 2, 100, 4}, 5);
  const auto y = run("Attention", {q, k, v, Tensor(), past_k, past_v}, 3,
                     {with("is_causal", 1), with("left_window_size", 20)});
  ASSERT_EQ(y[1].tensor.dims(), (Dims{1, 2, 130, 4}));
  EXPECT_EQ(y[1].tensor.data<double>()[130 * 4], past_k.data<double>()[30 * 4]);
  EXPECT_EQ(y[2].tensor.data<double>()[30 * 4], v.data<double>()[0]);
  expect_near(values<double>(y[0]),
              attend(q, y[1].tensor, y[2].tensor, [](auto, auto, std::int64_t i, std::int64_t j) {
                return hidden_unless(j <= i + 30 && i + 30 - j <= 20);
              }));
}

Tensor as_floats(const Tensor& doubles) {
  const auto all = values<double>(ir::Datum(doubles));
  return tensor<float>(doubles.dims(), std::vector<float>(all.begin(), all.end()));
}

// Floats take packed heads (attention_head.h), doubles do not.
TEST(Attention, OfFloatsIsThatOfDoubles) {
  const Tensor q = numbers({2, 4, 150, 6}, 1);
  const Tensor k = numbers({2, 2, 130, 6}, 2);
  const Tensor v = numbers({2, 2, 130, 70}, 3);
  const Tensor mask = numbers({1, 4, 150, 130}, 4);
  const std::vector<std::vector<ir::Attribute>> cases{
      {},
      {with("is_causal", 1)},
      {with("left_window_size", 70)},
      {with("is_causal", 1), with("left_window_size", 3), {"softcap", 2.0F}, {"scale", 0.7F}},
      {with("qk_matmul_output_mode", 3), with("right_window_size", 100)}};
  for (const auto& attributes : cases) {
    const std::size_t outputs = attributes.size() == 2 ? 4 : 1;
    const auto exact = run("Attention", {q, k, v, mask}, outputs, attributes);
    const auto y =
        run("Attention", {as_floats(q), as_floats(k), as_floats(v), as_floats(mask)}, outputs, attributes);
    for (const std::size_t i : {std::size_t{0}, outputs - 1}) {
      const auto floats = values<float>(y[i]);
      expect_near(std::vector<double>(floats.begin(), floats.end()), values<double>(exact[i]), 1e-5);
    }
  }
}

// Rows 1, 2 and 5 of seven, beside what the whole op gives for them.
TEST(Attention, OfSomeQueriesSeesWhatTheirPlacesSee) {
  const Tensor q = numbers({2, 2, 7, 3}, 1);
  const Tensor k = numbers({2, 2, 9, 3}, 2);
  const Tensor past = numbers({2, 2, 2, 3}, 3);
  const std::vector<std::int64_t> places{1, 2, 5};
  Tensor part(DataType::Double, {2, 2, 3, 3});
  for (std::int64_t block = 0; block < 4; ++block) {
    for (std::int64_t row = 0; row < 3; ++row)
      std::copy_n(q.data<double>() + (block * 7 + places[row]) * 3, 3,
                  part.data<double>() + (block * 3 + row) * 3);
  }
  for (const auto& bounds : {std::vector{with("is_causal", 1)}, std::vector{with("left_window_size", 2)},
                             std::vector{with("is_causal", 1), with("left_window_size", 3)},
                             std::vector{with("right_window_size", 1)}}) {
    const Tensor all = run("Attention", {q, k, k, {}, past, past}, 1, bounds)[0].tensor;
    std::vector<ir::Attribute> of_part = bounds;
    of_part.push_back({std::string(ir::kQueryRanges), ir::IntList{1, 3, 5, 6}});
    const Tensor own = run("Attention", {part, k, k, {}, past, past}, 1, of_part)[0].tensor;
    for (std::int64_t block = 0; block < 4; ++block) {
      for (std::int64_t i = 0; i < 9; ++i) {
        EXPECT_NEAR(std::as_const(own).data<double>()[block * 9 + i],
                    std::as_const(all).data<double>()[(block * 7 + places[i / 3]) * 3 + i % 3], 1e-12);
      }
    }
  }
}

TEST(Attention, BoundsTheWindowOnTheRightWithoutCausality) {
  const Tensor x = numbers({1, 1, 90, 2}, 1);
  expect_near(
      values<double>(run("Attention", {x, x, x}, 1, {with("right_window_size", 3)})[0]),
      attend(x, x, x, [](auto, auto, std::int64_t i, std::int64_t j) { return hidden_unless(j <= i + 3); }));
}

TEST(Attention, PadsAShortMaskAndStretchesItsAxes) {
  const Tensor q = numbers({2, 3, 4, 2}, 1);
  const Tensor k = numbers({2, 3, 6, 2}, 2);
  const Tensor mask = numbers({2, 1, 4, 5}, 3);
  const double* added = mask.data<double>();
  expect_near(values<double>(run("Attention", {q, k, k, mask}, 1)[0]),
              attend(q, k, k, [&](std::int64_t b, auto, std::int64_t i, std::int64_t j) {
                return j < 5 ? added[(b * 4 + i) * 5 + j] : -kInfinite;
              }));
  const Tensor row = tensor<bool>({6}, {true, false, true, true, false, true});
  expect_near(
      values<double>(run("Attention", {q, k, k, row}, 1)[0]),
      attend(q, k, k, [&](auto, auto, auto, std::int64_t j) { return hidden_unless(j != 1 && j != 4); }));
}

TEST(Attention, GivesZerosToRowsThatSeeNothing) {
  const Tensor x = numbers({1, 1, 2, 2}, 1);
  const Tensor mask = tensor<bool>({2, 2}, {false, false, true, true});
  const auto y = run("Attention", {x, x, x, mask}, 4, {with("qk_matmul_output_mode", 3)});
  EXPECT_EQ(values<double>(y[0])[0], 0);
  EXPECT_NE(values<double>(y[0])[2], 0);
  EXPECT_EQ(values<double>(y[3])[1], 0);
}

TEST(Attention, AlignsThePaddedCacheOfEachBatchElementAtItsEnd) {
  const Tensor q = numbers({2, 1, 3, 2}, 1);
  const Tensor k = numbers({2, 1, 6, 2}, 2);
  const std::vector<std::int64_t> lengths{5, 2};
  const auto y = run("Attention", {q, k, k, Tensor(), Tensor(), Tensor(), Tensor::ints(lengths)}, 1,
                     {with("is_causal", 1)});
  expect_near(values<double>(y[0]),
              attend(q, k, k, [&](std::int64_t b, auto, std::int64_t i, std::int64_t j) {
                const std::int64_t length = lengths[b];
                return hidden_unless(j < length && j <= i + length - 3);
              }));
}

// The scores of rows 0 and 1 over positions 0 and 1 at each stage.
TEST(Attention, ShowsTheScoresAtEachStage) {
  const Tensor x = tensor<double>({1, 1, 2, 1}, {1, 2});
  const Tensor mask = tensor<double>({2, 2}, {1, 0, 0, 0});
  const auto shown = [&](std::int64_t mode) {
    return values<double>(
        run("Attention", {x, x, x, mask}, 4,
            {with("qk_matmul_output_mode", mode), with("is_causal", 1), {"softcap", 3.0F}})[3]);
  };
  const auto capped = [](double score) { return 3 * std::tanh(score / 3); };
  expect_near(shown(0), {1, 2, 2, 4});
  expect_near(shown(1), {capped(1), capped(2), capped(2), capped(4)});
  const std::vector<double> biased = shown(2);
  EXPECT_NEAR(biased[0], capped(1) + 1, 1e-12);
  EXPECT_EQ(biased[1], -kInfinite);
  const double odds = std::exp(capped(4) - capped(2));
  expect_near(shown(3), {1, 0, 1 / (1 + odds), odds / (1 + odds)});
}

TEST(Attention, ReadsHeadsThatLieSideBySide) {
  // [1, 2, 2 heads * 2] is [1, 2, 2, 2] with the middle axes exchanged.
  const Tensor flat = numbers({1, 2, 4}, 1);
  const double* x = flat.data<double>();
  const Tensor heads = tensor<double>({1, 2, 2, 2}, {x[0], x[1], x[4], x[5], x[2], x[3], x[6], x[7]});
  const std::vector<double> expected = attend(heads, heads, heads, none);
  const auto y = run("Attention", {flat, flat, flat}, 2, {with("q_num_heads", 2), with("kv_num_heads", 2)});
  expect_near(values<double>(y[0]), {expected[0], expected[1], expected[4], expected[5], expected[2],
                                     expected[3], expected[6], expected[7]});
  EXPECT_EQ(values<double>(y[1]), values<double>(heads));
  EXPECT_THAT(
      [&] {
        run("Attention", {flat, flat, flat}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("q_num_heads is needed")));
}

TEST(Attention, ComputesHalvesInFloatBesideValuesOfAnotherType) {
  const Tensor q = tensor<Float16>({1, 1, 1, 1}, {Float16(1)});
  const Tensor k = tensor<Float16>({1, 1, 2, 1}, {Float16(1), Float16(1)});
  const Tensor v = tensor<float>({1, 1, 2, 1}, {1, 2});
  const auto y = run("Attention", {q, k, v}, 3);
  EXPECT_EQ(static_cast<float>(values<Float16>(y[0])[0]), 1.5F);
  EXPECT_EQ(y[2].tensor.type(), DataType::Float);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const Tensor q = numbers({1, 3, 2, 4}, 1);
  const Tensor k = numbers({1, 2, 2, 4}, 1);
  EXPECT_THAT(
      [&] {
        run("Attention", {q, k, k}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("Q has 3 heads, a multiple of the 2")));
  EXPECT_THAT(
      [&] {
        run("Attention", {k, k, k, numbers({3, 2}, 1)}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("attn_mask [3,2] does not broadcast to [1,2,2,2]")));
}

TEST(FlexAttention, IsPlainAttentionWithoutBodies) {
  const Tensor q = numbers({2, 4, 3, 2}, 1);
  const Tensor k = numbers({2, 2, 5, 2}, 2);
  expect_near(values<double>(run("FlexAttention", {q, k, k}, 1, {}, "ai.onnx.preview")[0]),
              attend(q, k, k, none));
}

TEST(FlexAttention, RunsBodiesOnScoresAndProbabilities) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 26, "ai.onnx.preview" : 1]>
    g (double[1,1,2,1] x, double[2,2] added) => (double[1,1,2,1] y) {
      y = ai.onnx.preview.FlexAttention <
        score_mod = s (double[B,H,L,S] a) => (double[B,H,L,S] b) { b = Add(a, added) },
        prob_mod = p (double[B,H,L,S] c) => (double[B,H,L,S] d) { d = Add(c, c) }> (x, x, x)
    })";
  const Tensor x = numbers({1, 1, 2, 1}, 1);
  const Tensor added = numbers({2, 2}, 2);
  InferenceSession session(importer::import_text(text));
  const std::vector<ir::Datum> inputs{x, added};
  std::vector<double> expected = attend(
      x, x, x, [&](auto, auto, std::int64_t i, std::int64_t j) { return added.data<double>()[i * 2 + j]; });
  for (double& value : expected) value *= 2;
  expect_near(values<double>(session.run(inputs)[0]), expected);
}

// Values that the bodies capture stand behind the op's own inputs, where Attention has its past.
TEST(FlexAttention, WorksNoLongerForWhatItsBodiesCapture) {
  const auto flop = [](const std::string& body) {
    const importer::Model model =
        importer::import_text(R"(<ir_version: 8, opset_import: ["" : 26, "ai.onnx.preview" : 1]>
    g (double[1,1,2,1] x, double[1,1,2,2] a, double[1,1,2,2] b, double s) => (double[1,1,2,1] y) {
      y = ai.onnx.preview.FlexAttention <score_mod = m (double[B,H,L,S] i) => (double[B,H,L,S] o) )" +
                              body + "> (x, x, x) }");
    ir::Graph graph = model.graph;
    ir::infer(graph);
    return ir::work_of(ir::TypedOp(graph, graph.ops.back())).flop;
  };
  const double plain = flop("{ o = Neg(i) }");
  EXPECT_GT(plain, 0);
  EXPECT_EQ(flop("{ t = Add(i, a) o = Add(t, b) }"), plain);
  EXPECT_EQ(flop("{ t = Add(i, a) o = Mul(t, s) }"), plain);
}

TEST(LinearAttention, FollowsEachRuleStepByStep) {
  const Tensor query = numbers({1, 2, 2}, 1);
  const Tensor key = numbers({1, 2, 2}, 2);
  const Tensor value = numbers({1, 2, 1}, 3);
  const Tensor decay = numbers({1, 2, 2}, 4);
  const Tensor beta = numbers({1, 2, 1}, 5);
  const Tensor erase = numbers({1, 2, 2}, 6);
  for (const std::string rule : {"linear", "gated", "delta", "gated_delta"}) {
    const bool decays = rule.starts_with("gated");
    const bool corrects = rule.ends_with("delta");
    std::vector<double> state{0.5, -1};
    std::vector<double> expected;
    for (std::size_t t = 0; t < 2; ++t) {
      const double* k = key.data<double>() + 2 * t;
      for (std::size_t i = 0; decays && i < 2; ++i) state[i] *= std::exp(decay.data<double>()[2 * t + i]);
      double written = value.data<double>()[t];
      if (corrects) {
        const double* e = erase.data<double>() + 2 * t;
        written = beta.data<double>()[t] * (written - state[0] * k[0] * e[0] - state[1] * k[1] * e[1]);
      }
      for (std::size_t i = 0; i < 2; ++i) state[i] += k[i] * written;
      expected.push_back(
          3 * (query.data<double>()[2 * t] * state[0] + query.data<double>()[2 * t + 1] * state[1]));
    }
    const auto y =
        run("LinearAttention",
            {query, key, value, tensor<double>({1, 1, 2, 1}, {0.5, -1}), decays ? decay : Tensor(),
             corrects ? beta : Tensor(), corrects ? erase : Tensor()},
            2, {with("q_num_heads", 1), with("kv_num_heads", 1), {"scale", 3.0F}, {"update_rule", rule}});
    expect_near(values<double>(y[0]), expected);
    expect_near(values<double>(y[1]), state);
  }
}

TEST(LinearAttention, RefusesInputsThatItsRuleHasNoUseFor) {
  const Tensor x = numbers({1, 2, 2}, 1);
  const std::vector<ir::Attribute> heads{with("q_num_heads", 1), with("kv_num_heads", 1)};
  EXPECT_THAT(
      [&] {
        run("LinearAttention", {x, x, x}, 1, heads);
      },
      ThrowsMessage<Error>(HasSubstr("update_rule 'gated_delta' needs decay")));
}

TEST(RotaryEmbedding, TurnsHalvesOrNeighbours) {
  const Tensor x = tensor<double>({1, 1, 1, 4}, {1, 2, 3, 4});
  const Tensor cosines = tensor<double>({2, 2}, {9, 9, 0, 1});
  const Tensor sines = tensor<double>({2, 2}, {9, 9, 1, 0});
  const Tensor ids = tensor<std::int64_t>({1, 1}, {1});
  expect_near(values<double>(run("RotaryEmbedding", {x, cosines, sines, ids}, 1)[0]), {-3, 2, 1, 4});
  expect_near(
      values<double>(run("RotaryEmbedding", {x, cosines, sines, ids}, 1, {with("interleaved", 1)})[0]),
      {-2, 1, 3, 4});
  expect_near(values<double>(
                  run("RotaryEmbedding", {x, cosines, sines, ids}, 1, {with("rotary_embedding_dim", 2)})[0]),
              {-2, 1, 3, 4});
}

TEST(RotaryEmbedding, RefusesPositionsBehindTheCache) {
  const Tensor x = numbers({1, 1, 1, 2}, 1);
  const Tensor cache = numbers({2, 1}, 1);
  EXPECT_THAT(
      [&] {
        run("RotaryEmbedding", {x, cache, cache, tensor<std::int64_t>({1, 1}, {2})}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("position_ids has 2, 0 to 1 needed")));
  EXPECT_THAT(
      [&] {
        run("RotaryEmbedding", {x, cache, cache}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("cos_cache is [2,1]")));
}

TEST(Attention, RefusesInputsOfSeveralBatchesOrHeads) {
  const auto error = [](const Dims& k, const Dims& v, const Dims& past) {
    return testing::error_of(
        fmt::format("g (float[2,2,3,4] q, float[{}] k, float[{}] v, float[{}] p) => (float[a,b,c,d] y) {{ "
                    "y = Attention(q, k, v, , p, p) }}",
                    fmt::join(k, ","), fmt::join(v, ","), fmt::join(past, ",")),
        {testing::random_floats({2, 2, 3, 4}, 1), testing::random_floats(k, 2), testing::random_floats(v, 3),
         testing::random_floats(past, 4)});
  };
  const Dims fits{2, 2, 3, 4};
  EXPECT_THAT(error({1, 2, 3, 4}, fits, fits), HasSubstr("one batch needed"));
  EXPECT_THAT(error(fits, {1, 2, 3, 4}, fits), HasSubstr("one batch needed"));
  EXPECT_THAT(error(fits, fits, {1, 2, 3, 4}),
              HasSubstr("past_key is [1,2,3,4], [2, 2, positions, 4] needed"));
  EXPECT_THAT(error(fits, fits, {2, 1, 3, 4}), HasSubstr("past_key is [2,1,3,4]"));
  EXPECT_THAT(error(fits, fits, {2, 2, 3, 5}), HasSubstr("past_key is [2,2,3,5]"));
  EXPECT_EQ(error(fits, fits, fits), "");
}

// With a window to the left, the last rows of Q lie behind all that they could see.
TEST(Attention, ARowBehindAllPositionsSeesNothing) {
  const Tensor y = run("Attention",
                       {testing::random_floats({1, 1, 10, 1}, 1), testing::random_floats({1, 1, 5, 1}, 2),
                        testing::random_floats({1, 1, 5, 1}, 3)},
                       1, {with("left_window_size", 2), with("right_window_size", INT64_MAX)})[0]
                       .tensor;
  EXPECT_NE(y.data<float>()[6], 0);
  for (std::int64_t i = 7; i < 10; ++i) EXPECT_EQ(y.data<float>()[i], 0) << i;
}

TEST(RotaryEmbedding, RefusesCachesThatDoNotFit) {
  const auto error = [](const Dims& cache) {
    return testing::error_of(
        fmt::format(
            "g (float[1,2,3,4] x, float[{0}] c) => (float[a,b,d,e] y) {{ y = RotaryEmbedding(x, c, c) }}",
            fmt::join(cache, ",")),
        {testing::random_floats({1, 2, 3, 4}, 1), testing::random_floats(cache, 2)});
  };
  EXPECT_EQ(error({1, 3, 2}), "");
  EXPECT_THAT(error({1, 3, 1}), HasSubstr("cos_cache is [1,3,1]"));
  EXPECT_THAT(error({2, 3, 2}), HasSubstr("cos_cache is [2,3,2]"));
  EXPECT_THAT(error({3, 2}), HasSubstr("cos_cache is [3,2]"));
}

}  // namespace
}  // namespace podium::kernels
