#include "executor/lower/program/split_collectives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "executor/lower/program/append.h"
#include "tests/executor/lower/placed.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::BufferId;
using executor::CollectiveKind;
using executor::CollectiveReduction;

// A Program of one block, which reads x and gives y; `exchanged` goes through an all-reduce on its way.
executor::Program one_block(const std::string& body, const std::string& exchanged) {
  ir::Graph graph = testing::graph_of(body);
  if (!exchanged.empty()) {
    const auto makes = [&](const ir::Op& op) { return graph[op.outputs[0]].name == exchanged; };
    const auto maker = std::find_if(graph.ops.begin(), graph.ops.end(), makes);
    const ir::ValueId result = maker->outputs[0];
    maker->outputs[0] = graph.add_value(exchanged + "_own", graph[result].type);
    graph.ops.insert(maker + 1, collective_op(CollectiveKind::AllReduce, CollectiveReduction::Add, {},
                                              maker->outputs[0], result));
  }
  executor::Program program;
  program.replicas = 2;
  const ir::Type type = graph[graph.inputs[0]].type;
  executor::Compute compute;
  const BufferId x = append(program, Buffer{.name = "x", .type = type});
  const BufferId y = append(program, Buffer{.name = "y", .type = graph[graph.outputs[0]].type});
  compute.block = append(program, executor::Block{.name = "all", .graph = std::move(graph)});
  compute.reads = {{x}};
  compute.writes = {{y}};
  program.steps = {{compute}};
  return program;
}

std::string split(const std::string& body, const std::string& exchanged) {
  executor::Program program = one_block(body, exchanged);
  split_collectives(program);
  return testing::steps_of(program);
}

TEST(SplitCollectives, LeavesABlockWithoutExchangesWhole) {
  EXPECT_EQ(split("g (float[2] x) => (float[2] y) { y = Relu(x) }", ""),
            "compute all on ipu 0: (x@0) -> (y@0)\n");
}

TEST(SplitCollectives, MakesAStepOfTheExchangeBetweenTwoBlocks) {
  EXPECT_EQ(split("g (float[2] x) => (float[2] y) { a = Relu(x) y = Exp(a) }", "a"),
            "compute all.0 on ipu 0: (x@0) -> (a_own@0)\n"
            "all-reduce a_own@0 -> a@0\n"
            "compute all.1 on ipu 0: (a@0) -> (y@0)\n");
}

}  // namespace
}  // namespace podium::lower
