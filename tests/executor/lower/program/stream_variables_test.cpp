#include "executor/lower/program/stream_variables.h"

#include <gtest/gtest.h>

#include "executor/lower/program/append.h"
#include "tests/executor/lower/placed.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

using executor::Block;
using executor::Buffer;
using executor::BufferId;
using executor::Program;
using executor::Step;

// Steps over a variable w, which one block reads, another updates, and a third has nothing to do with.
class Sketch {
 public:
  Sketch() {
    const ir::Type type = ir::Type::tensor(ir::DataType::Float, {2});
    w_ = append(program_, Buffer{.name = "w",
                                 .type = type,
                                 .role = executor::Role::Weight,
                                 .initial = {testing::tensor<float>({2}, {1, 2})},
                                 .persistent = true});
    x_ = append(program_, Buffer{.name = "x", .type = type});
    y_ = append(program_, Buffer{.name = "y", .type = type});
  }

  Step reads() { return compute("reads", {w_}, y_); }
  Step updates() { return compute("updates", {y_}, w_); }
  Step computes() { return compute("other", {x_}, y_); }

  std::string streamed(std::vector<Step> steps, const ir::TensorLocation& location) {
    program_.steps = std::move(steps);
    stream_variables(program_, {{"w", location}});
    return testing::steps_of(program_);
  }

 private:
  Step compute(const char* name, std::vector<BufferId> reads, BufferId writes) {
    ir::Graph graph = testing::graph_of("g (float[2] a) => (float[2] b) { b = Relu(a) }");
    executor::Compute step;
    step.block = append(program_, Block{.name = name, .graph = std::move(graph)});
    for (BufferId id : reads) step.reads.push_back({id});
    step.writes = {{writes}};
    return {step};
  }

  Program program_;
  BufferId w_;
  BufferId x_;
  BufferId y_;
};

const ir::TensorLocation kOffChip{.storage = ir::Storage::OffChip};

TEST(StreamVariables, LoadsBeforeAReaderAndStoresNothingThatIsNotWritten) {
  Sketch sketch;
  EXPECT_EQ(sketch.streamed({sketch.reads(), sketch.computes()}, kOffChip),
            "load w@0.streaming -> w__l0@0\n"
            "compute reads on ipu 0: (w__l0@0) -> (y@0)\n"
            "compute other on ipu 0: (x@0) -> (y@0)\n");
}

TEST(StreamVariables, StoresWhatHasBeenWrittenWhereTheListEnds) {
  Sketch sketch;
  EXPECT_EQ(sketch.streamed({sketch.reads(), sketch.updates()}, kOffChip),
            "load w@0.streaming -> w__l0@0\n"
            "compute reads on ipu 0: (w__l0@0) -> (y@0)\n"
            "compute updates on ipu 0: (y@0) -> (w__l0@0)\n"
            "store w__l0@0 -> w@0.streaming\n");
}

TEST(StreamVariables, LeavesNoVariableLoadedOverALoop) {
  Sketch sketch;
  const Step loop{executor::Repeat{.count = 3, .body = {sketch.updates()}}};
  EXPECT_EQ(sketch.streamed({sketch.reads(), loop}, kOffChip),
            "load w@0.streaming -> w__l0@0\n"
            "compute reads on ipu 0: (w__l0@0) -> (y@0)\n"
            "repeat 3 times\n"
            "  compute updates on ipu 0: (y@0) -> (w__l0@0)\n"
            "  store w__l0@0 -> w@0.streaming\n");
}

TEST(StreamVariables, GoesOverTheIoTilesWhereItIsAsked) {
  Sketch sketch;
  EXPECT_EQ(
      sketch.streamed({sketch.reads()}, {.storage = ir::Storage::OffChip, .load_tiles = ir::TileSet::IO}),
      "load w@0.streaming -> w__l0@0.io\n"
      "tiles w__l0@0.io -> w__l0@0\n"
      "compute reads on ipu 0: (w__l0@0) -> (y@0)\n");
}

TEST(StreamVariables, LeavesWhatIsOnChipWhereItIs) {
  Sketch sketch;
  EXPECT_EQ(sketch.streamed({sketch.reads()}, {}), "compute reads on ipu 0: (w@0) -> (y@0)\n");
}

}  // namespace
}  // namespace podium::lower
