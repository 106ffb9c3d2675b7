// Pipelines whose processors take their passes in the orders of a schedule.
#include <gmock/gmock.h>

#include <cmath>

#include "executor/schedule/families.h"
#include "executor/schedule/validate.h"
#include "ir/error.h"
#include "ir/passes/make_training.h"
#include "tests/executor/lower/placed.h"
#include "tests/executor/lower/trained.h"
#include "tests/support/hand_trained.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

Strategy in_order(PipelineOrder order, int micro_batches) {
  Strategy strategy;
  strategy.pipelining = true;
  strategy.pipeline_order = order;
  strategy.accumulation_factor = micro_batches;
  return strategy;
}

executor::Program inference(const Strategy& strategy) {
  const Placed model = placed("agraph (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Abs(b) }",
                              {0, 1, 0}, {0, 1, 2});
  return lower::lower(model.graph, model.placement, strategy);
}

std::string why_not(const Strategy& strategy) {
  try {
    inference(strategy);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Processor 0 has the first chunk and the last one.
TEST(Scheduled, InferenceGoesForwardAlone) {
  Strategy strategy = in_order(PipelineOrder::Listed, 1);
  strategy.batches_per_step = 3;
  using schedule::Pass;
  for (int k = 0; k < 3; ++k) {
    strategy.pipeline_list.resize(2);
    strategy.pipeline_list[0].push_back({Pass::Forward, 0, k});
    strategy.pipeline_list[1].push_back({Pass::Forward, 1, k});
  }
  for (int k = 0; k < 3; ++k) strategy.pipeline_list[0].push_back({Pass::Forward, 2, k});
  EXPECT_EQ(steps_of(inference(strategy)),
            "load x@0 from host\n"
            "compute forward0 on ipu 0: (x@0) -> (a@0)\n"
            "copy a@0 -> a@1\n"
            "repeat 2 times\n"
            "  load x@0 from host\n"
            "  compute forward0 on ipu 0: (x@0) -> (a@0)\n"
            "  compute forward1 on ipu 1: (a@1) -> (b@1)\n"
            "  copy a@0 -> a@1, b@1 -> b@0[0+1i]\n"
            "compute forward2 on ipu 0: (b@0[0]) -> (y@0)\n"
            "compute forward1 on ipu 1: (a@1) -> (b@1)\n"
            "store y@0 to host\n"
            "copy b@1 -> b@0[0]\n"
            "compute forward2 on ipu 0: (b@0[1]) -> (y@0)\n"
            "store y@0 to host\n"
            "compute forward2 on ipu 0: (b@0[0]) -> (y@0)\n"
            "store y@0 to host\n");
}

TEST(Scheduled, TrainsAsOneProcessorDoes) {
  const ir::Training training = two_layers({});
  for (const schedule::Family& family : schedule::families()) {
    if (family.order == PipelineOrder::Lockstep) continue;
    for (int micro_batches : {2, 3, 4, 7}) {
      if (!family.why_not({2, micro_batches, 1}).empty() || family.shape != schedule::Shape::Loop) continue;
      Strategy alone;
      alone.accumulation_factor = micro_batches;
      EXPECT_EQ(train(training, on_two_processors(training), in_order(family.order, micro_batches)),
                train(training, on_one_processor(training), alone))
          << family.name << " " << micro_batches;
    }
  }
}

TEST(Scheduled, OneMicroBatchIsEnough) {
  const ir::Training training = two_layers({.accumulates = false});
  for (const PipelineOrder order : {PipelineOrder::OneForwardOneBackward, PipelineOrder::ZeroBubbleH1}) {
    EXPECT_EQ(train(training, on_two_processors(training), in_order(order, 1)),
              train(training, on_one_processor(training), {}));
  }
}

// A chain of products that trains, a chunk each: `s2` is made by the forward pass of chunk 2, which its
// weight gradient reads.
ir::Training chain(const schedule::Layout& layout, int micro_batches) {
  std::string inputs = "float[2,2] x";
  std::string ops;
  std::string last = "x";
  for (int chunk = 0; chunk < layout.stages(); ++chunk) {
    const std::string place =
        fmt::format("<__ipu_number = {}, __pipeline_stage = {}>", layout.processor_of[chunk], chunk);
    inputs += fmt::format(", float[2,2] w{}", chunk);
    ops += fmt::format("  s{0} = Sigmoid {1} ({2})\n  h{0} = MatMul {1} (s{0}, w{0})\n", chunk, place, last);
    last = fmt::format("h{}", chunk);
    if (layout.is_last(chunk)) ops += fmt::format("  loss = ReduceSum {} ({})\n", place, last);
  }
  ir::Graph graph = graph_of(fmt::format("g ({}) => (float[1,1] loss) {{\n{}}}", inputs, ops));
  ir::TrainingRequest request{.loss = "loss", .contributions = {.accumulation = micro_batches}};
  for (int chunk = 0; chunk < layout.stages(); ++chunk) {
    request.weights.push_back({.value = value_named(graph, fmt::format("w{}", chunk)),
                               .initial = tensor<float>({2, 2}, {0.5F, -1, 0.25F, 1})});
  }
  return ir::make_training(std::move(graph), request);
}

ir::Placement place_chain(const ir::Training& training, const schedule::Layout& layout) {
  ir::Placement placement{.ops = {}, .processors = layout.processors, .stages = 2 * layout.stages() - 1};
  for (const ir::Op& op : training.graph.ops) {
    const auto number = [&](std::string_view name) {
      const auto* found = ir::attribute_if<std::int64_t>(op, name);
      return found == nullptr ? 0 : static_cast<int>(*found);
    };
    placement.ops.push_back({.processor = number("__ipu_number"), .stage = number("__pipeline_stage")});
  }
  return placement;
}

// Of each chunk, in both copies of the model where there are two, the slots of what waits for its weight
// gradient.
std::vector<int> stashes(const executor::Program& program, const schedule::Layout& layout) {
  std::vector<int> slots(layout.chunks(), 0);
  for (const executor::Buffer& buffer : program.buffers) {
    for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
      const std::string name = fmt::format("s{}", layout.stage_of(chunk));
      const bool is_of_chunk =
          chunk < layout.stages() ? buffer.name == name : buffer.name.starts_with(name + ":");
      if (is_of_chunk && buffer.processor == layout.processor_of[chunk]) slots[chunk] = buffer.slots;
    }
  }
  return slots;
}

TEST(Scheduled, StashesAsManyMicroBatchesAsTheOrderHolds) {
  int programs = 0;
  for (const schedule::Family& family : schedule::families()) {
    for (const int p : {2, 3, 4}) {
      for (const int chunks : {1, 2, 3}) {
        for (const int micro_batches : {2, p, 2 * p, 2 * p + 1, 4 * p}) {
          const schedule::Request request{p, micro_batches, chunks};
          if (!family.why_not(request).empty()) continue;
          const schedule::Schedule schedule = make_schedule(family, request);
          const ir::Training training = chain(schedule.layout, micro_batches);
          const executor::Program program = lower::lower(training, place_chain(training, schedule.layout),
                                                         in_order(family.order, micro_batches));
          std::vector<int> expected = depths(schedule);
          // The last chunk of lockstep goes there and back in one block.
          if (family.order == PipelineOrder::Lockstep) expected.back() = 0;
          EXPECT_EQ(stashes(program, schedule.layout), expected)
              << family.name << " over " << p << " in " << chunks << ", " << micro_batches;
          ++programs;
        }
      }
    }
  }
  EXPECT_EQ(programs, 251);
}

// With one chunk a processor, what is counted of the order is what each processor's memory holds.
TEST(Scheduled, HoldsTheCountedPeaks) {
  for (const schedule::Family& family : schedule::families()) {
    const schedule::Request request{4, 16, 1};
    if (family.order == PipelineOrder::Lockstep || !family.why_not(request).empty()) continue;
    const schedule::Schedule schedule = make_schedule(family, request);
    const ir::Training training = chain(schedule.layout, 16);
    const executor::Program program =
        lower::lower(training, place_chain(training, schedule.layout), in_order(family.order, 16));
    const std::vector<int> slots = stashes(program, schedule.layout);
    std::vector<double> held(4, 0);
    for (int chunk = 0; chunk < schedule.layout.chunks(); ++chunk)
      held[schedule.layout.processor_of[chunk]] += slots[chunk];
    EXPECT_EQ(held, peaks(schedule)) << family.name;
  }
}

// Of 36 stages, whose fill and flush are Repeats.
TEST(Scheduled, ALongPipelineTrainsAsOneProcessorDoes) {
  const int processors = 36;
  const auto trained = [&](const schedule::Layout& layout, PipelineOrder order, int micro_batches) {
    const ir::Training training = chain(layout, micro_batches);
    return train(training, place_chain(training, layout), in_order(order, micro_batches), 1).state;
  };
  int programs = 0;
  for (const schedule::Family& family : schedule::families()) {
    for (const int micro_batches : {processors, 2 * processors + 4}) {
      const schedule::Request request{processors, micro_batches, 1};
      if (family.order == PipelineOrder::Lockstep || !family.why_not(request).empty()) continue;
      const schedule::Schedule schedule = make_schedule(family, request);
      if (schedule.layout.copies > 1 || schedule.layout.chunks() != processors) continue;
      schedule::Layout alone = schedule.layout;
      alone.processors = 1;
      std::ranges::fill(alone.processor_of, 0);
      const ir::Training training = chain(alone, micro_batches);
      Strategy whole;
      whole.accumulation_factor = micro_batches;
      EXPECT_EQ(trained(schedule.layout, family.order, micro_batches),
                train(training, on_one_processor(training), whole, 1).state)
          << family.name << " " << micro_batches;
      ++programs;
    }
  }
  EXPECT_EQ(programs, 16);
}

// All steps, those of bodies too.
std::int64_t count_steps(const std::vector<executor::Step>& steps) {
  std::int64_t count = std::ssize(steps);
  for (const executor::Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) count += count_steps(repeat->body);
  }
  return count;
}

