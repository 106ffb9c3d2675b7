#include "executor/lower/program/join_collectives.h"

#include <gtest/gtest.h>

#include "executor/lower/program/append.h"
#include "tests/executor/lower/placed.h"

namespace podium::lower {
namespace {

using executor::BufferId;
using executor::Program;
using executor::Step;

class Exchanges {
 public:
  BufferId buffer(const char* name) {
    return append(program_,
                  executor::Buffer{.name = name, .type = ir::Type::tensor(ir::DataType::Float, {2})});
  }
  Step reduce(BufferId id) { return {executor::Collective{.transfer = {{id}, {id}}}}; }
  Step compute(const char* name, BufferId from, BufferId to) {
    ir::Graph graph = testing::graph_of("g (float[2] a) => (float[2] b) { b = Relu(a) }");
    executor::Compute step{
        .block = append(program_, executor::Block{.name = name, .graph = std::move(graph)}),
        .reads = {{from}},
        .writes = {{to}}};
    return {std::move(step)};
  }
  std::string joined(std::vector<Step> steps) {
    program_.steps = std::move(steps);
    join_collectives(program_);
    return testing::steps_of(program_);
  }

 private:
  Program program_;
};

TEST(JoinCollectives, PutsThoseTogetherThatNothingBetweenConcerns) {
  Exchanges made;
  const BufferId a = made.buffer("a");
  const BufferId b = made.buffer("b");
  const BufferId w = made.buffer("w");
  EXPECT_EQ(
      made.joined({made.reduce(a), made.compute("update", a, w), made.reduce(b), made.compute("next", b, w)}),
      "all-reduce a@0 -> a@0\n"
      "all-reduce b@0 -> b@0\n"
      "compute update on ipu 0: (a@0) -> (w@0)\n"
      "compute next on ipu 0: (b@0) -> (w@0)\n");
}

TEST(JoinCollectives, DelaysOneForALaterOneThatCannotComeEarlier) {
  Exchanges made;
  const BufferId a = made.buffer("a");
  const BufferId b = made.buffer("b");
  const BufferId x = made.buffer("x");
  EXPECT_EQ(made.joined({made.reduce(a), made.compute("makes", x, b), made.reduce(b)}),
            "compute makes on ipu 0: (x@0) -> (b@0)\n"
            "all-reduce a@0 -> a@0\n"
            "all-reduce b@0 -> b@0\n");
}

TEST(JoinCollectives, LeavesOneThatWaitsForWhatIsBetween) {
  Exchanges made;
  const BufferId a = made.buffer("a");
  const BufferId b = made.buffer("b");
  EXPECT_EQ(made.joined({made.reduce(a), made.compute("makes", a, b), made.reduce(b)}),
            "all-reduce a@0 -> a@0\n"
            "compute makes on ipu 0: (a@0) -> (b@0)\n"
            "all-reduce b@0 -> b@0\n");
}

}  // namespace
}  // namespace podium::lower
