// Memory of each processor, in program order.
#include "executor/sim/memory_use.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

sim::MemoryUse memory(const sim::Timeline& timeline, int processor) {
  return timeline.processors[processor].memory;
}

TEST(SimulatedMemory, PeaksWhereABlockHasItsInputsItsOutputsAndItsInside) {
  Sketch sketch(1);
  sketch.filled("weight", 0);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Slot z = sketch.buffer("z", 0);
  sketch.program.steps = {sketch.from_host(x), sketch.compute("first", 0, 1, {x}, {y}),
                          sketch.compute("second", 0, 1, {y}, {z})};
  lower::plan_memory(sketch.program);
  sketch.program.blocks[0].temporary_bytes = 300;
  sketch.program.blocks[1].temporary_bytes = 500;
  const sim::MemoryUse use = memory(sketch.clock(), 0);
  EXPECT_EQ(use.peak_data, 1000 + 2000 + 500);  // x is gone when the second block runs
  EXPECT_EQ(use.weights, 1000);
  EXPECT_EQ(use.activations, 2500);
  EXPECT_EQ(use.always_live, 1000);
  EXPECT_EQ(use.not_always_live, 2500);
}

TEST(SimulatedMemory, IsToldByRole) {
  Sketch sketch(2);
  const Slot stash = sketch.buffer("stash", 0, Memory::Compute, 5, Role::Stash);
  const Slot io = sketch.buffer("io", 0, Memory::IO, 1, Role::Activation, 30);
  const Slot x = sketch.buffer("x", 0, Memory::Compute, 1, Role::Stream, 30);
  const Slot stored = sketch.filled("stored", 0, Memory::Streaming, 4);
  const Slot weight = sketch.buffer("weight", 0, Memory::Compute, 1, Role::Weight);
  sketch.program.steps = {sketch.from_host(io), between_tiles(io, x), load(entry(stored, 2), weight),
                          sketch.compute("work", 0, 1, {x, weight}, {stash})};
  const sim::MemoryUse use = memory(sketch.run(), 0);
  EXPECT_EQ(use.stashes, 5000);
  EXPECT_EQ(use.streams, 30);
  EXPECT_EQ(use.weights, 1000);
  EXPECT_EQ(use.streaming, 4000);
  EXPECT_EQ(use.peak_data, 5000 + 30 + 1000);
  EXPECT_EQ(memory(sketch.run(), 1).peak, 0);
}

TEST(SimulatedMemory, IterationsTakeWhatTheFirstTook) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Step work = sketch.compute("work", 0, 1, {x}, {y});
  sketch.program.steps = {repeat(1'000'000, {sketch.from_host(x), work, sketch.to_host(y)})};
  EXPECT_EQ(memory(sketch.run(), 0).peak_data, 2000);
}

TEST(SimulatedMemory, WhatOnlyALoopReadsIsGivenBackAfterIt) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Slot large = sketch.buffer("large", 0, Memory::Compute, 1, Role::Activation, 1500);
  const Step work = sketch.compute("work", 0, 1, {x}, {y});
  const Step after = sketch.compute("after", 0, 1, {}, {large});
  sketch.program.steps = {sketch.from_host(x), repeat(3, {work, sketch.to_host(y)}), after};
  lower::plan_memory(sketch.program);
  EXPECT_EQ(sketch.program.steps[1].frees.size(), 1);
  const sim::Timeline timeline = sketch.clock(SyncPattern::Full, true);
  EXPECT_EQ(memory(timeline, 0).peak_data, 1000 + 1000);  // else x would be there beside what comes after
  EXPECT_EQ(timeline.processors[0].memory_curve.back().bytes, 0);
}

TEST(SimulatedMemory, EstimatesOfCodeComeOnTop) {
  Sketch sketch(2);
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 1);
  const Slot c = sketch.buffer("c", 1);
  const Step make = sketch.compute("make", 0, 1, {}, {a});
  const Step use = sketch.compute("use", 1, 1, {b}, {c});
  sketch.program.steps = {repeat(7, {make, copy({{a, b}}), use})};
  sketch.costs.blocks[{0}].code_bytes = 50;
  sketch.costs.blocks[{1}].code_bytes = 70;
  sketch.device.exchange_code_bytes_per_step = 8;
  const sim::MemoryUse second = memory(sketch.run(), 1);
  EXPECT_EQ(second.code, 70);
  EXPECT_EQ(second.exchange_code, 8);  // a step in a loop is there once
  EXPECT_EQ(second.peak, second.peak_data + 78);
  EXPECT_EQ(second.always_live + second.not_always_live, second.peak);
}