// Its fill and its flush are as long as there are stages, and in each cycle there is another one that acts.
TEST(Scheduled, ALongPipelineHasStepsByTheStageAlone) {
  for (const PipelineOrder order : {PipelineOrder::GPipe, PipelineOrder::OneForwardOneBackward}) {
    const auto steps = [&](int processors) {
      const schedule::Schedule schedule =
          make_schedule(schedule::family_of(order), {processors, 2 * processors, 1});
      const ir::Training training = chain(schedule.layout, 2 * processors);
      return count_steps(
          lower::lower(training, place_chain(training, schedule.layout), in_order(order, 2 * processors))
              .steps);
    };
    EXPECT_LT(steps(128), 2.2 * static_cast<double>(steps(64))) << schedule::family_of(order).name;
  }
}

// How often the ops of all blocks compute a function, in the whole Program.
std::int64_t count_ops(const executor::Program& program, std::string_view name) {
  std::int64_t count = 0;
  for (const executor::Block& block : program.blocks)
    count += std::ranges::count_if(block.graph.ops, [&](const ir::Op& op) { return op.is(name); });
  return count;
}

// The most micro-batches of a chunk between their input gradient and their weight gradient.
int most_pending(const schedule::Schedule& schedule, int chunk) {
  int pending = 0;
  int most = 0;
  for (const schedule::Action& action : schedule.orders[schedule.layout.processor_of[chunk]]) {
    if (action.chunk != chunk) continue;
    if (action.pass == schedule::Pass::InputGradient) most = std::max(most, ++pending);
    if (action.pass == schedule::Pass::WeightGradient) --pending;
  }
  return most;
}

