// Sessions of pipelines against the bounds of their schedules.
#include "executor/session/pipeline_bound.h"

#include <gmock/gmock.h>

#include "executor/device/presets.h"
#include "executor/schedule/families.h"
#include "executor/schedule/validate.h"
#include "executor/session/training_session.h"
#include "models/catalog.h"

namespace podium {
namespace {

importer::Model small_gpt2() {
  importer::Model model;
  model.graph = models::build("gpt2", {{"layers", "4"},
                                       {"hidden", "16"},
                                       {"heads", "2"},
                                       {"sequence", "8"},
                                       {"vocabulary", "32"},
                                       {"batch", "2"},
                                       {"loss", "cross-entropy"}})
                    .graph;
  return model;
}

TrainingOptions options_for(PipelineOrder order, int chunks, const device::Device& device) {
  TrainingOptions options{.loss = "loss"};
  Strategy& strategy = options.session.strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.ipus = 4;
  strategy.pipelining = true;
  strategy.accumulation_factor = 8;
  strategy.pipeline_order = order;
  strategy.pipeline_chunks = chunks;
  options.session.device = device;
  options.session.clock = options.session.estimate = true;
  return options;
}

// On a machine with barriers and on one without.
TEST(PipelineBound, NoSessionIsBelow) {
  const importer::Model model = small_gpt2();
  int seen = 0;
  for (const std::string_view name : {"ipu-pod16", "a100-80"}) {
    const device::Device device = *device::find_preset(name);
    for (const schedule::Family& family : schedule::families()) {
      const TrainingSession session(model, options_for(family.order, 1, device));
      ASSERT_TRUE(session.bound()) << family.name;
      EXPECT_GT(session.bound()->makespan, 0) << family.name;
      EXPECT_LE(session.bound()->makespan, session.timeline()->makespan) << name << " " << family.name;
      ++seen;
    }
  }
  EXPECT_EQ(seen, 30);
}

// The host dispatches on while devices of a cut meet, so that blocks are shorter than by themselves.
TEST(PipelineBound, NoSessionOfCutStagesIsBelow) {
  device::Device device = *device::find_preset("a100-80");
  device.dispatch_seconds = 56e-6;
  for (const int accumulation : {2, 8, 64}) {
    TrainingOptions options = options_for(PipelineOrder::OneForwardOneBackward, 1, device);
    options.session.strategy.tensor_parallel.devices = 2;
    options.session.strategy.accumulation_factor = accumulation;
    const TrainingSession session(small_gpt2(), options);
    ASSERT_TRUE(session.bound());
    EXPECT_LE(session.bound()->makespan, session.timeline()->makespan) << accumulation;
  }
}

// The list scheduler goes by times without links, and so loses to ZB-H2 on GPUs where an embedding that is
// the head, too, has a large gradient to send. The clock of the session knows links.
TEST(PipelineBound, ListIsNotSlowerThanOtherOrders) {
  importer::Model model;
  model.graph = models::build("gpt2", {{"layers", "4"},
                                       {"hidden", "64"},
                                       {"heads", "2"},
                                       {"sequence", "32"},
                                       {"vocabulary", "5000"},
                                       {"batch", "1"},
                                       {"loss", "cross-entropy"}})
                    .graph;
  for (const std::string_view name : {"ipu-pod16", "a100-80"}) {
    const device::Device device = *device::find_preset(name);
    const auto seconds = [&](PipelineOrder order) {
      return TrainingSession(model, options_for(order, 1, device)).timeline()->makespan;
    };
    const double listed = seconds(PipelineOrder::ListScheduled);
    for (const PipelineOrder order :
         {PipelineOrder::OneForwardOneBackward, PipelineOrder::ZeroBubbleH1, PipelineOrder::ZeroBubbleH2}) {
      EXPECT_LE(listed, seconds(order)) << name;
    }
  }
}

TEST(PipelineBound, IsOfPipelinesThatRunEmpty) {
  const importer::Model model = small_gpt2();
  TrainingOptions options = options_for(PipelineOrder::Lockstep, 1, *device::find_preset("ipu-pod16"));
  options.session.strategy.accumulation_factor = 1;
  options.session.strategy.batches_per_step = 8;
  EXPECT_FALSE(TrainingSession(model, options).bound());
  options.session.strategy.pipelining = false;
  EXPECT_FALSE(TrainingSession(model, options).bound());
}

TEST(PipelineBound, TwoUpdatesTakeTwiceAsLong) {
  const importer::Model model = small_gpt2();
  TrainingOptions options = options_for(PipelineOrder::ZeroBubbleH1, 1, *device::find_preset("a100-80"));
  const double once = TrainingSession(model, options).bound()->makespan;
  options.session.strategy.batches_per_step = 2;
  EXPECT_DOUBLE_EQ(TrainingSession(model, options).bound()->makespan, 2 * once);
}

// 320 bytes beside the variables, of which a micro-batch takes 40.
TEST(PipelineBound, RoomIsWhatVariablesLeave) {
  const lower::PassBlocks blocks{.layout = schedule::layout_of(schedule::Shape::Loop, 2, 1),
                                 .kept_bytes = {40, 0},
                                 .variable_bytes = {80, 400}};
  device::Device device;
  device.tiles = 1;
  device.tile_memory_bytes = 400;
  EXPECT_EQ(time_pipeline(blocks, {}, device).room[0], 8);
  EXPECT_GT(time_pipeline(blocks, {}, device).room[1], 1e6);
}

TEST(PipelineBound, TheListSchedulerGoesByTheTimesOfTheSession) {
  const importer::Model model = small_gpt2();
  const TrainingSession session(
      model, options_for(PipelineOrder::ListScheduled, 1, *device::find_preset("a100-80")));
  const schedule::Orders& orders = session.strategy().pipeline_list;
  ASSERT_EQ(orders.size(), 4U);
  EXPECT_NO_THROW(schedule::validate(
      {.layout = schedule::layout_of(schedule::Shape::Loop, 4, 1), .micro_batches = 8, .orders = orders}));
}

}  // namespace
}  // namespace podium