// The first block needs more than the second, with what its kernels copy, though less data are there.
TEST(SimulatedMemory, CopiesOfKernelsComeOnTopOfWhatIsThereThen) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Slot z = sketch.buffer("z", 0, Memory::Compute, 1, Role::Activation, 1500);
  sketch.program.steps = {sketch.from_host(x), sketch.compute("first", 0, 1, {x}, {y}),
                          sketch.compute("second", 0, 1, {y}, {z})};
  sketch.costs.blocks[{0}].temporary_bytes = 800;
  sketch.costs.blocks[{1}].temporary_bytes = 200;
  const sim::MemoryUse use = memory(sketch.run(), 0);
  EXPECT_EQ(use.peak_data, 1000 + 1500);
  EXPECT_EQ(use.copies, (2000 + 800) - 2500);
  EXPECT_EQ(use.peak, 2800);
  EXPECT_EQ(use.always_live + use.not_always_live, use.peak);
  sketch.device.tiles = 1;
  sketch.device.tile_memory_bytes = 2799;
  EXPECT_FALSE(sketch.clock().fits());
}

TEST(SimulatedMemory, NamesTheLargestTensorsOfThePeak) {
  Sketch sketch(1);
  const Slot small = sketch.buffer("small", 0, Memory::Compute, 1, Role::Activation, 10);
  const Slot gone = sketch.buffer("gone", 0, Memory::Compute, 1, Role::Activation, 90);
  const Slot large = sketch.buffer("large", 0, Memory::Compute, 1, Role::Activation, 5000);
  sketch.filled("ring", 0, Memory::Compute, 3);
  sketch.program.steps = {sketch.from_host(gone), sketch.compute("first", 0, 1, {gone}, {small}),
                          sketch.compute("second", 0, 1, {small}, {large})};
  lower::plan_memory(sketch.program);
  sketch.program.blocks[1].temporary_bytes = 4000;
  const std::vector<sim::LargeTensor> largest = sketch.clock().processors[0].largest;
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const sim::LargeTensor& tensor : largest) found.emplace_back(tensor.name, tensor.bytes);
  const std::vector<std::pair<std::string, std::int64_t>> expected{
      {"large", 5000}, {"inside second", 4000}, {"ring (3 slots)", 3000}, {"small", 10}};
  EXPECT_EQ(found, expected);
}

TEST(SimulatedMemory, FitsWhenChipAndStreamingMemoryDo) {
  Sketch sketch(1);
  const Slot stored = sketch.filled("stored", 0, Memory::Streaming, 4);
  sketch.program.steps = {load(stored, sketch.buffer("weight", 0))};
  sketch.device.tiles = 1;
  sketch.device.tile_memory_bytes = 1000;
  sketch.device.streaming_memory_bytes = 4000;
  EXPECT_TRUE(sketch.run().fits());
  sketch.device.tile_memory_bytes = 999;
  EXPECT_FALSE(sketch.run().fits());
  sketch.device.tile_memory_bytes = 1000;
  sketch.device.streaming_memory_bytes = 3999;
  EXPECT_FALSE(sketch.run().fits());
}

TEST(SimulatedMemory, OfUnknownSizeIsRefused) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("found", 0);
  sketch.program[x.buffer].type = ir::Type::tensor(ir::DataType::Int64, {ir::kUnknown, 2});
  sketch.program.steps = {sketch.compute("work", 0, 1, {}, {x})};
  try {
    sketch.run();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the size of found is known only by a run, found int64[?,2]");
  }
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The seconds to clock a block after which so many tensors are there, freed in the order in which they came.
double seconds_of_wide(int tensors) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  std::vector<Step> steps{sketch.from_host(x)};
  std::vector<Slot> all;
  for (int i = 0; i < tensors; ++i) {
    all.push_back(sketch.buffer("t", 0));
    steps.push_back(sketch.compute("make", 0, 1, {x}, {all.back()}));
  }
  for (const Slot& slot : all) steps.push_back(sketch.to_host(slot));
  sketch.program.steps = std::move(steps);
  lower::plan_memory(sketch.program);
  const double before = processor_seconds();
  EXPECT_EQ(memory(sketch.clock(), 0).peak_data, 1000 * (tensors + 1));
  return processor_seconds() - before;
}

TEST(SimulatedMemory, TakesTimeThatGrowsWithTheTensorsAndNotWithTheirSquare) {
  double ratio = INFINITY;
  for (int attempt = 0; attempt < 3; ++attempt)
    ratio = std::min(ratio, seconds_of_wide(40'000) / seconds_of_wide(5'000));
  EXPECT_LT(ratio, 24);  // 8 times as many; squared, 64
}

}  // namespace
}  // namespace podium::testing
