#include "ir/box.h"

#include <gtest/gtest.h>

namespace podium::ir {
namespace {

using Ranges = std::vector<IndexRange>;
using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Runs runs_of(const Dims& dims, const Box& box) {
  Runs runs;
  for_each_run(dims, box, [&](std::int64_t first, std::int64_t count) { runs.emplace_back(first, count); });
  return runs;
}

TEST(Box, AppendedIndicesThatTouchProlongTheLastRange) {
  Ranges ranges{{0, 2}};
  append(ranges, {2, 3});
  append(ranges, {3, 3});
  append(ranges, {5, 6});
  EXPECT_EQ(ranges, (Ranges{{0, 3}, {5, 6}}));
}

TEST(Box, PlacesAreThoseOfIndicesAmongTheRanges) {
  const Ranges outer{{2, 4}, {6, 9}};
  EXPECT_EQ(places_in(outer, {{3, 4}, {6, 7}}), (Ranges{{1, 3}}));
  EXPECT_EQ(indices_at(outer, {{1, 3}}), (Ranges{{3, 4}, {6, 7}}));
  EXPECT_EQ(indices_at(outer, {{0, 1}, {4, 5}}), (Ranges{{2, 3}, {8, 9}}));
}

TEST(Box, OneRunHasTheAxesThatAreWholeBehindTheLastCut) {
  EXPECT_EQ(runs_of({2, 3, 4}, whole_box({2, 3, 4})), (Runs{{0, 24}}));
  EXPECT_EQ(runs_of({2, 3, 4}, {{{1, 2}}, {{0, 3}}, {{0, 4}}}), (Runs{{12, 12}}));
  EXPECT_EQ(runs_of({2, 3, 4}, {{{0, 2}}, {{1, 3}}, {{0, 4}}}), (Runs{{4, 8}, {16, 8}}));
  EXPECT_EQ(runs_of({2, 4}, {{{0, 2}}, {{0, 1}, {3, 4}}}), (Runs{{0, 1}, {3, 1}, {4, 1}, {7, 1}}));
  EXPECT_EQ(runs_of({}, {}), (Runs{{0, 1}}));
}

TEST(Box, HasNoElementsWhereAnAxisHasNoIndices) {
  EXPECT_EQ(elements_of({{{0, 2}}, {}}), 0);
  EXPECT_EQ(runs_of({2, 4}, {{{0, 2}}, {}}), Runs{});
  EXPECT_EQ(to_string(Box{{{0, 2}}, {}}, Dims{2, 4}), "[:, none]");
}

}  // namespace
}  // namespace podium::ir
