#include "executor/program.h"

#include <gtest/gtest.h>

#include "executor/lower/lower.h"
#include "tests/support/graph_text.h"

namespace podium::executor {
namespace {

Program on_two_processors() {
  ir::Graph graph = testing::graph_of(R"(g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    a = Add(x, w)
    y = Relu(a)
  })");
  ir::Placement placement{.ops = {{.processor = 0}, {.processor = 1}}, .processors = 2};
  Strategy strategy;
  strategy.batches_per_step = 3;
  return lower::lower(std::move(graph), placement, strategy);
}

TEST(Program, PrintsItsBuffersBlocksAndSteps) {
  EXPECT_EQ(print(on_two_processors()), R"(buffer x: 1 x float[2] on ipu 0 compute
buffer w: 1 x float[2] on ipu 0 compute
buffer a: 1 x float[2] on ipu 0 compute
buffer a: 1 x float[2] on ipu 1 compute
buffer y: 1 x float[2] on ipu 1 compute
block part0 on ipu 0: 1 ops
block part1 on ipu 1: 1 ops
repeat 3 times
  load x@0 from host
  compute part0 on ipu 0: (x@0) -> (a@0)
  copy a@0 -> a@1
  compute part1 on ipu 1: (a@1) -> (y@1)
  store y@1 to host
)");
}

TEST(Program, RefusesABlockThatReadsAnotherProcessorsMemory) {
  Program program = on_two_processors();
  program.buffers[3].processor = 0;
  EXPECT_THROW(verify(program), InternalError);
}

TEST(Program, RefusesASlotThatIsNotThere) {
  Program program = on_two_processors();
  auto& body = std::get<Repeat>(program.steps[0].action).body;
  std::get<StoreToHost>(body.back().action).from.index = 1;
  EXPECT_THROW(verify(program), InternalError);
}

TEST(Program, RefusesACopyThatReadsWhatItHasWritten) {
  Program program = on_two_processors();
  auto& body = std::get<Repeat>(program.steps[0].action).body;
  auto& transfers = std::get<CopyBetweenProcessors>(body[2].action).transfers;
  transfers.push_back({transfers[0].to, transfers[0].from});
  EXPECT_THROW(verify(program), InternalError);
}

// Two processors, each with a summand of two rows, of which each gets one.
Program meeting_in_a_group() {
  Program program;
  program.processors = 2;
  const auto add = [&](const char* name, int processor, ir::Dims dims) {
    program.buffers.push_back({.name = name,
                               .type = ir::Type::tensor(ir::DataType::Float, std::move(dims)),
                               .processor = processor});
  };
  for (int processor : {0, 1}) add("term", processor, {2, 3});
  for (int processor : {0, 1}) add("part", processor, {1, 3});
  program.steps = {{.action = GroupCollective{
                        .kind = CollectiveKind::ReduceScatter,
                        .transfers = {{{BufferId{0}}, {BufferId{2}}}, {{BufferId{1}}, {BufferId{3}}}}}}};
  return program;
}

TEST(Program, PrintsWhatAGroupExchanges) {
  const Program program = meeting_in_a_group();
  EXPECT_NO_THROW(verify(program));
  EXPECT_EQ(print(program, program.steps[0]),
            "reduce-scatter in group along axis 0 term@0 -> part@0, term@1 -> part@1");
}

TEST(Program, PrintsWhatGoesFromAllToAll) {
  Program program = meeting_in_a_group();
  for (int processor : {0, 1}) program.buffers[processor].type.dims = {1, 4};
  for (int processor : {2, 3}) program.buffers[processor].type.dims = {2, 2};
  GroupCollective& step = std::get<GroupCollective>(program.steps[0].action);
  step.kind = CollectiveKind::AllToAll;
  step.scatter_axis = 1;
  EXPECT_NO_THROW(verify(program));
  EXPECT_EQ(print(program, program.steps[0]),
            "all-to-all in group along axis 0 to axis 1 term@0 -> part@0, term@1 -> part@1");
  program.buffers[3].type.dims = {2, 3};
  EXPECT_THROW(verify(program), InternalError);
}

TEST(Program, RefusesPartsThatAreNotTheWhole) {
  Program program = meeting_in_a_group();
  program.buffers[3].type.dims = {2, 3};
  EXPECT_THROW(verify(program), InternalError);
}

TEST(Program, RefusesAMemberThatIsOnAnotherProcessor) {
  Program program = meeting_in_a_group();
  program.buffers[3].processor = 0;
  EXPECT_THROW(verify(program), InternalError);
}

TEST(Program, ShardsRoundUp) {
  Buffer buffer{.name = "w", .type = ir::Type::tensor(ir::DataType::Float, {5, 2, 3})};
  buffer.shards = 4;
  EXPECT_EQ(slot_type(buffer), ir::Type::tensor(ir::DataType::Float, {8}));
  EXPECT_EQ(slot_bytes(buffer), 32);
}

TEST(Program, CountsQuantisedWeightsAsTheyAreStored) {
  Buffer buffer{.name = "w", .type = ir::Type::tensor(ir::DataType::Float, {100, 2})};
  buffer.stored_share = 0.26;
  EXPECT_EQ(slot_bytes(buffer), 208);
  buffer.shards = 2;
  EXPECT_EQ(slot_bytes(buffer), 104);
}

TEST(Program, GroupsReplicas) {
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(replica_groups({}, 4), (Groups{{0, 1, 2, 3}}));
  EXPECT_EQ(replica_groups({ir::GroupType::Consecutive, 2}, 4), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(replica_groups({ir::GroupType::Orthogonal, 2}, 4), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(replica_groups({ir::GroupType::None, 0}, 3), (Groups{{0}, {1}, {2}}));
  EXPECT_EQ(replica_groups({ir::GroupType::Consecutive, 2, 2}, 8), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(replica_groups({ir::GroupType::Consecutive, 2, 4}, 8),
            replica_groups({ir::GroupType::Orthogonal, 2}, 8));
  EXPECT_THROW(replica_groups({ir::GroupType::Consecutive, 3}, 4), Error);
  EXPECT_THROW(replica_groups({ir::GroupType::Consecutive, 2, 3}, 8), Error);
}

}  // namespace
}  // namespace podium::executor
