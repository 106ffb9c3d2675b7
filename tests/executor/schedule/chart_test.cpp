#include "executor/schedule/chart.h"

#include <gtest/gtest.h>

#include "executor/schedule/families.h"

namespace podium::schedule {
namespace {

TEST(Chart, IsToScale) {
  EXPECT_EQ(chart(make_schedule(family_of(PipelineOrder::OneForwardOneBackward), {2, 2, 1})),
            "ipu 0   F0 F1       B0---    B1---   holds 2\n"
            "ipu 1      F0 B0--- F1 B1---         holds 1\n");
}

TEST(Chart, NamesChunks) {
  EXPECT_EQ(chart(make_schedule(family_of(PipelineOrder::ZeroBubbleV), {1, 1, 2})),
            "ipu 0   F0@0 F0@1 I0@1 W0@1 I0@0 W0@0   holds 1\n");
}

}  // namespace
}  // namespace podium::schedule
