// The order of 1F1B, what it stashes, and its numbers.
#include <gmock/gmock.h>

#include "executor/lower/strategies/schedule.h"
#include "tests/executor/lower/placed.h"
#include "tests/executor/lower/trained.h"

namespace podium::testing {
namespace {

using ::testing::ElementsAre;

Strategy in_turns(int micro_batches) {
  Strategy strategy;
  strategy.pipelining = true;
  strategy.pipeline_order = PipelineOrder::OneForwardOneBackward;
  strategy.accumulation_factor = micro_batches;
  return strategy;
}

// There and back over two processors.
TEST(OneForwardOneBackward, TakesThePassesOfAProcessorInTurns) {
  const Placed model = placed("agraph (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Abs(b) }",
                              {0, 1, 0}, {0, 1, 2});
  Strategy strategy = in_turns(1);
  strategy.batches_per_step = 3;
  EXPECT_EQ(steps_of(lower::lower(model.graph, model.placement, strategy)),
            "load x@0 from host\n"
            "compute stage0 on ipu 0: (x@0) -> (a@0)\n"
            "copy a@0 -> a@1\n"
            "compute stage1 on ipu 1: (a@1) -> (b@1)\n"
            "copy b@1 -> b@0\n"
            "repeat 2 times\n"
            "  load x@0 from host\n"
            "  compute stage0 on ipu 0: (x@0) -> (a@0)\n"
            "  copy a@0 -> a@1\n"
            "  compute stage1 on ipu 1: (a@1) -> (b@1)\n"
            "  compute stage2 on ipu 0: (b@0) -> (y@0)\n"
            "  store y@0 to host\n"
            "  copy b@1 -> b@0\n"
            "compute stage2 on ipu 0: (b@0) -> (y@0)\n"
            "store y@0 to host\n");
}

TEST(OneForwardOneBackward, StashesAsManyMicroBatchesAsStagesFollow) {
  const lower::PipelineSchedule schedule = lower::one_forward_one_backward();
  EXPECT_THAT(lower::stash_depths(schedule, 4, 100), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(lower::stash_depths(schedule, 4, 3), ElementsAre(3, 3, 2, 1));
  EXPECT_THAT(lower::stash_depths(schedule, 1, 8), ElementsAre(1));
}

TEST(OneForwardOneBackward, IsFullWithAsManyMicroBatchesAsProcessors) {
  const lower::PipelineSchedule schedule = lower::one_forward_one_backward();
  for (int processors = 1; processors <= 8; ++processors) {
    const int stages = 2 * processors - 1;
    EXPECT_EQ(schedule.at(stages - 1, stages).cycle + 1, processors);
  }
}

// Every pass on its processor once a micro-batch, and no stage before the one that it reads.
TEST(OneForwardOneBackward, StagesFollowEachOther) {
  const lower::PipelineSchedule schedule = lower::one_forward_one_backward();
  for (int processors = 1; processors <= 8; ++processors) {
    const int stages = 2 * processors - 1;
    int before = -1;
    for (int stage = 0; stage < stages; ++stage) {
      const lower::Moment moment = schedule.at(stage, stages);
      const int beat = 2 * moment.cycle + moment.beat;
      EXPECT_GT(beat, before);
      EXPECT_LT(moment.beat, schedule.beats);
      before = beat;
    }
    for (int rank = 0; rank + 1 < processors; ++rank) {
      EXPECT_NE(schedule.at(rank, stages).beat, schedule.at(stages - 1 - rank, stages).beat);
    }
  }
}

TEST(OneForwardOneBackward, TrainsAsOneProcessorDoes) {
  const ir::Training training = two_layers({});
  for (int micro_batches : {2, 3, 4, 7}) {
    Strategy alone;
    alone.accumulation_factor = micro_batches;
    EXPECT_EQ(train(training, on_two_processors(training), in_turns(micro_batches)),
              train(training, on_one_processor(training), alone))
        << micro_batches;
  }
}

}  // namespace
}  // namespace podium::testing
