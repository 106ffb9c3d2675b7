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

}  // namespace
}  // namespace podium::lower
