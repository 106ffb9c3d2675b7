// Weights that replicas hold in parts, gathered where a block reads them.
#include "executor/lower/program/gather_in_turn.h"

#include <gtest/gtest.h>

#include "executor/lower/program/append.h"
#include "executor/lower/program/split_collectives.h"
#include "tests/executor/lower/placed.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::CollectiveKind;
using executor::CollectiveReduction;

// A block that reads weights w0, w1, ... in parts: one for each op of the body, which names them.
executor::Program reads_parts(const std::string& body, int weights) {
  ir::Graph graph = testing::graph_of(body);
  executor::Program program;
  program.replicas = 2;
  executor::Compute compute;
  for (ir::ValueId& input : graph.inputs) {
    Buffer buffer{.name = graph[input].name, .type = graph[input].type};
    if (compute.reads.size() < static_cast<std::size_t>(weights)) buffer.shards = 2;
    compute.reads.push_back({append(program, std::move(buffer))});
  }
  for (int i = weights; i-- > 0;) {
    const ir::ValueId whole = graph.inputs[i];
    const ir::Type part = ir::Type::tensor(ir::DataType::Float, {graph[whole].type.element_count() / 2});
    graph.inputs[i] = graph.add_value(graph[whole].name, part);
    graph.ops.insert(graph.ops.begin(), collective_op(CollectiveKind::AllGather, CollectiveReduction::Add, {},
                                                      graph.inputs[i], whole));
    graph[whole].name += "_whole";
  }
  compute.writes = {{append(program, Buffer{.name = "y", .type = graph[graph.outputs[0]].type})}};
  compute.block = append(program, executor::Block{.name = "all", .graph = std::move(graph)});
  program.steps = {{compute}};
  split_collectives(program);
  return program;
}

TEST(GatherInTurn, GathersEachWeightBeforeItsFirstReader) {
  EXPECT_EQ(testing::steps_of(reads_parts("g (float[4] w0, float[4] w1, float[4] x) => (float[4] y) "
                                          "{ a = Mul(x, w0) b = Mul(a, w1) y = Exp(b) }",
                                          2)),
            "all-gather w0@0 -> w0_whole@0\n"
            "compute all.1 on ipu 0: (x@0, w0_whole@0) -> (a@0)\n"
            "all-gather w1@0 -> w1_whole@0\n"
            "compute all.2 on ipu 0: (a@0, w1_whole@0) -> (y@0)\n");
}

TEST(GatherInTurn, GathersSmallWeightsTogether) {
  EXPECT_EQ(
      testing::steps_of(reads_parts("g (float[2] w0, float[2] w1, float[4] w2, float[2] x) => (float[2] y) "
                                    "{ a = Mul(x, w0) b = Mul(a, w1) c = ReduceSum(w2) y = Add(b, c) }",
                                    3)),
      "all-gather w0@0 -> w0_whole@0\n"
      "all-gather w1@0 -> w1_whole@0\n"
      "compute all.1 on ipu 0: (x@0, w0_whole@0, w1_whole@0) -> (b@0)\n"
      "all-gather w2@0 -> w2_whole@0\n"
      "compute all.2 on ipu 0: (w2_whole@0, b@0) -> (y@0)\n");
}

TEST(GatherInTurn, GathersAgainWhatIsReadLater) {
  EXPECT_EQ(testing::steps_of(reads_parts("g (float[4] w0, float[4] w1, float[4] x) => (float[4] y) "
                                          "{ a = Mul(x, w0) b = Mul(a, w1) y = Mul(b, w0) }",
                                          2)),
            "all-gather w0@0 -> w0_whole@0\n"
            "compute all.1 on ipu 0: (x@0, w0_whole@0) -> (a@0)\n"
            "all-gather w1@0 -> w1_whole@0\n"
            "compute all.2 on ipu 0: (a@0, w1_whole@0) -> (b@0)\n"
            "all-gather w0@0 -> w0_whole:0@0\n"
            "compute all.3 on ipu 0: (b@0, w0_whole:0@0) -> (y@0)\n");
}

}  // namespace
}  // namespace podium::lower
