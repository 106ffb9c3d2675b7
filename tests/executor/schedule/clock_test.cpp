// Makespans that were published or worked out by hand.
#include "executor/schedule/clock.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "executor/schedule/families.h"
#include "executor/schedule/validate.h"

namespace podium::schedule {
namespace {

Schedule made(std::string_view name, const Request& request) {
  return make_schedule(*find_family(name), request);
}
double worst_peak(const Schedule& schedule) { return std::ranges::max(peaks(schedule)); }

struct Worked {
  std::string_view name;
  Request request;
  double makespan = 0;
  double bubble_of_longest = 0;
  double peak = 0;
};

// Every pass of a processor takes one unit for a micro-batch, hops none.
TEST(Clock, GivesTheWorkedMakespansAndPeaks) {
  const Worked all[] = {
      {"gpipe", {4, 8, 1}, 33, 9, 8},
      {"gpipe", {8, 24, 1}, 93, 21, 24},
      {"gpipe", {8, 32, 1}, 117, 21, 32},
      {"1f1b", {4, 8, 1}, 33, 9, 4},
      {"1f1b", {8, 24, 1}, 93, 21, 8},
      {"1f1b", {8, 32, 1}, 117, 21, 8},
      {"lockstep", {4, 8, 1}, 33, 9, 7},
      {"lockstep", {8, 24, 1}, 93, 21, 15},
      {"lockstep", {8, 32, 1}, 117, 21, 15},
      {"interleaved", {4, 8, 2}, 28.5, 4.5, 5.5},
      {"interleaved", {8, 24, 2}, 82.5, 10.5, 11.5},
      {"interleaved", {8, 32, 2}, 106.5, 10.5, 11.5},
      {"interleaved", {8, 24, 4}, 77.25, 5.25, 9.75},
      {"interleaved", {8, 32, 4}, 101.25, 5.25, 9.75},
      {"breadth-first", {4, 8, 2}, 28.5, 4.5, 8},
      {"breadth-first", {8, 24, 2}, 82.5, 10.5, 24},
      {"breadth-first", {8, 32, 2}, 106.5, 10.5, 32},
      {"zb-h1", {4, 8, 1}, 27, 3, 4},
      {"zb-h1", {8, 24, 1}, 79, 7, 8},
      {"zb-h1", {8, 32, 1}, 103, 7, 8},
      {"zb-h2", {4, 8, 1}, 27, 0, 7},
      {"zb-h2", {8, 24, 1}, 79, 0, 15},
      {"zb-h2", {8, 32, 1}, 103, 0, 15},
      {"zb-v", {4, 8, 2}, 25.5, 0, 4},
      {"zb-v", {8, 24, 2}, 75.5, 0, 8},
      {"zb-v", {8, 32, 2}, 99.5, 0, 8},
      {"v-half", {4, 8, 2}, 30, 6, 3},
      {"v-half", {8, 24, 2}, 85, 13, 5},
      {"v-half", {8, 32, 2}, 109, 13, 5},
      {"v-min", {4, 8, 2}, 29.5, 5.5, 2},
      {"v-min", {8, 24, 2}, 85.5, 13.5, 4},
      {"v-min", {8, 32, 2}, 109.5, 13.5, 4},
      {"dualpipe", {4, 8, 1}, 25, 1, 5},
      {"dualpipe", {8, 24, 1}, 75, 3, 9},
      {"dualpipe", {8, 32, 1}, 99, 3, 9},
      {"dualpipe-v", {4, 8, 2}, 25.5, 1.5, 4.5},
      {"dualpipe-v", {8, 24, 2}, 75.5, 3.5, 8.5},
      {"dualpipe-v", {8, 32, 2}, 99.5, 3.5, 8.5},
      {"list", {4, 8, 1}, 27, 3, 4},
      {"list", {8, 24, 1}, 79, 7, 8},
      {"chimera", {4, 8, 1}, 30, 6, 4},
      {"chimera", {8, 24, 1}, 96, 24, 8},
      {"chimera", {8, 32, 1}, 126, 30, 8},
  };
  for (const Worked& one : all) {
    const Schedule schedule = made(one.name, one.request);
    const Timed timed = clock_free(schedule, even_times(schedule.layout));
    const double work = 3.0 * one.request.micro_batches;
    EXPECT_DOUBLE_EQ(timed.makespan, one.makespan) << one.name << one.request.processors;
    EXPECT_DOUBLE_EQ(timed.longest_stage - work, one.bubble_of_longest) << one.name << one.request.processors;
    EXPECT_DOUBLE_EQ(worst_peak(schedule), one.peak) << one.name << one.request.processors;
  }
}

TEST(Peaks, AreThoseOfEachProcessor) {
  using ::testing::ElementsAre;
  EXPECT_THAT(peaks(made("1f1b", {4, 8, 1})), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(peaks(made("interleaved", {4, 8, 2})), ElementsAre(5.5, 4.5, 3.5, 2.5));
  EXPECT_THAT(peaks(made("chimera", {4, 8, 1})), ElementsAre(3, 4, 4, 3));
  EXPECT_THAT(peaks(made("zb-h1", {8, 24, 1}), 0.5), ElementsAre(8, 7.5, 7, 6.5, 6, 5.5, 5, 4.5));
  EXPECT_THAT(peaks(made("zb-h2", {8, 24, 1}), 0.5), ElementsAre(15, 14, 13, 12, 11, 10, 9, 8));
}

TEST(Peaks, FollowTheirRules) {
  for (int p : {2, 3, 4, 6, 8}) {
    const int m = 4 * p;
    for (int r = 0; r < p; ++r) {
      EXPECT_EQ(peaks(made("gpipe", {p, m, 1}))[r], m);
      EXPECT_EQ(peaks(made("1f1b", {p, m, 1}))[r], p - r);
      EXPECT_EQ(peaks(made("lockstep", {p, m, 1}))[r], 2 * (p - 1 - r) + 1);
      EXPECT_DOUBLE_EQ(peaks(made("zb-h1", {p, m, 1}), 0.25)[r], p - r + 0.25 * r);
      EXPECT_EQ(peaks(made("zb-v", {p, m, 2}))[r], p);
      EXPECT_EQ(peaks(made("v-half", {p, m, 2}))[r], (p + 2) / 2);
      EXPECT_LE(peaks(made("v-min", {p, m, 2}))[r], (p + 4) / 3);
      EXPECT_EQ(peaks(made("dualpipe-v", {p, m, 2}))[r], p + 0.5);
    }
    if (p > 2) {
      EXPECT_EQ(worst_peak(made("v-min", {p, m, 2})), (p + 4) / 3);
    }
    for (int v : {2, 3, 4}) {
      EXPECT_DOUBLE_EQ(worst_peak(made("interleaved", {p, m, v})), p * (1 + (p - 1.0) / (p * v)));
    }
  }
}

struct Barriers {
  std::string_view name;
  int chunks = 1;
  double free = 0;
  double slot = 0;
  int slots = 0;
  double cycle = 0;
  int cycles = 0;
};

// Eight processors, 32 micro-batches.
TEST(Clock, WithBarriersTheRankingIsAnotherOne) {
  const Barriers all[] = {
      {"gpipe", 1, 117, 117, 78, 117, 77},      {"1f1b", 1, 117, 148, 78, 186, 69},
      {"lockstep", 1, 117, 148, 78, 117, 46},   {"interleaved", 2, 106.5, 134, 142, 106.5, 86},
      {"zb-h1", 1, 103, 103, 103, 179, 69},     {"zb-h2", 1, 103, 103, 103, 117, 53},
      {"zb-v", 2, 99.5, 99.5, 199, 120.5, 100}, {"dualpipe", 1, 99, 102, 71, 116, 46},
  };
  for (const Barriers& one : all) {
    const Schedule schedule = made(one.name, {8, 32, one.chunks});
    const Times times = even_times(schedule.layout);
    const Barriered slot = clock_barriered(schedule, times, Superstep::Slot);
    const Barriered cycle = clock_barriered(schedule, times, Superstep::Cycle);
    EXPECT_DOUBLE_EQ(clock_free(schedule, times).makespan, one.free) << one.name;
    EXPECT_DOUBLE_EQ(slot.makespan, one.slot) << one.name;
    EXPECT_EQ(slot.supersteps, one.slots) << one.name;
    EXPECT_DOUBLE_EQ(cycle.makespan, one.cycle) << one.name;
    EXPECT_EQ(cycle.supersteps, one.cycles) << one.name;
  }
}

TEST(Clock, InLockstepDeferredWeightGradientsReachTheBound) {
  using Pair = std::pair<int, double>;
  for (const auto& [deferred, makespan] : {Pair{0, 117}, {1, 116}, {2, 115}, {4, 113}, {8, 109}, {14, 103}}) {
    const Schedule schedule = made("lockstep-split", {8, 32, 1, deferred});
    validate(schedule);
    const Barriered timed = clock_barriered(schedule, even_times(schedule.layout), Superstep::Cycle);
    EXPECT_DOUBLE_EQ(timed.makespan, makespan) << deferred;
  }
  EXPECT_EQ(made("lockstep-split", {8, 32, 1}).orders, made("lockstep-split", {8, 32, 1, 14}).orders);
}

// Nothing is in front of the first processor: its way back is all weight gradient, as long as two passes. The
// bound is (p - 1) F + m (F + I + W), and those that take a little longer keep up.
TEST(Clock, InLockstepTheFirstProcessorPutsOffNothing) {
  Request request{8, 32, 1};
  request.times = even_times(layout_of(Shape::Loop, 8, 1));
  request.times.of_chunk[0] = {1, 0, 2};
  const auto makespan = [&] {
    const Schedule schedule = make_schedule(*find_family("lockstep-split"), request);
    validate(schedule);
    return clock_barriered(schedule, request.times, Superstep::Cycle).makespan;
  };
  EXPECT_DOUBLE_EQ(makespan(), 103);
  request.times.of_chunk[6].weight_gradient = 1.001;
  EXPECT_LT(makespan(), 103.2);
  request.deferred = 0;
  EXPECT_NEAR(makespan(), 32 * 3.001 + 7 + 14, 0.01);
}

struct Published {
  int processors = 0;
  int micro_batches = 0;
  int chunks = 0;  ///< of interleaved: a layer each
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
  double hop = 0;
  std::array<double, 4> rates = {};  ///< 1F1B, interleaved, ZB-H1, ZB-H2
};

// Table 5 of the paper on zero-bubble pipelines (arXiv 2401.10241): profiled milliseconds and the rate of
// bubbles of the longest stage.
constexpr Published kPublished[] = {
    {8, 24, 3, 18.522, 18.086, 9.337, 0.601, {0.2431, 0.1055, 0.1585, 0.1083}},
    {8, 32, 3, 18.513, 18.086, 9.331, 0.626, {0.1985, 0.0818, 0.1242, 0.0837}},
    {8, 64, 3, 18.546, 18.097, 9.321, 0.762, {0.1240, 0.0443, 0.0674, 0.0444}},
    {8, 24, 4, 29.718, 29.444, 19.927, 0.527, {0.2347, 0.0808, 0.1323, 0.0698}},
    {8, 32, 4, 29.802, 29.428, 19.530, 0.577, {0.1898, 0.0628, 0.1045, 0.0559}},
    {8, 64, 4, 29.935, 29.621, 19.388, 0.535, {0.1091, 0.0320, 0.0554, 0.0294}},
    {16, 48, 3, 11.347, 11.248, 8.132, 0.377, {0.2552, 0.1104, 0.1397, 0.0672}},
    {16, 64, 3, 11.307, 11.254, 8.101, 0.379, {0.2082, 0.0852, 0.1088, 0.0516}},
    {16, 128, 3, 11.325, 11.308, 8.109, 0.378, {0.1251, 0.0445, 0.0576, 0.0266}},
    {32, 96, 2, 10.419, 10.207, 7.715, 0.408, {0.2646, 0.1493, 0.1421, 0.0641}},
    {32, 128, 2, 10.408, 10.204, 7.703, 0.408, {0.2168, 0.1164, 0.1106, 0.0490}},
    {32, 256, 2, 10.402, 10.248, 7.698, 0.460, {0.1352, 0.0624, 0.0594, 0.0257}},
};

TEST(Clock, GivesThePublishedRates) {
  constexpr std::array<std::string_view, 4> kNames{"1f1b", "interleaved", "zb-h1", "zb-h2"};
  for (const Published& row : kPublished) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const bool is_interleaved = kNames[i] == "interleaved";
      const Schedule schedule =
          made(kNames[i], {row.processors, row.micro_batches, is_interleaved ? row.chunks : 1});
      const Times times =
          even_times(schedule.layout, {row.forward, row.input_gradient, row.weight_gradient}, row.hop);
      double longest = clock_free(schedule, times).longest_stage;
      if (is_interleaved) longest -= row.processors * row.hop;  // the paper overlaps a hop of each processor
      const double work = row.micro_batches * (row.forward + row.input_gradient + row.weight_gradient);
      EXPECT_NEAR(1 - work / longest, row.rates[i], 0.5001e-4)
          << kNames[i] << " " << row.processors << " " << row.micro_batches;
    }
  }
}

// With fewer micro-batches than processors.
TEST(Clock, FollowsTheClosedFormsOfFewMicroBatches) {
  for (const auto& [p, m] : {std::pair{8, 2}, {8, 1}, {4, 3}}) {
    const Request request{p, m};
    const auto makespan = [&](std::string_view name) {
      const Schedule schedule = made(name, request);
      return clock_free(schedule, even_times(schedule.layout, {1, 1, 0.9})).makespan;
    };
    EXPECT_NEAR(makespan("1f1b"), (m + p - 1) * 2.9, 1e-9);
    EXPECT_NEAR(makespan("gpipe"), (m + p - 1) * 2.9, 1e-9);
    EXPECT_NEAR(makespan("zb-h1"), (m + p - 1) * 2 + 0.9, 1e-9);
  }
}

// Activations of a transformer's layer in bytes, by the published formulas, times what the first stage holds.
TEST(Peaks, GiveThePublishedSizesOfActivations) {
  struct Model {
    double hidden, heads, layers, batch;
    int processors, chunks;
    double none, least;  ///< GiB
  };
  const Model all[] = {{6144, 64, 48, 4, 1, 1, 59.25, 9.56},
                       {12288, 96, 96, 1, 8, 3, 66.84, 12.35},
                       {20480, 128, 105, 1, 35, 3, 114.02, 23.08},
                       {25600, 160, 128, 1, 64, 1, 131.25, 26.56}};
  constexpr double kSequence = 2048;
  constexpr double kTensorWays = 8;
  for (const Model& model : all) {
    const int m = 2 * model.processors;
    const double held = model.chunks > 1 ? peaks(made("interleaved", {model.processors, m, model.chunks}))[0]
                                         : peaks(made("1f1b", {model.processors, m, 1}))[0];
    const double layers = model.layers / model.processors * held;
    const double one = kSequence * model.batch * model.hidden;
    const double scores = 5 * model.heads * kSequence / model.hidden;
    const double gib = 1024.0 * 1024 * 1024;
    EXPECT_NEAR(layers * one * (10 + 24 / kTensorWays + scores / kTensorWays) / gib, model.none, 0.005);
    EXPECT_NEAR(layers * one * 34 / kTensorWays / gib, model.least, 0.005);
  }
}

TEST(Clock, TakesLittleTimeForManyMicroBatches) {
  const Schedule schedule = made("zb-h1", {64, 512, 1});
  const Timed timed = clock_free(schedule, even_times(schedule.layout));
  EXPECT_DOUBLE_EQ(timed.makespan, 3 * 512 + 63);
}

}  // namespace
}  // namespace podium::schedule