// The second chunk's input gradient computes `s1` again, and the weight gradient reads it: it waits for that
// long. Nothing is recomputed in the stage of the loss.
TEST(Scheduled, HalvesOfABackwardPassRecomputeNothingTwice) {
  const schedule::Layout layout = layout_of(schedule::Shape::Loop, 3, 1);
  const ir::Training training = chain(layout, 12);
  const auto lowered = [&](PipelineOrder order) {
    Strategy strategy = in_order(order, 12);
    strategy.recomputation = Recomputation::Pipeline;
    return lower::lower(training, place_chain(training, layout), strategy);
  };
  const std::int64_t in_whole_passes = count_ops(lowered(PipelineOrder::OneForwardOneBackward), "Sigmoid");
  EXPECT_EQ(in_whole_passes, 3 + 2);
  for (const PipelineOrder order :
       {PipelineOrder::ZeroBubbleH1, PipelineOrder::ZeroBubbleH2, PipelineOrder::LockstepSplit}) {
    const executor::Program program = lowered(order);
    EXPECT_EQ(count_ops(program, "Sigmoid"), in_whole_passes);
    const auto again = std::ranges::find_if(
        program.buffers, [](const executor::Buffer& buffer) { return buffer.name.starts_with("s1:"); });
    ASSERT_NE(again, program.buffers.end());
    const schedule::Schedule schedule = make_schedule(schedule::family_of(order), {3, 12, 1});
    EXPECT_EQ(again->slots, most_pending(schedule, 1)) << schedule::family_of(order).name;
  }
}

