#include "executor/lower/placed/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"

namespace podium::lower {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::names_of;

std::vector<std::string> op_types(const Part& part) {
  std::vector<std::string> found;
  for (const ir::Op& op : part.graph.ops) found.emplace_back(op.spec->name);
  return found;
}

std::vector<ir::ValueId> wholes(const std::vector<PartWeight>& weights) {
  std::vector<ir::ValueId> found;
  for (const PartWeight& weight : weights) found.push_back(weight.whole);
  return found;
}

// The turns of ops that differ in their processors alone.
ir::IdMap<ir::OpId, Turn> on_processors(const std::vector<int>& processors) {
  ir::IdMap<ir::OpId, Turn> turns;
  for (int processor : processors) turns.push_back({.processor = processor});
  return turns;
}

const ir::Graph& two_branches() {
  static const ir::Graph kGraph = testing::graph_of(R"(g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    a = Relu(x)
    b = Add(x, w)
    c = Neg(a)
    d = Mul(b, w)
    y = Sub(c, d)
  })");
  return kGraph;
}

TEST(Parts, StayInAGroupAsLongAsTheOrderAllows) {
  const std::vector<Part> parts = make_parts(two_branches(), on_processors({0, 1, 0, 1, 0}));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(op_types(parts[0]), ElementsAre("Relu", "Neg"));
  EXPECT_THAT(op_types(parts[1]), ElementsAre("Add", "Mul"));
  EXPECT_THAT(op_types(parts[2]), ElementsAre("Sub"));
  EXPECT_EQ(parts[1].turn.processor, 1);
}

TEST(Parts, PutOffWhatMayWaitForThePartThatReadsIt) {
  const std::vector<Part> parts =
      make_parts(two_branches(), on_processors({0, 1, 0, 1, 0}), {.may_wait = [](ir::OpId op) {
                   return op.index == 2;  // the Neg, of which the Sub alone reads
                 }});
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(op_types(parts[0]), ElementsAre("Relu"));
  EXPECT_THAT(op_types(parts[1]), ElementsAre("Add", "Mul"));
  EXPECT_THAT(op_types(parts[2]), ElementsAre("Neg", "Sub"));
}

TEST(Parts, PutNothingOffThatTheSamePartOrAnotherTurnReads) {
  const auto everything = [](ir::OpId) { return true; };
  const std::vector<Part> one =
      make_parts(two_branches(), on_processors({0, 0, 0, 0, 0}), {.may_wait = everything});
  ASSERT_EQ(one.size(), 1U);
  const std::vector<Part> two =
      make_parts(two_branches(), on_processors({0, 1, 0, 1, 0}), {.may_wait = everything});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_THAT(op_types(two[0]), ElementsAre("Add", "Mul"));
  EXPECT_THAT(op_types(two[1]), ElementsAre("Relu", "Neg", "Sub"));
}

TEST(Parts, TakeTheOpOfTheHighestPriorityThatCanRun) {
  const std::vector<Part> parts =
      make_parts(two_branches(), on_processors({0, 0, 0, 0, 0}), {.priority = [](ir::OpId op) {
                   return op.index == 3 ? 5.0F : op.index == 1 ? 1.0F : 0.0F;
                 }});
  ASSERT_EQ(parts.size(), 1U);
  // The Mul has the highest priority, but waits for the Add.
  EXPECT_THAT(op_types(parts[0]), ElementsAre("Add", "Mul", "Relu", "Neg", "Sub"));
}

TEST(Parts, ReadAndWriteOnlyWhatCrosses) {
  const ir::Graph& graph = two_branches();
  const std::vector<Part> parts = make_parts(graph, on_processors({0, 1, 0, 1, 0}));
  EXPECT_THAT(names_of(graph, parts[0].reads), ElementsAre("x"));
  EXPECT_THAT(names_of(graph, parts[0].writes), ElementsAre("c"));
  EXPECT_THAT(names_of(graph, wholes(parts[1].weights)), ElementsAre("w"));
  EXPECT_THAT(names_of(graph, parts[2].reads), ElementsAre("c", "d"));
  EXPECT_THAT(names_of(graph, parts[2].writes), ElementsAre("y"));
}

TEST(Parts, AreGraphsOfTheirOwn) {
  for (const Part& part : make_parts(two_branches(), on_processors({0, 1, 0, 1, 0}))) {
    EXPECT_NO_THROW(ir::verify(part.graph));
    EXPECT_EQ(part.graph.inputs.size(), part.reads.size());
    EXPECT_EQ(part.graph.outputs.size(), part.writes.size());
  }
}

TEST(Parts, TakeStreamedWeightsAsReads) {
  const ir::Graph& graph = two_branches();
  const auto parts = make_parts(graph, on_processors({0, 0, 0, 0, 0}),
                                {.streamed = [&](ir::ValueId id) { return graph[id].name == "w"; }});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(names_of(graph, parts[0].reads), ElementsAre("x", "w"));
  EXPECT_THAT(parts[0].weights, IsEmpty());
  EXPECT_FALSE(parts[0].graph[parts[0].graph.inputs[1]].constant.has_value());
}

TEST(Parts, RefuseWholeTurnsThatNeedEachOther) {
  EXPECT_EQ(make_parts(two_branches(), on_processors({0, 0, 1, 0, 1}), {.whole_turns = true}).size(), 2U);
  EXPECT_THROW(make_parts(two_branches(), on_processors({0, 1, 0, 1, 0}), {.whole_turns = true}),
               InternalError);
}

TEST(Turns, ComeByPhaseThenStageThenWorkThenSectionThenProcessor) {
  const std::vector<Turn> ascending{{.section = 1, .processor = 3},
                                    {.section = 2},
                                    {.work = Work::Late, .processor = 1},
                                    {.work = Work::Update, .processor = 1},
                                    {.work = Work::Update, .section = 1},
                                    {.stage = 1},
                                    {.phase = 1}};
  EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
}

TEST(Turns, SayWhatIsNotZero) {
  EXPECT_EQ(to_string(Turn{}), "the first turn");
  EXPECT_EQ(to_string(Turn{.phase = 1, .stage = 2, .work = Work::Update, .section = 3, .processor = 4}),
            "phase 1, stage 2, update, section 3, ipu 4");
}

}  // namespace
}  // namespace podium::lower
