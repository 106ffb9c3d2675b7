// Each case cuts a small graph over devices and runs what comes of it: all devices' ops on one processor.
// What is cut wrong shows as a wrong number.
#include "annotate/partition.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "annotate/annotations.h"
#include "ir/ops/group_exchange.h"
#include "ir/random_draws.h"
#include "tests/support/cut_graph.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using ir::Datum;
using ir::Tensor;
using testing::axis;
using testing::cut_graph;
using testing::CutGraph;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using testing::graph_of;
using ::testing::HasSubstr;
using testing::over;
using ::testing::Pointwise;
using testing::Said;
using testing::tensor;

std::string moved(const Partitioned& made) {
  std::string text;
  for (const Resharding& one : made.reshardings) text += to_string(one) + "\n";
  return text;
}

// "MatMul 0, MatMul 1": ops with their devices, in order.
std::string ops_of(const Partitioned& made, const std::string& kind) {
  std::vector<std::string> found;
  for (const ir::Op& op : made.training.graph.ops) {
    if (op.is(kind))
      found.push_back(fmt::format("{} {}", kind, ir::attribute<std::int64_t>(op, kVirtualGraph)));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

std::vector<float> run(const Partitioned& made, const std::vector<Datum>& inputs) {
  return testing::values<float>(testing::run_graph(made.training.graph, inputs)[0]);
}

const char* const kProduct =
    "agraph (float[2,2] a) => (float[2,2] y) <float[2,2] b = {5, 6, 7, 8}> { y = MatMul(a, b) }";
const Datum kA = tensor<float>({2, 2}, {1, 2, 3, 4});

TEST(Partition, AddsUpAProductThatIsCutAlongItsInnerDimension) {
  const Partitioned made = cut_graph(graph_of(kProduct), 2, {{"y", "b", over({axis(0, 2)})}}).cut();
  EXPECT_EQ(ops_of(made, "MatMul"), "MatMul 0, MatMul 1");
  EXPECT_EQ(moved(made), "the output needs 'y': reduce, 16 bytes\n");
  EXPECT_THAT(run(made, {kA}), ElementsAre(19, 22, 43, 50));
}

TEST(Partition, ScattersASumThatTheNodeWantsInParts) {
  const Partitioned made =
      cut_graph(graph_of(kProduct), 2, {{"y", "b", over({axis(0, 2)})}, {"y", "y", over({axis(0, 2)})}})
          .cut();
  // Each device gets a row of the other one's summand; then the output is brought together.
  EXPECT_EQ(moved(made),
            "'y' needs 'y': reduce-scatter, 16 bytes\nthe output needs 'y': all-gather, 8 bytes\n");
  EXPECT_THAT(run(made, {kA}), ElementsAre(19, 22, 43, 50));
}

TEST(Partition, RefusesMoreOpsThanThePlanAllows) {
  CutGraph cut = cut_graph(graph_of(kProduct), 2, {{"y", "b", over({axis(1, 2)})}});
  cut.plan.most_ops = 1;
  EXPECT_THAT(testing::refusal([&] { cut.cut(); }),
              HasSubstr("more than 1 ops of 2 devices found, fewer devices needed"));
}

TEST(Partition, CutsColumnsWithoutMovingAnything) {
  const Partitioned made = cut_graph(graph_of(kProduct), 2, {{"y", "b", over({axis(1, 2)})}}).cut();
  EXPECT_EQ(moved(made), "the output needs 'y': all-gather, 8 bytes\n");
  EXPECT_THAT(run(made, {kA}), ElementsAre(19, 22, 43, 50));
}

// Each device has one row: an axis of one element, but not of the whole.
TEST(Partition, SqueezesTheAxesOfOneElementOfTheWhole) {
  const Partitioned made = cut_graph(graph_of("agraph (float[2,1,2] a) => (float[2,2] y) { y = Squeeze(a) }"),
                                     2, {{"y", "a", over({axis(0, 2)})}})
                               .cut();
  EXPECT_EQ(ops_of(made, "Squeeze"), "Squeeze 0, Squeeze 1");
  EXPECT_THAT(run(made, {tensor<float>({2, 1, 2}, {1, 2, 3, 4})}), ElementsAre(1, 2, 3, 4));
}

// The sum is added up where its summands are, each device a row of it, and crosses once: the second group
// gathers the rows.
TEST(Partition, PutsStagesOnGroupsOfDevices) {
  CutGraph cut = cut_graph(graph_of("agraph (float[2,2] a) => (float[2,2] z) <float[2,2] b = {5, 6, 7, 8}> "
                                    "{ y = MatMul(a, b) z = Neg(y) }"),
                           2, {{"y", "b", over({axis(0, 2)})}});
  cut.plan.placement = {.ops = {{}, {.processor = 1, .stage = 1}}, .processors = 2, .stages = 2};
  const Partitioned made = cut.cut();
  EXPECT_EQ(ops_of(made, "MatMul"), "MatMul 0, MatMul 1");
  EXPECT_EQ(ops_of(made, "Neg"), "Neg 2");
  EXPECT_EQ(ops_of(made, "Sum"), "");
  EXPECT_EQ(moved(made), "'z' needs 'y': reduce-scatter, 16 bytes\n'z' needs 'y': all-gather, 32 bytes\n");
  for (const ir::Op& op : made.training.graph.ops) {
    const bool is_first = op.is("MatMul") || op.is("Slice") || op.spec->name == ir::kGroupReduceScatter;
    EXPECT_EQ(ir::attribute<std::int64_t>(op, kPipelineStage), is_first ? 0 : 1) << op.spec->name;
  }
  EXPECT_THAT(run(made, {kA}), ElementsAre(-19, -22, -43, -50));
}

// Both read the rows of y, which device 0 puts together from two devices.
TEST(Partition, JoinsAnOutputInTheStageThatMakesIt) {
  CutGraph cut =
      cut_graph(graph_of("agraph (float[2,2] a) => (float[2,2] y, float[2,2] z) { y = Neg(a) z = Abs(y) }"),
                4, {{"y", "y", over({axis(0, 2), axis(1, 2)})}, {"z", "y", over({axis(0, 2)})}});
  cut.plan.placement = {.ops = {{}, {.processor = 0, .stage = 1}}, .processors = 1, .stages = 2};
  const Partitioned made = cut.cut();
  const ir::Graph& graph = made.training.graph;
  const auto makers = ir::producers(graph);
  const auto stage = [](const ir::Op& op) { return ir::attribute<std::int64_t>(op, kPipelineStage); };
  for (const ir::Op& op : graph.ops) {
    for (ir::ValueId id : inputs_of(op)) {
      if (!makers[id].valid()) continue;
      EXPECT_GE(stage(op), stage(graph[makers[id]])) << graph[id].name;
    }
  }
  EXPECT_EQ(stage(graph[makers[graph.outputs[0]]]), 0);
  EXPECT_THAT(run(made, {kA}), ElementsAre(-1, -2, -3, -4));
}

// What both devices of a group have crosses once, in parts that the next group gathers.
TEST(Partition, SendsToOtherGroupsInParts) {
  CutGraph cut = cut_graph(graph_of("agraph (float[2,2] a) => (float[2,2] z) <float[2,2] b = {5, 6, 7, 8}> "
                                    "{ y = MatMul(a, b) w = Neg(y) z = MatMul(w, b) }"),
                           2,
                           {{"y", "y", over({axis(1, 2)})},
                            {"w", "w", {.holders = {{0, 1}}, .axes = {}}},
                            {"z", "z", over({axis(1, 2)})}});
  cut.plan.placement = {.ops = {{}, {}, {.processor = 1, .stage = 1}}, .processors = 2, .stages = 2};
  const Partitioned whole = cut.cut();
  cut.plan.sends = Sends::InParts;
  const Partitioned parts = cut.cut();
  EXPECT_THAT(moved(whole), HasSubstr("'z' needs 'w': transfers, 32 bytes"));
  EXPECT_THAT(moved(parts), HasSubstr("'z' needs 'w': all-gather, 32 bytes"));
  EXPECT_EQ(run(parts, {kA}), run(whole, {kA}));
}

const char* const kOuterSum = "agraph (float[2,1] a, float[1,2] b) => (float[2,2] y) { y = Add(a, b) }";
const std::vector<Datum> kOuterTerms{tensor<float>({2, 1}, {10, 20}), tensor<float>({1, 2}, {1, 2})};

TEST(Partition, CutsAlongSeveralLoopsAtOnce) {
  const Said rows{"y", "a", {.holders = {{0, 1}, {2, 3}}, .axes = {axis(0, 2)}}};
  const Said columns{"y", "b", {.holders = {{0, 2}, {1, 3}}, .axes = {axis(1, 2)}}};
  const Partitioned made = cut_graph(graph_of(kOuterSum), 4, {rows, columns}).cut();
  EXPECT_EQ(ops_of(made, "Add"), "Add 0, Add 1, Add 2, Add 3");
  EXPECT_EQ(moved(made), "the output needs 'y': all-gather, 12 bytes\n");
  EXPECT_THAT(run(made, kOuterTerms), ElementsAre(11, 12, 21, 22));
}

TEST(Partition, RefusesSpecsThatLeaveResultsToNoDevice) {
  const Said rows{"y", "a", {.holders = {{0, 1}, {2, 3}}, .axes = {axis(0, 2)}}};
  const Said columns{"y", "b", {.holders = {{0, 1}, {2, 3}}, .axes = {axis(1, 2)}}};
  EXPECT_THAT(testing::refusal([&] {
                cut_graph(graph_of(kOuterSum), 4, {rows, columns}).cut();
              }),
              HasSubstr("with 'b' cut as its sharding spec says no device computes some of the results"));
}

TEST(Partition, WeightsMeansOfUnevenParts) {
  const auto graph =
      graph_of("agraph (float[10] x) => (float y) { z = Neg(x) y = ReduceMean<keepdims=0>(z) }");
  const Partitioned made = cut_graph(graph, 4, {{"z", "x", over({axis(0, 4)})}}).cut();
  EXPECT_THAT(run(made, {tensor<float>({10}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}), ElementsAre(FloatEq(-5.5F)));
}

TEST(Partition, PicksTheRowsOfATableThatADeviceHas) {
  const auto graph = graph_of(
      "agraph (int64[5] ids) => (float[5,1] y) "
      "<float[10,1] table = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}> { y = Gather(table, ids) }");
  const Partitioned made = cut_graph(graph, 3, {{"y", "table", over({axis(0, 3)})}}).cut();
  EXPECT_EQ(ops_of(made, "Gather"), "Gather 0, Gather 1, Gather 2");
  EXPECT_THAT(run(made, {tensor<std::int64_t>({5}, {0, 7, 3, -1, 3})}), ElementsAre(0, 7, 3, 9, 3));
}

TEST(Partition, KeepsACutThroughAReshapeThatJoinsAxes) {
  const auto graph = graph_of(
      "agraph (float[2,4,6] x) => (float[8,6] y) <int64[2] shape = {8, 6}> "
      "{ z = Neg(x) r = Reshape(z, shape) y = Neg(r) }");
  const Partitioned made = cut_graph(graph, 2, {{"z", "x", over({axis(1, 2)})}}).cut();
  EXPECT_EQ(moved(made), "the output needs 'y': all-gather, 96 bytes\n");
  std::vector<float> numbers(48);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  EXPECT_EQ(run(made, {tensor<float>({2, 4, 6}, numbers)}), numbers);
}

TEST(Partition, MovesOnlyWhatAnotherCutNeeds) {
  const auto graph = graph_of("agraph (float[8,8] x) => (float[8,8] z) { y = Neg(x) z = Neg(y) }");
  const Partitioned made =
      cut_graph(graph, 4, {{"y", "x", over({axis(0, 4)})}, {"z", "y", over({axis(1, 4)})}}).cut();
  // Each of four devices gets three pieces of 16 bytes.
  EXPECT_THAT(moved(made), HasSubstr("'z' needs 'y': all-to-all, 192 bytes\n"));
}

// Megatron's: columns, then rows, and one sum.
TEST(Partition, NeedsOneSumForTwoProducts) {
  const auto graph = graph_of(
      "agraph (float[1,2] x) => (float[1,2] y) <float[2,4] u = {1, 2, 3, 4, 5, 6, 7, 8}, "
      "float[4] c = {1, 1, 1, 1}, float[4,2] v = {1, 0, 0, 1, 1, 1, 2, 1}, float[2] d = {1, 2}> "
      "{ h = MatMul(x, u) b = Add(h, c) r = Relu(b) s = MatMul(r, v) y = Add(s, d) }");
  const Partitioned made =
      cut_graph(graph, 2, {{"h", "u", over({axis(1, 2)})}, {"s", "v", over({axis(0, 2)})}}).cut();
  EXPECT_EQ(moved(made), "the output needs 'y': reduce, 8 bytes\n");
  // The bias is added once.
  EXPECT_EQ(ops_of(made, "Add"), "Add 0, Add 1, Add 0");
  const Datum x = tensor<float>({1, 2}, {1, 2});
  EXPECT_EQ(run(made, {x}), testing::values<float>(testing::run_graph(graph, {x})[0]));
}

TEST(Partition, RunsWholeWhatCannotBeCut) {
  const auto graph = graph_of("agraph (float[4] x) => (float[4] y) { z = Neg(x) y = Hardmax<axis=0>(z) }");
  const Partitioned made = cut_graph(graph, 2, {{"z", "x", over({axis(0, 2)})}}).cut();
  EXPECT_EQ(moved(made), "'y' needs 'z': all-gather, 16 bytes\n");
  EXPECT_THAT(run(made, {tensor<float>({4}, {1, 2, -3, 0})}), ElementsAre(0, 0, 1, 0));
}

// The largest of all, then the sum of the powers: one number of each device.
// Whoever opens a session may leave a type open; nothing is known of such a tensor then.
TEST(Partition, RunsWholeWhatHasAnInputWithoutAType) {
  ir::Graph graph = graph_of(
      "agraph (float[1,1,4,4] x) => (float[1,1,2,2] y) "
      "{ y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x) }");
  graph[graph.inputs[0]].type = {};
  const Partitioned made = cut_graph(graph, 2, {}).cut();
  EXPECT_EQ(ops_of(made, "MaxPool"), "MaxPool 0");
  EXPECT_THAT(testing::refusal([&] {
                cut_graph(graph, 2, {{"y", "x", over({axis(0, 2)})}}).cut();
              }),
              HasSubstr("'x' of undefined found, a type known before the run needed to cut tensors"));
}

TEST(Partition, CutsStrings) {
  const ir::Graph graph = graph_of(
      "agraph (bool[2] c, string[2] a) => (string[2] y) <string[2] b = {\"long enough to lie elsewhere\", \"b\"}> "
      "{ y = Where(c, a, b) }");
  const Partitioned made = cut_graph(graph, 2, {{"y", "b", over({axis(0, 2)})}}).cut();
  EXPECT_EQ(ops_of(made, "Where"), "Where 0, Where 1");
  const Datum result = testing::run_graph(
      made.training.graph, {Tensor::of<bool>({2}, {false, true}), tensor<std::string>({2}, {"a", "b"})})[0];
  EXPECT_THAT(testing::values<std::string>(result), ElementsAre("long enough to lie elsewhere", "b"));
}

TEST(Partition, NormalisesOverAnAxisThatIsCut) {
  const auto graph = graph_of("agraph (float[4] x) => (float[4] y) { z = Neg(x) y = Softmax<axis=0>(z) }");
  const Partitioned made = cut_graph(graph, 2, {{"z", "x", over({axis(0, 2)})}}).cut();
  EXPECT_EQ(moved(made),
            "'y' needs 'ReduceMax:1': all-reduce, 8 bytes\n"
            "'y' needs 'ReduceSum:4': all-reduce, 8 bytes\n"
            "the output needs 'y': all-gather, 8 bytes\n");
  const float two = std::log(2.0F);
  EXPECT_THAT(run(made, {tensor<float>({4}, {0, -two, -2 * two, 0})}),
              Pointwise(FloatNear(1e-6F), std::vector<float>{.125F, .25F, .5F, .125F}));
}

// The statistics are those of the whole batch: a number of each channel of each device.
TEST(Partition, TakesStatisticsOfWholeBatches) {
  const auto graph = graph_of(
      "agraph (float[2,2,3] x) => (float[2,2,3] y, float[2] m, float[2] v) <float[2] s = {1, 2}, float[2] b = "
      "{0, 1}, float[2] old = {3, 4}> { z = Neg(x) "
      "y, m, v = BatchNormalization<training_mode=1>(z, s, b, old, old) }");
  const Partitioned made = cut_graph(graph, 3, {{"z", "x", over({axis(2, 3)})}}).cut();
  EXPECT_THAT(moved(made), Not(HasSubstr("'z'")));
  const Datum x = tensor<float>({2, 2, 3}, {1, 5, 2, 3, 4, 9, 8, -2, 3, 1, 7, 6});
  const std::vector<Datum> expected = testing::run_graph(graph, {x});
  const std::vector<Datum> found = testing::run_graph(made.training.graph, {x});
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_THAT(testing::values<float>(found[i]),
                Pointwise(FloatNear(1e-5F), testing::values<float>(expected[i])));
}

// Experts shared out over groups of two devices, each of which has half of an expert's columns: sums over
// groups and over the devices of one.
TEST(Partition, AddsUpOverGroupsOfDevicesThatHaveDifferentParts) {
  const auto graph = graph_of(
      "agraph (float[2,3,4] x) => (float[3,4] y) <int64[1] first = {0}> "
      "{ z = Neg(x) s = ReduceSum<keepdims=0>(z, first) y = Hardmax(s) }");
  const Partitioned made = cut_graph(graph, 4, {{"z", "x", over({axis(0, 2), axis(2, 2)})}}).cut();
  EXPECT_THAT(moved(made), HasSubstr("'y' needs 's': all-reduce"));
  std::vector<float> numbers(24);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = -static_cast<float>(i);
  EXPECT_THAT(run(made, {tensor<float>({2, 3, 4}, numbers)}),
              ElementsAre(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1));
}

// ---- collectives

// "GroupAllReduce on 0 1": exchanges with their processors, in order.
std::string exchanges_of(const Partitioned& made) {
  std::string found;
  for (const ir::Op& op : made.training.graph.ops) {
    if (!ir::exchanges_in_group(op)) continue;
    found += fmt::format("{} on {}\n", op.spec->name,
                         fmt::join(ir::attribute<ir::IntList>(op, ir::kGroupProcessors), " "));
  }
  return found;
}

const char* const kReadProduct =
    "agraph (float[4,4] a) => (float[4,4] z) <float[4,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, "
    "2}> { y = MatMul(a, b) z = Hardmax(y) }";

TEST(Partition, MeetsOnceWhereAllDevicesNeedASum) {
  const Partitioned made = cut_graph(graph_of(kReadProduct), 4, {{"y", "b", over({axis(0, 4)})}}).cut();
  EXPECT_EQ(exchanges_of(made), "GroupAllReduce on 0 1 2 3\n");
  EXPECT_EQ(ops_of(made, "Sum"), "");
  // Each of 4 devices gets 2 * 3/4 of 64 bytes.
  EXPECT_EQ(moved(made), "'z' needs 'y': all-reduce, 384 bytes\n");
}

TEST(Partition, MeetsOnceToScatterASumAndToGatherIt) {
  const Partitioned made =
      cut_graph(graph_of(kReadProduct), 4, {{"y", "b", over({axis(0, 4)})}, {"y", "y", over({axis(1, 4)})}})
          .cut();
  EXPECT_EQ(exchanges_of(made), "GroupReduceScatter on 0 1 2 3\nGroupAllGather on 0 1 2 3\n");
  EXPECT_EQ(moved(made), "'y' needs 'y': reduce-scatter, 192 bytes\n'z' needs 'y': all-gather, 192 bytes\n");
  const Datum a = tensor<float>({4, 4}, {1, 0, 2, 0, 0, 3, 0, 1, 1, 1, 1, 1, 0, 0, 0, 5});
  EXPECT_EQ(run(made, {a}), testing::values<float>(testing::run_graph(graph_of(kReadProduct), {a})[0]));
}

// Two groups of two, each with a half of the rows.
TEST(Partition, MeetsInEachSetOfDevicesThatShareASum) {
  const Said inner{"y", "b", {.holders = {{0, 2}, {1, 3}}, .axes = {axis(0, 2)}}};
  const Said rows{"y", "a", {.holders = {{0}, {1}, {2}, {3}}, .axes = {axis(0, 2), axis(1, 2)}}};
  const Partitioned made = cut_graph(graph_of(kReadProduct), 4, {rows, inner}).cut();
  EXPECT_EQ(exchanges_of(made), "GroupAllReduce on 0 1\nGroupAllReduce on 2 3\n");
}

// Columns of the weight are on pairs of devices, so that each of two sets of devices computes all columns. A
// set has half of the rows, a quarter on each device.
constexpr const char* kOfQuarters =
    "agraph (float[4,4] x) => (float[4,4] z) <float[4,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, "
    "2}> { a = Neg(x) y = MatMul(a, b) z = Neg(y) }";
const Said kColumnsOfPairs{"y", "b", {.holders = {{0, 2}, {1, 3}}, .axes = {axis(1, 2)}}};
const Datum kFourByFour = tensor<float>({4, 4}, {1, 0, 2, 0, 0, 3, 0, 1, 1, 1, 1, 1, 0, 0, 0, 5});

TEST(Partition, GathersInSetsOfDevicesThatComputeAllTogether) {
  const Partitioned made =
      cut_graph(graph_of(kOfQuarters), 4, {{"a", "x", over({axis(0, 4)})}, kColumnsOfPairs}).cut();
  EXPECT_THAT(exchanges_of(made), ::testing::StartsWith("GroupAllGather on 0 1\nGroupAllGather on 2 3\n"));
  // Each of four devices gets a row of 16 bytes.
  EXPECT_THAT(moved(made), HasSubstr("'y' needs 'a': all-gather, 64 bytes\n"));
  EXPECT_EQ(run(made, {kFourByFour}),
            testing::values<float>(testing::run_graph(graph_of(kOfQuarters), {kFourByFour})[0]));
}

// What the sets have gathered they turn themselves.
TEST(Partition, MakesViewsOfPartsThatWereGathered) {
  const auto graph = graph_of(
      "agraph (float[1,4,4] x) => (float[1,4,4] y, float[4,4] z) <int64[2] rows = {4, 4}, float[4,4] b = "
      "{1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2}> "
      "{ a = Neg(x) y = MatMul(a, b) m = Reshape(a, rows) z = MatMul(m, b) }");
  const Said columns{"z", "b", {.holders = {{0, 2}, {1, 3}}, .axes = {axis(1, 2)}}};
  const Partitioned made =
      cut_graph(graph, 4, {{"a", "x", over({axis(1, 4)})}, kColumnsOfPairs, columns}).cut();
  EXPECT_THAT(moved(made), HasSubstr("'y' needs 'a': all-gather, 64 bytes\n"));
  EXPECT_THAT(moved(made), ::testing::Not(HasSubstr("needs 'm'")));
  const Datum x = tensor<float>({1, 4, 4}, {1, 0, 2, 0, 0, 3, 0, 1, 1, 1, 1, 1, 0, 0, 0, 5});
  EXPECT_EQ(run(made, {x}), testing::values<float>(testing::run_graph(graph, {x})[0]));
}

// A sum of two sets of devices, each of its own half of columns: pairs share it out by rows, as its other
// reader wants it, and the product with rows of a weight on pairs does a half of the rows in each.
TEST(Partition, AddsUpByRowsWhereColumnsAreCut) {
  const auto graph = graph_of(
      "agraph (float[4,4] x) => (float[4,4] z, float[4,4] w) <float[4,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, "
      "7, 6, 5, 4, 3, 2}> { q = Neg(x) k = MatMul(x, b) z = MatMul(k, b) w = Mul(q, k) }");
  const Said inner{"k", "x", {.holders = {{0, 1}, {2, 3}}, .axes = {axis(1, 2)}}};
  const Said columns{"k", "b", {.holders = {{0}, {1}, {2}, {3}}, .axes = {axis(0, 2), axis(1, 2)}}};
  const Said rows{"z", "b", {.holders = {{0, 2}, {1, 3}}, .axes = {axis(0, 2)}}};
  const Said quarters{"q", "x", {.holders = {{0}, {2}, {1}, {3}}, .axes = {axis(1, 2), axis(0, 2)}}};
  const Partitioned made = cut_graph(graph, 4, {inner, columns, rows, quarters}).cut();
  EXPECT_THAT(moved(made), HasSubstr("'z' needs 'k': reduce-scatter, 64 bytes\n"));
  EXPECT_EQ(run(made, {kFourByFour}), testing::values<float>(testing::run_graph(graph, {kFourByFour})[0]));
}

// Rows 2 2 1, columns 3 3 1: a device gets what others have of its columns.
TEST(Partition, MeetsOnceWhereAnotherAxisIsCut) {
  const auto graph = graph_of("agraph (float[5,7] x) => (float[5,7] z) { y = Neg(x) z = Neg(y) }");
  const Partitioned made =
      cut_graph(graph, 3, {{"y", "x", over({axis(0, 3)})}, {"z", "y", over({axis(1, 3)})}}).cut();
  EXPECT_EQ(exchanges_of(made), "GroupAllToAll on 0 1 2\n");
  EXPECT_THAT(moved(made), HasSubstr("'z' needs 'y': all-to-all, 88 bytes\n"));
  std::vector<float> numbers(35);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  EXPECT_EQ(run(made, {tensor<float>({5, 7}, numbers)}), numbers);
}

// Nested cuts: two pairs of devices, each of which has a half of the first axis.
TEST(Partition, MeetsInEachSetOfDevicesThatCutAnotherAxis) {
  const auto graph = graph_of("agraph (float[2,4,6] x) => (float[2,4,6] z) { y = Neg(x) z = Neg(y) }");
  const Partitioned made =
      cut_graph(graph, 4,
                {{"y", "x", over({axis(0, 2), axis(1, 2)})}, {"z", "y", over({axis(0, 2), axis(2, 2)})}})
          .cut();
  EXPECT_EQ(exchanges_of(made), "GroupAllToAll on 0 1\nGroupAllToAll on 2 3\n");
  std::vector<float> numbers(48);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  EXPECT_EQ(run(made, {tensor<float>({2, 4, 6}, numbers)}), numbers);
}

// The same parts on other devices: each sends its own to one other, and nothing is cut or joined.
TEST(Partition, CopiesPartsThatOtherDevicesNeed) {
  const auto graph = graph_of("agraph (float[3,4] x) => (float[3,4] z) { y = Neg(x) z = Neg(y) }");
  const ir::ShardingSpec turned{.holders = {{1}, {2}, {0}}, .axes = {axis(0, 3)}};
  const Partitioned made = cut_graph(graph, 3, {{"y", "x", over({axis(0, 3)})}, {"z", "y", turned}}).cut();
  EXPECT_EQ(exchanges_of(made), "");
  EXPECT_EQ(ops_of(made, "Slice") + ops_of(made, "Split"), "Slice 0, Slice 1, Slice 2");
  EXPECT_THAT(moved(made), HasSubstr("'z' needs 'y': transfers, 48 bytes\n"));
  std::vector<float> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  EXPECT_EQ(run(made, {tensor<float>({3, 4}, numbers)}), numbers);
}

// What one device lacks is no collective.
TEST(Partition, MovesWhatOneDeviceNeedsAsItIs) {
  const Partitioned made = cut_graph(graph_of(kProduct), 2, {{"y", "b", over({axis(0, 2)})}}).cut();
  EXPECT_EQ(exchanges_of(made), "");
}

// ---- windows

// Eleven places over three devices: the second and the third lack one place on their left.
TEST(Partition, BringsEachDeviceTheHaloOfItsRows) {
  const auto graph = graph_of(
      "agraph (float[1,1,11] x) => (float[1,1,6] y) <float[1,1,3] w = {1, 10, 100}> "
      "{ z = Neg(x) y = Conv<pads=[1,1], strides=[2]>(z, w) }");
  const Partitioned made = cut_graph(graph, 3, {{"z", "x", over({axis(2, 3)})}}).cut();
  EXPECT_EQ(ops_of(made, "Conv"), "Conv 0, Conv 1, Conv 2");
  EXPECT_EQ(moved(made), "'y' needs 'z': transfers, 8 bytes\nthe output needs 'y': all-gather, 16 bytes\n");
  std::vector<float> numbers(11);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  EXPECT_THAT(run(made, {tensor<float>({1, 1, 11}, numbers)}),
              ElementsAre(-210, -432, -654, -876, -1098, -120));
}

// Parts of one row, and windows of five: each device takes from neighbours of its neighbours.
TEST(Partition, TakesAHaloFromMoreThanOneNeighbour) {
  const auto graph = graph_of(
      "agraph (float[1,1,4] x) => (float[1,1,4] y) <float[1,1,5] w = {1, 1, 1, 1, 1}> "
      "{ z = Neg(x) y = Conv<pads=[2,2]>(z, w) }");
  const Partitioned made = cut_graph(graph, 4, {{"z", "x", over({axis(2, 4)})}}).cut();
  EXPECT_EQ(moved(made), "'y' needs 'z': transfers, 40 bytes\nthe output needs 'y': all-gather, 12 bytes\n");
  EXPECT_THAT(run(made, {tensor<float>({1, 1, 4}, {1, 2, 3, 4})}), ElementsAre(-6, -10, -10, -9));
}

// Two parts of columns, and a tensor of which each device has a part of the rows.
TEST(Partition, DrawsOnEachDeviceItsPartOfTheWhole) {
  ir::Graph graph = graph_of(
      "agraph (float[4,6] x) => (float[4,6] y) <float r = {0.5}, bool t = {1}> { z = Neg(x) y = Dropout(z, r, t) }");
  ir::set_stream(graph.ops[1], 0);
  const std::vector<Datum> ones{tensor<float>({4, 6}, std::vector<float>(24, 1))};
  const auto whole = testing::values<float>(testing::run_graph(graph, ones)[0]);
  for (const int along : {0, 1}) {
    const Partitioned made = cut_graph(graph, 2, {{"z", "x", over({axis(along, 2)})}}).cut();
    EXPECT_EQ(ops_of(made, "Dropout"), "Dropout 0, Dropout 1");
    EXPECT_EQ(run(made, ones), whole);
  }
}

// What a body reads of outside is brought to all, and what it makes is there for what is cut behind it.
TEST(Partition, RunsBodiesWholeOnAllDevices) {
  const auto graph = graph_of(
      "agraph (bool c, float[4] x) => (float[4] z) { y = Neg(x)"
      " b = If (c) <then_branch = t () => (float[4] p) { p = Neg(y) },"
      " else_branch = e () => (float[4] q) { q = Identity(y) }> z = Neg(b) }");
  const Partitioned made =
      cut_graph(graph, 2, {{"y", "x", over({axis(0, 2)})}, {"z", "b", over({axis(0, 2)})}}).cut();
  EXPECT_EQ(ops_of(made, "If"), "If 0, If 1");
  EXPECT_EQ(exchanges_of(made), "GroupAllGather on 0 1\n");
  const Datum x = tensor<float>({4}, {1, 2, 3, 4});
  EXPECT_EQ(run(made, {Tensor::scalar(true), x}), (std::vector<float>{-1, -2, -3, -4}));
  EXPECT_EQ(run(made, {Tensor::scalar(false), x}), (std::vector<float>{1, 2, 3, 4}));
}

// Without a stream an op draws in turn: the first device does, for all.
TEST(Partition, DrawsOnOneDeviceByASeed) {
  const auto graph = graph_of(
      "agraph (float[4,6] x) => (float[4,6] y) <float r = {0.5}, bool t = {1}> "
      "{ z = Neg(x) y = Dropout<seed = 1>(z, r, t) }");
  EXPECT_EQ(ops_of(cut_graph(graph, 2, {{"z", "x", over({axis(0, 2)})}}).cut(), "Dropout"), "Dropout 0");
}

// An element makes two of the output, and needs its neighbours: parts of three and two rows take one row from
// each other.
TEST(Partition, EnlargesPartsOfImages) {
  const auto graph = graph_of(
      "agraph (float[1,1,5] x) => (float[1,1,10] y) <float[3] f = {1, 1, 2}> "
      "{ z = Neg(x) y = Resize<mode=\"linear\">(z, , f) }");
  const Partitioned made = cut_graph(graph, 2, {{"z", "x", over({axis(2, 2)})}}).cut();
  EXPECT_EQ(ops_of(made, "Resize"), "Resize 0, Resize 1");
  EXPECT_EQ(moved(made), "'y' needs 'z': transfers, 8 bytes\nthe output needs 'y': all-gather, 16 bytes\n");
  const Datum x = tensor<float>({1, 1, 5}, {1, 2, 4, 8, 16});
  EXPECT_EQ(run(made, {x}), testing::values<float>(testing::run_graph(graph, {x})[0]));
}

// Two numbers an image and channel of each device: no place of the image moves.
TEST(Partition, NormalisesImagesThatAreCutInSpace) {
  const auto graph = graph_of(
      "agraph (float[1,2,4,3] x) => (float[1,2,4,3] y) <float[2] s = {1, 2}, float[2] b = {0, 1}> "
      "{ z = Neg(x) y = InstanceNormalization(z, s, b) }");
  const Partitioned made = cut_graph(graph, 2, {{"z", "x", over({axis(2, 2)})}}).cut();
  EXPECT_THAT(moved(made), Not(HasSubstr("'z'")));
  std::vector<float> numbers(24);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * i % 11);
  const Datum x = tensor<float>({1, 2, 4, 3}, numbers);
  EXPECT_THAT(run(made, {x}),
              Pointwise(FloatNear(1e-5F), testing::values<float>(testing::run_graph(graph, {x})[0])));
}

// The bias is the first part's alone.
TEST(Partition, AddsTheBiasOfAConvolutionOnce) {
  const auto graph = graph_of(
      "agraph (float[1,4,2] x) => (float[1,1,2] y) <float[1,4,1] w = {1, 2, 3, 4}, float[1] b = {100}> "
      "{ z = Neg(x) y = Conv(z, w, b) }");
  const Partitioned made = cut_graph(graph, 2, {{"z", "x", over({axis(1, 2)})}}).cut();
  EXPECT_EQ(moved(made), "the output needs 'y': reduce, 8 bytes\n");
  EXPECT_THAT(run(made, {tensor<float>({1, 4, 2}, {1, 0, 1, 0, 1, 0, 1, 1})}), ElementsAre(90, 96));
}

// Half of the groups are a device's, with weights and biases of their own.
TEST(Partition, CutsGroupsOfChannels) {
  const auto graph = graph_of(
      "agraph (float[1,4,1] x) => (float[1,4,1] y) <float[4,1,1] w = {1, 2, 3, 4}, float[4] b = {1, 1, 1, 1}> "
      "{ z = Neg(x) y = Conv<group=4>(z, w, b) }");
  const Partitioned made = cut_graph(graph, 2, {{"z", "x", over({axis(1, 2)})}}).cut();
  EXPECT_EQ(moved(made), "the output needs 'y': all-gather, 8 bytes\n");
  for (const ir::Op& op : made.training.graph.ops) {
    const auto* groups = ir::attribute_if<std::int64_t>(op, "group");
    EXPECT_TRUE(groups == nullptr || *groups == 2);
  }
  EXPECT_THAT(run(made, {tensor<float>({1, 4, 1}, {1, 2, 3, 4})}), ElementsAre(0, -3, -8, -15));
}

}  // namespace
}  // namespace podium::annotate
