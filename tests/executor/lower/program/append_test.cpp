#include "executor/lower/program/append.h"

#include <gtest/gtest.h>

namespace podium::lower {
namespace {

TEST(Append, GivesTheIdByWhichAProgramFindsIt) {
  executor::Program program;
  append(program, executor::Buffer{.name = "a", .type = {}});
  const executor::BufferId b = append(program, executor::Buffer{.name = "b", .type = {}});
  EXPECT_EQ(program[b].name, "b");
  const executor::BlockId block = append(program, executor::Block{.name = "all", .graph = {}});
  EXPECT_EQ(program[block].name, "all");
}

TEST(KeepingBlock, HandsItsValueOn) {
  const ir::Value value{.name = "a", .type = ir::Type::tensor(ir::DataType::Float, {2})};
  const executor::Block block = keeping_block(value, 3);
  EXPECT_EQ(block.name, "keep a");
  EXPECT_EQ(block.processor, 3);
  ASSERT_EQ(block.graph.ops.size(), 1U);
  EXPECT_TRUE(block.graph.ops[0].is("Identity"));
}

}  // namespace
}  // namespace podium::lower
