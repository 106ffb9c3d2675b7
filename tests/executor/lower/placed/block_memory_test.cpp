// What a block needs inside: views and ops in place share memory, and the engine needs no more.
#include "executor/lower/placed/block_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "executor/numeric/prepared_block.h"
#include "tests/support/graph_text.h"

namespace podium::lower {
namespace {

using Overwritten = std::vector<Overwrite>;

constexpr std::int64_t kBytes = 64;  // of each tensor

std::int64_t inside(const std::string& text, const Overwritten& overwrites = {}) {
  std::string typed = text;
  for (std::size_t i = 0; (i = typed.find("{t}")) != std::string::npos;) typed.replace(i, 3, "float[4,4]");
  return temporary_bytes(testing::graph_of(typed), overwrites);
}

TEST(BlockMemory, ValuesThatLiveAtOnceAddUp) {
  EXPECT_EQ(inside("g ({t} x) => ({t} y) { a = Transpose (x) b = Transpose (a) y = Transpose (b) }"),
            2 * kBytes);
}

TEST(BlockMemory, AnOpTakesTheMemoryOfAnInputThatDies) {
  EXPECT_EQ(inside("g ({t} x) => ({t} y) { a = Transpose (x) b = Neg (a) c = Exp (b) y = Transpose (c) }"),
            kBytes);
  EXPECT_EQ(inside("g ({t} x, {t} z) => ({t} y) { a = Transpose (x) b = Mul (z, a) y = Transpose (b) }"),
            kBytes);
}

TEST(BlockMemory, AnInputThatIsReadLaterKeepsItsMemory) {
  EXPECT_EQ(inside("g ({t} x) => ({t} y) { a = Transpose (x) b = Neg (a) c = Mul (b, a) y = Transpose (c) }"),
            2 * kBytes);
  EXPECT_EQ(inside(R"(g ({t} x) => ({t} y) {
    a = Transpose (x)
    v = Identity (a)
    b = Neg (a)
    c = Mul (b, v)
    y = Transpose (c)
  })"),
            2 * kBytes);
}

TEST(BlockMemory, AnInputOfAnotherSizeIsNotTaken) {
  EXPECT_EQ(inside(R"(g (float[4] x, {t} z) => ({t} y) {
    a = Transpose (x)
    m = ReduceMean <keepdims = 1> (a)
    b = Mul (m, z)
    y = Transpose (b)
  })"),
            kBytes + 4);
}

TEST(BlockMemory, WhatBecomesAnOutputIsWhereTheOutputGoes) {
  EXPECT_EQ(inside("g ({t} x) => ({t} y) { a = Transpose (x) b = Neg (a) y = Exp (b) }"), 0);
}

// The last op is the last that reads what it overwrites: the value before it needs memory of its own.
TEST(BlockMemory, NothingIsWhereAnOutputGoesBeforeWhatThatOverwritesIsRead) {
  const std::string step = "g ({t} w, {t} gradient) => ({t} next) { s = Exp (gradient) next = Sub (w, s) }";
  EXPECT_EQ(inside(step), 0);
  EXPECT_EQ(inside(step, {{0, 0}}), kBytes);
  EXPECT_EQ(inside(step, {{0, 1}}), 0);
}

// A state decays in place; the gradient's share needs memory.
TEST(BlockMemory, AStateIsUpdatedInPlace) {
  const std::string update = R"(g ({t} state, {t} gradient, float rate) => ({t} next) {
    kept = Mul (state, rate)
    share = Mul (gradient, rate)
    next = Add (kept, share)
  })";
  EXPECT_EQ(inside(update, {{0, 0}}), kBytes);
  const std::string read_later = R"(g ({t} state, {t} gradient, float rate) => ({t} next, {t} old) {
    kept = Mul (state, rate)
    share = Mul (gradient, state)
    next = Add (kept, share)
    old = Neg (state)
  })";
  EXPECT_EQ(inside(read_later, {{0, 0}}), 2 * kBytes);
}

TEST(BlockMemory, OutputsOfABodyAreInside) {
  EXPECT_EQ(inside(R"(g (bool yes, {t} x) => ({t} y) {
    y = If (yes) <then_branch = then () => ({t} a) { b = Transpose (x) a = Transpose (b) },
                  else_branch = other () => ({t} c) { d = Transpose (x) c = Neg (d) }>
  })"),
            2 * kBytes);
}

// Ops in any order on values of one size; only the first reads the input, of which the engine makes no views.
ir::Graph random_block(unsigned seed) {
  std::mt19937 random(seed);
  const auto any = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  std::string text = "  v1 = Transpose (v0)\n";
  constexpr int kValues = 14;
  for (int i = 2; i <= kValues; ++i) {
    const auto value = [&] { return fmt::format("v{}", any(2) == 0 ? i - 1 : 1 + any(i - 1)); };
    switch (any(4)) {
      case 0:
        text += fmt::format("  v{} = Transpose ({})\n", i, value());
        break;
      case 1:
        text += fmt::format("  v{} = Exp ({})\n", i, value());
        break;
      case 2:
        text += fmt::format("  v{} = Mul ({}, {})\n", i, value(), value());
        break;
      default:
        text += fmt::format("  v{} = Identity ({})\n", i, value());
    }
  }
  return testing::graph_of(
      fmt::format("g (float[4,4] v0) => (float[4,4] v{}, float[4,4] v7) {{\n{}}}", kValues, text));
}

TEST(BlockMemory, TheEngineNeedsNoMore) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const ir::Graph block = random_block(seed);
    const numeric::PreparedBlock prepared(block, {.fuse = false});
    EXPECT_LE(static_cast<std::int64_t>(prepared.arena().planned), temporary_bytes(block)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace podium::lower
