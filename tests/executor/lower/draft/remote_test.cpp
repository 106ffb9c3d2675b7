#include "executor/lower/draft/remote.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/draft/draft_sketch.h"

namespace podium::lower {
namespace {

constexpr const char* kScaled =
    "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Mul(x, w) y = Exp(a) }";

Strategy weights_off_chip() {
  Strategy strategy;
  strategy.weights.location.storage = ir::Storage::OffChip;
  return strategy;
}

TEST(Remote, FindsTheWeightsThatAreBrought) {
  testing::DraftSketch on_chip(kScaled);
  EXPECT_FALSE(Remote(on_chip.draft).weight(on_chip.value("w")));
  testing::DraftSketch off_chip(kScaled, weights_off_chip());
  Remote remote(off_chip.draft);
  EXPECT_TRUE(remote.weight(off_chip.value("w")));
  EXPECT_FALSE(remote.weight(off_chip.value("a")));
  EXPECT_TRUE(remote.streamed()(off_chip.value("w")));
}

TEST(Remote, BringsAWeightAnewEachTime) {
  testing::DraftSketch sketch(kScaled, weights_off_chip());
  Remote remote(sketch.draft);
  const ir::ValueId w = sketch.value("w");
  EXPECT_EQ(sketch.text(remote.bring(w, 0, *remote.weight(w))), "load w@0.streaming -> w__l0@0\n");
  EXPECT_EQ(sketch.text(remote.bring(w, 0, *remote.weight(w))), "load w@0.streaming -> w__l1@0\n");
}

TEST(Remote, StoresAnActivationAtHome) {
  testing::DraftSketch sketch(kScaled);
  Remote remote(sketch.draft);
  EXPECT_EQ(sketch.text(remote.store(sketch.value("a"), 0, {.storage = ir::Storage::OffChip})),
            "store a@0 -> a@0.streaming\n");
}

}  // namespace
}  // namespace podium::lower
