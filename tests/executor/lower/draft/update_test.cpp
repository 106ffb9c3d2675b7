#include "executor/lower/draft/update.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/draft/draft_sketch.h"

namespace podium::lower {
namespace {

TEST(UpdateSteps, ReduceWhatEachReplicaHolds) {
  testing::DraftSketch sketch("g (float[2] x) => (float[2] y) { a = Relu(x) y = Exp(a) }", {.replicas = 2});
  EXPECT_EQ(sketch.text({reduction(sketch.draft, sketch.value("a"), 0)}), "all-reduce a@0 -> a@0\n");
}

TEST(UpdateSteps, AreNoneWhereNothingIsUpdated) {
  testing::DraftSketch sketch("g (float[2] x) => (float[2] y) { y = Exp(x) }");
  HostIo io(sketch.draft);
  std::vector<int> processors{0};
  UpdateSteps update(sketch.draft, io, [&](ir::ValueId) -> std::vector<int>& { return processors; });
  EXPECT_EQ(sketch.text(update.take()), "");
}

}  // namespace
}  // namespace podium::lower
