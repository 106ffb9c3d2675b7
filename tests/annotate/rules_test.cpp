#include "annotate/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "annotate/annotations.h"
#include "annotate/match.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using testing::graph_of;
using ::testing::HasSubstr;

// x -> layer/a -> layer/b -> c -> d, and a side branch layer/a -> e -> d.
ir::Graph sample() {
  ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] d) {
    a = Relu (x)
    b = Neg (a)
    c = Relu (b)
    e = Exp (a)
    d = Add (c, e)
  })");
  graph.ops[0].name = "layer/first";
  graph.ops[1].name = "layer/second";
  graph.ops[2].name = "other";
  return graph;
}

std::string found(const std::string& pattern) {
  const ir::Graph graph = sample();
  std::string text;
  for (ir::OpId op : Matcher(graph).find(pattern)) text += graph[graph[op].outputs[0]].name;
  return text;
}

TEST(Matcher, FindsByNameOutputAndGlob) {
  EXPECT_EQ(found("other"), "c");
  EXPECT_EQ(found("e"), "e");
  EXPECT_EQ(found("c"), "c") << "a named node answers to its output's name too";
  EXPECT_EQ(found("layer/*"), "ab");
  EXPECT_EQ(found("*s*"), "ab");
  EXPECT_EQ(found("[de]"), "ed");
  EXPECT_EQ(found("*"), "abced");
}

TEST(Matcher, APlainNameStandsForAllUnderIt) {
  EXPECT_EQ(found("layer"), "ab");
  EXPECT_THAT(testing::refusal([] { found("lay"); }), HasSubstr("matches no node"));
}

TEST(Matcher, FindsByType) {
  EXPECT_EQ(found("type:Relu"), "ac");
  EXPECT_EQ(found("type:*e*"), "abc");
}

TEST(Matcher, FindsWhatLiesOnThePathsBetweenTensors) {
  EXPECT_EQ(found("a..c"), "bc");
  EXPECT_EQ(found("a..d"), "bced");
  EXPECT_EQ(found("x..e"), "ae");
}

TEST(Matcher, NamesTheNearestWhenNothingMatches) {
  EXPECT_EQ(testing::refusal([] { found("othr"); }),
            "pattern 'othr' matches no node, the nearest name is 'other'");
  EXPECT_EQ(testing::refusal([] { found("type:Rel"); }),
            "pattern 'type:Rel': no node of such a type found, the nearest is 'Relu'");
  EXPECT_THAT(testing::refusal([] { found("a..q"); }),
              HasSubstr("pattern 'a..q': there is no tensor 'q', the nearest is '"));
  EXPECT_EQ(testing::refusal([] { found("c..e"); }), "pattern 'c..e': no path leads from tensor 'c' to 'e'");
}

std::string annotated(const std::string& json) {
  ir::Graph graph = sample();
  apply_rules(graph, read_rules(json, "rules.json"));
  return ir::print(graph);
}

TEST(Rules, SetEveryAnnotation) {
  EXPECT_THAT(
      annotated(R"([{"match": "other", "ipu": 1, "stage": 2, "phase": 3, "recompute": true, "tiles": "IO",
                             "location": "OffChip", "priority": 1.5}])"),
      HasSubstr("c = Relu(b) {__ipu_number=1, __output_tensor_location=[1,0,0,0,0,0], __execution_phase=3, "
                "__schedule_priority=1.5, __recompute_output_in_backward_pass=2, __pipeline_stage=2, "
                "__tile_set=1}"));
}

TEST(Rules, SayHowProductsArePlanned) {
  EXPECT_THAT(annotated(R"({"match": "e", "partials": "half", "availableMemory": 0.5})"),
              HasSubstr("__available_memory=0.5"));
  EXPECT_THAT(testing::refusal([] { annotated(R"({"match": "e", "availableMemory": 2})"); }),
              HasSubstr("availableMemory: 2 found, a share above 0 and at most 1 needed"));
  EXPECT_THAT(testing::refusal([] { annotated(R"({"match": "e", "partials": "double"})"); }),
              HasSubstr("partials: \"double\" found, \"float\" or \"half\" needed"));
}