TEST(Scheduled, SaysWhatAScheduleNeeds) {
  EXPECT_EQ(why_not(in_order(PipelineOrder::OneForwardOneBackward, 1)),
            "pipeline schedule 1f1b: 3 chunks on 2 processors found, as many on each are needed");
  EXPECT_EQ(
      why_not(in_order(PipelineOrder::DualPipe, 1)),
      "pipeline schedule dualpipe: 1 micro-batches found, an even number of at least 4 is needed: twice the "
      "processors");
  Strategy strategy = in_order(PipelineOrder::Listed, 1);
  strategy.pipeline_list = {{{schedule::Pass::Forward, 0, 0}}};
  EXPECT_EQ(why_not(strategy), "pipeline schedule: 1 lists found, 2 needed: one for each processor");
  strategy.pipeline_list.push_back({});
  EXPECT_EQ(why_not(strategy), "pipeline schedule: processor 1: F0@1 is missing");
}

// The odd micro-batch goes the other way; its gradients are added to sums of its own.
TEST(Scheduled, MicroBatchesComeFromBothEnds) {
  const ir::Training training = two_layers({});
  EXPECT_EQ(
      steps_of(lower::lower(training, on_two_processors(training), in_order(PipelineOrder::Chimera, 2))),
      "load rate@0 from host\n"
      "copy rate@0 -> rate@1\n"
      "load x@0 from host\n"
      "load x:2@1 from host\n"
      "compute forward0 on ipu 0: (x@0, w1@0) -> (h@0)\n"
      "compute forward2 on ipu 1: (x:2@1, w1@1) -> (h:6@1)\n"
      "copy h@0 -> h@1, h:6@1 -> h:6@0\n"
      "compute forward1 on ipu 1: (h@1, w2@1) -> (y@1)\n"
      "compute forward3 on ipu 0: (h:6@0, w2@0) -> (y:7@0)\n"
      "store y@1 to host\n"
      "store y:7@0 to host\n"
      "compute backward1 on ipu 1: (y@1, w2@1, h@1, sum2@1) -> (dh@1, sum2@1)\n"
      "compute backward3 on ipu 0: (y:7@0, w2@0, h:6@0, sum2:5@0) -> (dh:8@0, sum2:5@0)\n"
      "copy dh@1 -> dh@0, dh:8@0 -> dh:8@1\n"
      "compute backward0 on ipu 0: (dh@0, x@0, sum1@0) -> (sum1@0)\n"
      "compute backward2 on ipu 1: (dh:8@1, x:2@1, sum1:3@1) -> (sum1:3@1)\n"
      "copy sum1:3@1 -> sum1:3@0\n"
      "compute update0 on ipu 0: (sum1@0, sum1:3@0, m1@0, rate@0, w1@0) -> (m1@0, w1@0)\n"
      "copy w1@0 -> w1@1\n"
      "copy sum2:5@0 -> sum2:5@1\n"
      "compute update1 on ipu 1: (sum2@1, sum2:5@1, m2@1, v2@1, rate@1, w2@1) -> (m2@1, v2@1, w2@1)\n"
      "copy w2@1 -> w2@0\n"
      "compute update2 on ipu 0: () -> (sum2:5@0, sum1@0)\n"
      "compute update3 on ipu 1: () -> (sum1:3@1, sum2@1)\n");
}

// Of gradients and of anchors sums come in another order: within a few units of the last place.
TEST(Scheduled, TwoCopiesTrainAsOneProcessorDoes) {
  const ir::Training training = two_layers({});
  const auto expect_near = [](const std::vector<float>& found, const std::vector<float>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-6F * std::max(1.0F, std::fabs(expected[i])));
  };
  for (const PipelineOrder order : {PipelineOrder::Chimera, PipelineOrder::DualPipe}) {
    for (const int micro_batches : {2, 4, 6, 8}) {
      if (!schedule::family_of(order).why_not({2, micro_batches, 1}).empty()) continue;
      for (const AnchorReturn returns : {AnchorReturn::All, AnchorReturn::Sum, AnchorReturn::Final}) {
        Strategy alone;
        alone.accumulation_factor = micro_batches;
        Strategy both_ways = in_order(order, micro_batches);
        alone.anchors["y"] = both_ways.anchors["y"] = {.returns = returns};
        const TrainedState expected = train(training, on_one_processor(training), alone);
        const TrainedState found = train(training, on_two_processors(training), both_ways);
        expect_near(found.y, expected.y);
        for (const auto& [name, values] : expected.state) expect_near(found.state.at(name), values);
      }
    }
  }
}

}  // namespace
}  // namespace podium::testing
