#include "annotate/cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <tuple>

namespace podium::annotate {
namespace {

using Places = std::vector<std::size_t>;

struct Score {
  std::int64_t bytes = 0;  // over the limit
  double seconds = 0;
  std::int64_t crossing = 0;
  friend bool operator<(const Score& a, const Score& b) {
    return std::tie(a.bytes, a.seconds, a.crossing) < std::tie(b.bytes, b.seconds, b.crossing);
  }
};

Score score(const std::vector<Item>& items, const Places& firsts, const Room& room) {
  Score worst;
  std::int64_t most_bytes = 0;
  for (std::size_t part = 0; part < firsts.size(); ++part) {
    const std::size_t end = part + 1 < firsts.size() ? firsts[part + 1] : items.size();
    const std::int64_t depth = room.stash_depths.empty() ? 1 : room.stash_depths[part];
    double seconds = 0;
    std::int64_t held = 0;
    std::int64_t peak = 0;
    for (std::size_t i = firsts[part]; i < end; ++i) {
      seconds += items[i].seconds;
      held += items[i].weight_bytes + depth * items[i].stash_bytes;
      for (const SharedTensor& tensor : items[i].shared) {
        if (tensor.before && *tensor.before < firsts[part]) held += tensor.bytes;
      }
      peak = std::max(peak, items[i].activation_bytes);
    }
    worst.seconds = std::max(worst.seconds, seconds);
    most_bytes = std::max(most_bytes, held + peak);
    if (part > 0) worst.crossing += items[firsts[part]].crossing_bytes;
  }
  if (room.bytes > 0 && most_bytes > room.bytes) worst.bytes = most_bytes;
  return worst;
}

// Every way to cut, tried.
Score best_score(const std::vector<Item>& items, std::size_t parts, const Room& room) {
  Score best{.bytes = std::numeric_limits<std::int64_t>::max()};
  Places firsts{0};
  const std::function<void()> extend = [&] {
    if (firsts.size() == parts) {
      best = std::min(best, score(items, firsts, room));
      return;
    }
    for (std::size_t next = firsts.back() + 1; next < items.size(); ++next) {
      firsts.push_back(next);
      extend();
      firsts.pop_back();
    }
  };
  extend();
  return best;
}

TEST(Cut, MakesTheSlowestPartAsFastAsItCanBe) {
  const std::vector<Item> items{
      {.seconds = 3}, {.seconds = 1}, {.seconds = 1}, {.seconds = 1}, {.seconds = 4}};
  EXPECT_EQ(cut(items, 3), (Places{0, 1, 4}));
  EXPECT_EQ(cut(items, 1), (Places{0}));
  EXPECT_EQ(cut(items, 5), (Places{0, 1, 2, 3, 4}));
}

TEST(Cut, SendsFewBytesAmongEquals) {
  const std::vector<Item> items{{.seconds = 1},
                                {.seconds = 1, .crossing_bytes = 9},
                                {.seconds = 1, .crossing_bytes = 2},
                                {.seconds = 3, .crossing_bytes = 9}};
  EXPECT_EQ(cut(items, 3), (Places{0, 2, 3}));
}

TEST(Cut, StaysInTheMemoryEvenWhenThatIsSlower) {
  const std::vector<Item> items{{.seconds = 1, .weight_bytes = 8},
                                {.seconds = 1, .weight_bytes = 8},
                                {.seconds = 1, .weight_bytes = 1},
                                {.seconds = 1, .weight_bytes = 1}};
  EXPECT_EQ(cut(items, 2), (Places{0, 2}));
  EXPECT_EQ(cut(items, 2, {10}), (Places{0, 1}));
}

TEST(Cut, FillsTheFullestPartLeastWhenNothingFits) {
  const std::vector<Item> items{{.seconds = 1, .weight_bytes = 8},
                                {.seconds = 1, .weight_bytes = 8},
                                {.seconds = 5, .weight_bytes = 7}};
  EXPECT_EQ(cut(items, 2), (Places{0, 2}));
  EXPECT_EQ(cut(items, 2, {9}), (Places{0, 1}));
}

TEST(Cut, FirstPartsHoldTheStashesOfMoreMicroBatches) {
  const std::vector<Item> items(6, {.seconds = 1, .stash_bytes = 2});
  EXPECT_EQ(cut(items, 2, {12}), (Places{0, 3}));
  EXPECT_EQ(cut(items, 2, {12, {3, 1}}), (Places{0, 2}));        // 2 x 3 x 2 bytes, and 4 x 2
  EXPECT_EQ(cut(items, 3, {16, {5, 3, 1}}), (Places{0, 1, 3}));  // 5 x 2, 2 x 3 x 2, 3 x 2
  EXPECT_EQ(cut(items, 3, {16, {2, 2, 1}}), (Places{0, 2, 4}));
}

// A tensor that these items read, in ascending order; the first one owns it.
void share(std::vector<Item>& items, const Places& readers, std::int64_t bytes) {
  items[readers.front()].weight_bytes += bytes;
  for (std::size_t r = 0; r < readers.size(); ++r) {
    SharedTensor tensor{.bytes = bytes};
    if (r > 0) tensor.before = readers[r - 1];
    if (r + 1 < readers.size()) tensor.behind = readers[r + 1];
    items[readers[r]].shared.push_back(tensor);
  }
}

TEST(Cut, CountsASharedTensorOnceInEachPartWithAReader) {
  std::vector<Item> items(6, {.seconds = 1, .weight_bytes = 2});
  share(items, {0, 3, 5}, 4);
  EXPECT_EQ(cut(items, 2, {10}), (Places{0, 3}));    // 3 x 2 and the tensor on each
  EXPECT_EQ(cut(items, 3, {8}), (Places{0, 2, 4}));  // 2 x 2 and the tensor on each
  EXPECT_EQ(cost_of(items, {0, 3}).bytes, 10);
  EXPECT_EQ(cost_of(items, {0, 1}).bytes, 14);
  EXPECT_EQ(cost_of(items, {0}).bytes, 16);
}

TEST(Cut, IsAsGoodAsEveryOtherWay) {
  std::mt19937 random(1);
  const auto draw = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  for (int round = 0; round < 400; ++round) {
    std::vector<Item> items(static_cast<std::size_t>(1 + draw(8)));
    for (Item& item : items) item = {static_cast<double>(draw(6)), draw(6), draw(4), draw(9), draw(2)};
    for (int tensors = draw(2); tensors > 0; --tensors) {
      Places readers;
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (draw(2) == 0) readers.push_back(i);
      }
      if (!readers.empty()) share(items, readers, draw(5));
    }
    const std::size_t parts = 1 + static_cast<std::size_t>(draw(static_cast<int>(items.size()) - 1));
    const auto depths = [&](std::int64_t most) {
      std::vector<std::int64_t> of_parts;
      for (std::size_t after = parts; after-- > 0;) {
        of_parts.push_back(std::min<std::int64_t>(2 * static_cast<std::int64_t>(after) + 1, most));
      }
      return of_parts;
    };
    for (const Room& room : {Room{}, Room{12}, Room{18}, Room{24, depths(100)}, Room{32, depths(4)}}) {
      const Score found = score(items, cut(items, parts, room), room);
      const Score best = best_score(items, parts, room);
      EXPECT_FALSE(best < found) << "round " << round << ", " << parts << " parts of " << items.size()
                                 << ", limit " << room.bytes << ": " << found.bytes << " " << found.seconds
                                 << " " << found.crossing << " found, " << best.bytes << " " << best.seconds
                                 << " " << best.crossing << " possible";
    }
  }
}

TEST(Cut, ThousandsOfItemsOverAThousandParts) {
  std::vector<Item> items(5000);
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = {1.0 + static_cast<double>(i % 7), 1, 1, 1};
  const Places firsts = cut(items, 1024, {64});
  EXPECT_EQ(firsts.size(), 1024U);
  EXPECT_EQ(score(items, firsts, {64}).bytes, 0);
  EXPECT_LE(score(items, firsts, {64}).seconds, 28);
}

}  // namespace
}  // namespace podium::annotate