// Layers of two nodes each, and nodes before, between and behind them.
std::string stages_of_layers(int stages) {
  ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] z) {
    a = Relu (x)
    b = Neg (a)
    c = Exp (b)
    d = Neg (c)
    e = Exp (d)
    f = Relu (e)
    y = Neg (f)
    z = Exp (y)
  })");
  const char* const names[] = {"in", "h0/neg", "h0/exp", "h1/neg", "h1/exp", "between", "h10/neg", "out"};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) graph.ops[i].name = names[i];
  apply_rules(graph,
              read_rules(fmt::format(R"({{"match": "h[0-9]*", "stages": {}}})", stages), "rules.json"));
  std::string text;
  for (const ir::Op& op : graph.ops) {
    const auto* stage = ir::attribute_if<std::int64_t>(op, kPipelineStage);
    const auto* processor = ir::attribute_if<std::int64_t>(op, kVirtualGraph);
    EXPECT_EQ(*stage, *processor);
    text += std::to_string(*stage);
  }
  return text;
}

TEST(Rules, ShareOutLayers) {
  EXPECT_EQ(stages_of_layers(1), "00000000");
  EXPECT_EQ(stages_of_layers(2), "00000011");
  EXPECT_EQ(stages_of_layers(3), "00011122");
  EXPECT_EQ(testing::refusal([] { stages_of_layers(4); }),
            "stages: 4 found, at most the 3 layers that 'h[0-9]*' names needed");
}

TEST(Rules, OneMayComeWithoutItsList) {
  EXPECT_THAT(annotated(R"({"match": "e", "ipu": 1})"), HasSubstr("e = Exp(a) {__ipu_number=1}"));
}

TEST(Rules, LaterOnesWin) {
  EXPECT_THAT(
      annotated(R"([{"match": "*", "ipu": 1}, {"match": "e", "ipu": 2}, {"match": "c..d", "ipu": 3}])"),
      ::testing::AllOf(HasSubstr("c = Relu(b) {__ipu_number=1}"), HasSubstr("e = Exp(a) {__ipu_number=2}"),
                       HasSubstr("d = Add(c, e) {__ipu_number=3}")));
}

TEST(Rules, ReplaceTheAnnotationUnderItsPlainName) {
  ir::Graph graph =
      graph_of("g (float[2] x) => (float[2] y) { y = Relu<virtualGraph=4, pipelineStage=1> (x) }");
  apply_rules(graph, {{"y", {{"__ipu_number", std::int64_t{2}}}}});
  EXPECT_THAT(ir::print(graph), HasSubstr("{pipelineStage=1, __ipu_number=2}"));
  clear_annotations(graph.ops[0]);
  EXPECT_THAT(ir::print(graph), HasSubstr("y = Relu(x)  #"));
}

TEST(Rules, SayWhatIsWrongAndWhere) {
  const auto refusal = [](const std::string& json) {
    return testing::refusal([&] { read_rules(json, "rules.json"); });
  };
  EXPECT_EQ(refusal("[}"), "rules.json: no JSON: character 2 cannot stand there");
  EXPECT_EQ(refusal("7"), "rules.json: number found, a list of rules needed");
  EXPECT_EQ(refusal(R"([{"match": "a", "ipu": 1}, 5])"), "rules.json: rule 2: 5 found, an object needed");
  EXPECT_EQ(refusal(R"([{"ipu": 1}])"), "rules.json: rule 1: \"match\" is missing");
  EXPECT_EQ(refusal(R"([{"match": "a"}])"),
            "rules.json: rule 1: nothing to annotate found, ipu, stage, phase or another name needed");
  EXPECT_EQ(refusal(R"([{"match": "a", "ipu": -1}])"),
            "rules.json: rule 1: ipu: -1 found, a whole number of at least 0 needed");
  EXPECT_EQ(refusal(R"([{"match": "a", "stags": 1}])"),
            "rules.json: rule 1: unknown name 'stags', the nearest is 'stages'");
  EXPECT_EQ(refusal(R"([{"match": "a", "stages": 0}])"),
            "rules.json: rule 1: stages: 0 found, a whole number of at least 1 needed");
  EXPECT_EQ(refusal(R"([{"match": "a", "tiles": "io"}])"),
            "rules.json: rule 1: tiles: \"io\" found, \"Compute\" or \"IO\" needed");
}

}  // namespace
}  // namespace podium::annotate
