#include "executor/sim/moved_bytes.h"

#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "ir/attribute.h"
#include "ir/op_spec.h"
#include "tests/support/hand_made.h"

namespace podium::sim {
namespace {

using executor::CollectiveKind;

// Buffers of 64 floats, on processors 0 and 1.
struct MovedProgram {
  testing::HandMade made;

  MovedProgram() {
    for (int processor : {0, 1}) {
      for (const char* name : {"x", "part", "whole", "there"}) made.buffer(name, {8, 8}, processor);
    }
  }
  void compute(const std::string& ops, const std::string& from, const std::string& to, int processor) {
    const executor::BlockId block =
        made.block("g (float[8, 8] x) => (float[8, 8] y) { " + ops + " }", processor);
    made.step({executor::Compute{
        .block = block, .reads = {made.slot(from, processor)}, .writes = {made.slot(to, processor)}}});
  }
  // No file has such an op: the session makes it. Without a processor it is on both.
  void round(const std::string& from, const std::string& to, int processor) {
    compute("y = Identity(x)", from, to, processor);
    ir::Op& op = made.program.blocks.back().graph.ops[0];
    op.spec = ir::find_op("podium", "RoundToBlocks");
    set_attribute(op, "axis", std::int64_t{1});
  }
  void round(const std::string& from, const std::string& to) {
    for (int processor : {0, 1}) round(from, to, processor);
  }
  void compute(const std::string& ops, const std::string& from, const std::string& to) {
    for (int processor : {0, 1}) compute(ops, from, to, processor);
  }
  void meet(CollectiveKind kind) {
    executor::GroupCollective exchange{.kind = kind, .transfers = {}};
    for (int member : {0, 1})
      exchange.transfers.push_back({made.slot("part", member), made.slot("whole", member)});
    made.step({std::move(exchange)});
  }
  double bytes(const std::string& name) const {
    return moved_bytes(made.program, *device::find_preset("h100"))[made.slot(name).buffer];
  }
};

constexpr double kOfSingles = 256;
constexpr double kOfBytes = 64;

TEST(MovedBytes, AreOnesOfWhatIsRoundedAndGathered) {
  MovedProgram program;
  program.round("x", "part");
  program.meet(CollectiveKind::AllGather);
  program.compute("y = Transpose(x)", "whole", "there");
  EXPECT_EQ(program.bytes("x"), kOfSingles);
  EXPECT_EQ(program.bytes("part"), kOfBytes);
  EXPECT_EQ(program.bytes("whole"), kOfBytes);
  EXPECT_EQ(program.bytes("there"), kOfBytes);
}

TEST(MovedBytes, AreThoseOfTheTypeOfWhatIsComputedOrAddedUp) {
  MovedProgram program;
  program.round("x", "part");
  program.meet(CollectiveKind::AllReduce);
  program.compute("y = Relu(x)", "part", "there");
  EXPECT_EQ(program.bytes("part"), kOfBytes);
  EXPECT_EQ(program.bytes("whole"), kOfSingles);
  EXPECT_EQ(program.bytes("there"), kOfSingles);
}

TEST(MovedBytes, AreThoseOfTheTypeWhereAnythingElseIsWritten) {
  MovedProgram program;
  program.round("x", "part");
  program.compute("y = Relu(x)", "x", "part", 0);
  program.meet(CollectiveKind::AllGather);
  EXPECT_EQ(program.bytes("part"), kOfSingles);
  EXPECT_EQ(program.bytes("whole"), kOfSingles);
}

TEST(MovedBytes, AreThoseOfTheTypeWhereUnitsAreNotFasterAt8Bits) {
  MovedProgram program;
  program.round("x", "part");
  device::Device slow = *device::find_preset("h100");
  slow.matrix.quarter = slow.matrix.half_half;
  EXPECT_EQ(moved_bytes(program.made.program, slow)[program.made.slot("part").buffer], kOfSingles);
}

// A micro-batch's rounded numbers wait for the next iteration, in which they are read first.
TEST(MovedBytes, AreFoundWhateverTheOrderOfSteps) {
  MovedProgram program;
  program.compute("y = Identity(x)", "part", "there");
  program.round("x", "part");
  EXPECT_EQ(program.bytes("there"), kOfBytes);
}

}  // namespace
}  // namespace podium::sim
