// Overlapped host IO where batches follow each other: which transfers cross from one batch to the next, and
// that nothing else changes.
#include <gtest/gtest.h>

#include <regex>

#include "tests/executor/lower/placed.h"
#include "tests/executor/lower/trained.h"

namespace podium::testing {
namespace {

using ir::ExchangeStrategy;

constexpr ExchangeStrategy kExchanges[] = {ExchangeStrategy::JustInTime, ExchangeStrategy::OverlapInnerLoop,
                                           ExchangeStrategy::OverlapLoops};

Strategy overlapping(ExchangeStrategy exchange, int batches, int accumulation) {
  return {.batches_per_step = batches,
          .accumulation_factor = accumulation,
          .io_tiles = 32,
          .overlap_io = exchange};
}

// The steps of two layers on one processor, of blocks their names alone.
std::string overlapped_steps(ExchangeStrategy exchange, int batches, int accumulation) {
  const ir::Training training = two_layers({.accumulates = accumulation > 1});
  const std::string steps = steps_of(
      lower::lower(training, on_one_processor(training), overlapping(exchange, batches, accumulation)));
  return std::regex_replace(steps, std::regex(" on ipu 0: .*"), "");
}

TEST(TrainingOverlap, OfTheInnerLoopBeginsAndEndsWithEveryBatch) {
  EXPECT_EQ(overlapped_steps(ExchangeStrategy::OverlapInnerLoop, 4, 2),
            "load rate@0 from host\n"
            "repeat 4 times\n"
            "  load x@0.io from host\n"
            "  tiles x@0.io -> x@0\n"
            "  load x@0.io from host\n"
            "  compute part0\n"
            "  tiles y@0 -> y@0.io\n"
            "  tiles x@0.io -> x@0\n"
            "  store y@0.io to host\n"
            "  compute part0\n"
            "  tiles y@0 -> y@0.io\n"
            "  store y@0.io to host\n"
            "  compute update1\n"
            "  compute update2\n");
}

TEST(TrainingOverlap, OfAllLoopsLoadsForTheNextBatchAndStoresForTheOneBefore) {
  EXPECT_EQ(overlapped_steps(ExchangeStrategy::OverlapLoops, 4, 2),
            "load rate@0 from host\n"
            "load x@0.io from host\n"
            "tiles x@0.io -> x@0\n"
            "load x@0.io from host\n"
            "compute part0\n"
            "tiles y@0 -> y@0.io\n"
            "tiles x@0.io -> x@0\n"
            "load x@0.io from host\n"
            "store y@0.io to host\n"
            "compute part0\n"
            "tiles y@0 -> y@0.io\n"
            "compute update1\n"
            "compute update2\n"
            "repeat 2 times\n"
            "  tiles x@0.io -> x@0\n"
            "  load x@0.io from host\n"
            "  store y@0.io to host\n"
            "  compute part0\n"
            "  tiles y@0 -> y@0.io\n"
            "  tiles x@0.io -> x@0\n"
            "  load x@0.io from host\n"
            "  store y@0.io to host\n"
            "  compute part0\n"
            "  tiles y@0 -> y@0.io\n"
            "  compute update1\n"
            "  compute update2\n"
            "tiles x@0.io -> x@0\n"
            "load x@0.io from host\n"
            "store y@0.io to host\n"
            "compute part0\n"
            "tiles y@0 -> y@0.io\n"
            "tiles x@0.io -> x@0\n"
            "store y@0.io to host\n"
            "compute part0\n"
            "tiles y@0 -> y@0.io\n"
            "store y@0.io to host\n"
            "compute update1\n"
            "compute update2\n");
}

TEST(TrainingOverlap, OfTheInnerLoopIsThatOfBatchesWhereTheyAreTheOnlyLoop) {
  const std::string inner = overlapped_steps(ExchangeStrategy::OverlapInnerLoop, 3, 1);
  EXPECT_EQ(inner, overlapped_steps(ExchangeStrategy::OverlapLoops, 3, 1));
  EXPECT_EQ(inner,
            "load rate@0 from host\n"
            "load x@0.io from host\n"
            "tiles x@0.io -> x@0\n"
            "load x@0.io from host\n"
            "compute part0\n"
            "tiles y@0 -> y@0.io\n"
            "compute update1\n"
            "tiles x@0.io -> x@0\n"
            "load x@0.io from host\n"
            "store y@0.io to host\n"
            "compute part0\n"
            "tiles y@0 -> y@0.io\n"
            "compute update1\n"
            "tiles x@0.io -> x@0\n"
            "store y@0.io to host\n"
            "compute part0\n"
            "tiles y@0 -> y@0.io\n"
            "store y@0.io to host\n"
            "compute update1\n");
}

TEST(TrainingOverlap, ChangesNoNumber) {
  for (const auto& [batches, accumulation] :
       {std::pair{1, 3}, std::pair{2, 2}, std::pair{3, 5}, std::pair{4, 1}, std::pair{5, 4}}) {
    const ir::Training training = two_layers({.accumulates = accumulation > 1});
    const auto trained = [&](const ir::Placement& placement, ExchangeStrategy exchange, bool pipelining) {
      Strategy strategy = overlapping(exchange, batches, accumulation);
      strategy.replicas = 2;
      strategy.pipelining = pipelining;
      return train(training, placement, strategy);
    };
    const TrainedState expected = trained(on_one_processor(training), ExchangeStrategy::JustInTime, false);
    for (const ExchangeStrategy exchange : kExchanges) {
      SCOPED_TRACE(
          fmt::format("{} batches of {}, exchange {}", batches, accumulation, static_cast<int>(exchange)));
      EXPECT_EQ(trained(on_one_processor(training), exchange, false), expected);
      EXPECT_EQ(trained(on_two_processors(training), exchange, false), expected);
      if (accumulation == 1) continue;  // a pipeline that does not accumulate meets other weights
      EXPECT_EQ(trained(on_two_processors(training), exchange, true), expected);
    }
  }
}

}  // namespace
}  // namespace podium::testing
