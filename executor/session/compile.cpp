// The order of compile: the device's room for the placement, the times of a pipeline's passes (its bound, and
// the orders of the list scheduler), lowering, the clock, and the engine where the Program can run.
#include "executor/session/compile.h"

#include <algorithm>

#include "executor/kernels/tools/kernel.h"
#include "executor/lower/lower.h"
#include "executor/session/fill_in.h"
#include "executor/session/host_arrays.h"
#include "executor/session/pipeline_bound.h"
#include "executor/session/place_model.h"
#include "executor/session/tensor_parallel.h"
#include "executor/session/working_sizes.h"
#include "ir/gradients/expand_gradients.h"
#include "ir/passes/follow_annotations.h"
#include "ir/passes/make_training.h"
#include "ir/passes/round_operands.h"
#include "ir/shell_word.h"

namespace podium {
namespace {

// Micro-batches of a run that come in one array.
bool are_several(const Strategy& strategy) {
  return strategy.batches_per_step > 1 || strategy.accumulation_factor > 1 || strategy.replicas > 1;
}

// Names what the clock needs and only a run tells.
std::optional<Undecided> unknown_to_clock(const ir::Graph& graph, const CheckedOptions& checked) {
  if (!checked.clocks) return std::nullopt;
  auto unknown = undecided(graph);
  if (unknown && checked.estimates) {
    const std::string advice =
        unknown->input.empty() ? "" : fmt::format(", or --constant {}=N", ir::shell_word(unknown->input));
    throw DecidedByData("{} is decided by data: a run is needed, not an estimate{}", unknown->what, advice);
  }
  return unknown;
}

// By the clock, of those that fit into the memory; the first where there is no clock.
schedule::Orders fastest(std::vector<schedule::Orders> tried, const Placed& placed,
                         const CheckedOptions& checked) {
  if (tried.empty()) return {};
  if (!checked.clocks || tried.size() == 1) return std::move(tried.front());
  std::vector<std::pair<bool, double>> keys;  // what does not fit comes last
  try {
    for (const schedule::Orders& orders : tried) {
      Strategy strategy = checked.strategy;
      strategy.pipeline_list = orders;
      const executor::Program program = lower::lower(placed.training, placed.placement, strategy);
      const sim::Timeline timeline = Clock{checked.device, strategy, false}.run(program);
      keys.emplace_back(!timeline.fits(), timeline.makespan);
    }
  } catch (const Error&) {
    return std::move(tried.front());  // the session says what is wrong when it lowers and clocks this one
  }
  return std::move(tried[std::ranges::min_element(keys) - keys.begin()]);
}

// Whether it is a pipeline that runs empty before each update.
bool updates_when_empty(const Strategy& strategy) {
  return strategy.pipelining &&
         (strategy.accumulation_factor > 1 || strategy.pipeline_order != PipelineOrder::Lockstep);
}

// The orders of schedules that go by times.
void list_passes(const Placed& placed, CheckedOptions& checked) {
  Strategy& strategy = checked.strategy;
  const bool is_listed = strategy.pipeline_order == PipelineOrder::ListScheduled ||
                         strategy.pipeline_order == PipelineOrder::LockstepSplit;
  if (!is_listed || !updates_when_empty(strategy) || placed.training.updates.empty()) return;
  TimedPipeline pipeline;
  lower::show_passes(placed.training, placed.placement, strategy, [&](const lower::PassBlocks& passes) {
    pipeline = time_pipeline(passes, strategy, checked.device);
  });
  strategy.pipeline_list = fastest(orders_by_time(pipeline, strategy), placed, checked);
}

// Of a pipeline that is clocked, and where somebody asks.
bool has_bound(const Placed& placed, const CheckedOptions& checked) {
  return checked.clocks && checked.bounds && updates_when_empty(checked.strategy) &&
         !placed.training.updates.empty();
}

// `bound`, where given, becomes the pipeline's.
executor::Program lowered(Placed placed, CheckedOptions& checked, std::optional<schedule::Bound>* bound) {
  const Strategy& strategy = checked.strategy;
  ir::Training& training = placed.training;
  if (training.variables.empty())
    return lower::lower(std::move(training.graph), placed.placement, strategy, &checked.notes);
  lower::UsePasses use_passes;
  if (bound != nullptr) {
    use_passes = [&](const lower::PassBlocks& passes) {
      *bound = bound_of(time_pipeline(passes, strategy, checked.device), strategy);
    };
  }
  return lower::lower(std::move(training), placed.placement, strategy, &checked.notes, use_passes);
}

// A copy that holds no tensor, so that the engine alone does.
executor::Program without_numbers(const executor::Program& program) {
  executor::Program copy;
  copy.inputs = program.inputs;
  copy.outputs = program.outputs;
  copy.processors = program.processors;
  copy.replicas = program.replicas;
  copy.steps = program.steps;
  for (const executor::Buffer& buffer : program.buffers) {
    copy.buffers.push_back(buffer);
    copy.buffers.back().initial.clear();
  }
  for (const executor::Block& block : program.blocks) {
    copy.blocks.push_back(block);
    for (ir::Value& value : copy.blocks.back().graph.values) {
      value.data_left_out = value.data_left_out || value.constant.has_value();
      value.constant.reset();
    }
  }
  return copy;
}

// '*' stands for the outputs without an anchor of their own.
void anchor_all_outputs(Strategy& strategy, const ir::Graph& graph) {
  const auto all = strategy.anchors.extract("*");
  if (all.empty()) return;
  for (ir::ValueId id : graph.outputs) strategy.anchors.try_emplace(graph[id].name, all.mapped());
}

// What a block on the IO tiles reads, makes and holds while it runs has to be in their memory at once.
void check_io_tiles(const executor::Program& program, const CheckedOptions& checked) {
  const std::int64_t room = checked.strategy.io_tiles * checked.device.tile_memory_bytes;
  for (const executor::Block& block : program.blocks) {
    if (block.memory != executor::Memory::IO || block.graph.ops.empty()) continue;
    std::int64_t bytes = block.temporary_bytes;
    for (ir::ValueId id : block.graph.inputs) bytes += ir::packed_bytes(block.graph[id].type);
    for (ir::ValueId id : block.graph.outputs) bytes += ir::packed_bytes(block.graph[id].type);
    for (executor::BufferId id : block.weights) bytes += slot_bytes(program[id]);
    if (bytes <= room) continue;
    throw Error(
        "{}{} on the IO tiles of ipu {}: {} bytes found, at most {} needed: numIOTiles {} of {} bytes each",
        block.graph.describe(block.graph.ops.front()),
        block.graph.ops.size() > 1 ? fmt::format(" and {} more", block.graph.ops.size() - 1) : "",
        block.processor, bytes, room, checked.strategy.io_tiles, checked.device.tile_memory_bytes);
  }
}

}  // namespace

CheckedOptions check(const importer::Model& model, const SessionOptions& options, Task task) {
  CheckedOptions checked{.device = options.device.value_or(endless_device()),
                         .strategy = {},
                         .clocks = options.clock,
                         .estimates = options.clock && options.estimate,
                         .events = options.events,
                         .bounds = options.bounds,
                         .watches = options.watches,
                         .prepare = {.seed = options.seed,
                                     .threads = options.threads,
                                     .fuse = options.fuse,
                                     .between_waves = options.while_running,
                                     .after_op = options.after_op}};
  if (!checked.estimates) check_data(model.graph);
  Strategy strategy = filled_in(options, model, checked.device, task, checked.notes);
  anchor_all_outputs(strategy, model.graph);
  checked.strategy = check_options(std::move(strategy), checked.device, task, checked.notes);
  // Before the graph is cut over as many devices as a file may ask for.
  const DeviceGroups groups = device_groups(model, checked.strategy);
  if (groups.named() > 1) check_processors(checked.strategy, groups.named(), checked.device);
  const EngineCache& cache = checked.strategy.cache;
  if (cache.enabled && !checked.estimates)
    checked.prepare.packed = checked.packed = open_packed_files(cache.folder());
  checked.strategy.exchanges = checked.device.synchronous ? Exchanges::Together : Exchanges::Apart;
  if (checked.estimates || are_several(checked.strategy)) require_sizes(model);
  if (task == Task::Training || !options.optimized) {
    check_annotations(model, checked.strategy, checked.device, groups.devices);
    const Notes unheeded = unheeded_annotations(model, checked.strategy, task);
    checked.notes.insert(checked.notes.end(), unheeded.begin(), unheeded.end());
  }
  return checked;
}

GroupedWeights take_grouped_weights(importer::Model& model, int replicas) {
  GroupedWeights weights{.groups = own_groups(model.info, replicas)};
  weights.values = take_group_values(model, weights.groups, replicas);
  return weights;
}

void optimize(ir::Training& forward) {
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::expand_gradients(forward.graph, options);
  ir::optimize(forward, options);
}

void ask_for_operands(ir::Training& forward, const Strategy& strategy) {
  if (strategy.operands == Operands::AsStored) return;
  ir::ask_for_narrow_operands(forward.graph, weights_of(forward));
}

void narrow_operands(ir::Training& forward, const Strategy& strategy) {
  ask_for_operands(forward, strategy);
  if (ir::round_operands(forward.graph)) optimize(forward);
}

void follow_annotations(ir::Training& forward, const Strategy& strategy) {
  bool changed = ir::follow_product_annotations(forward.graph);
  if (strategy.channel_groups == ChannelGroups::Strided) changed |= ir::stride_channel_groups(forward.graph);
  if (changed) optimize(forward);
}

void clock_run(std::optional<sim::Timeline>& timeline, const std::function<sim::Timeline()>& run,
               CheckedOptions& checked) {
  try {
    timeline = run();
  } catch (const Error& error) {
    if (checked.estimates) throw;
    checked.notes.push_back(fmt::format("no simulated time: {}", error.what()));
  }
}

void clock_late(Compiled& compiled, std::span<const ir::Datum> inputs, CheckedOptions& checked) {
  const auto run = [&] {
    Clocked clocked = compiled.late_clock->run(inputs);
    if (checked.events) compiled.clocked_late = without_numbers(clocked.program);
    return std::move(clocked.timeline);
  };
  clock_run(compiled.timeline, run, checked);
  compiled.late_clock.reset();
}

sim::Timeline clocked_elsewhere(const Compiled& compiled, const CheckedOptions& checked,
                                const device::Device& device) {
  IR_CHECK(checked.estimates, "a session that runs is clocked on another device");
  return Clock{device, checked.strategy, false}.run(compiled.lowered);
}

Compiled compile(Placed placed, const GroupedWeights& weights, CheckedOptions& checked) {
  check_placement(checked.strategy, placed.placement, checked.device);
  const auto unknown = unknown_to_clock(placed.training.graph, checked);
  const Clock clock{checked.device, checked.strategy, checked.events};
  const std::vector<NamedVariable> parts = named_variables(placed.training);
  const std::vector<annotate::CutVariable> cut = std::move(placed.cut);
  Compiled compiled{.variables = with_whole_variables(parts, cut),
                    .reshardings = std::move(placed.reshardings)};
  // Variables of inference are not looked at: their session gives no inputs for them.
  if (unknown && (compiled.variables.empty() || !placed.training.updates.empty())) {
    compiled.late_clock = LateClock{clock, placed.training, placed.placement};
  }
  if (!unknown) list_passes(placed, checked);
  const bool is_bounded = !unknown && has_bound(placed, checked);
  compiled.lowered = lowered(std::move(placed), checked, is_bounded ? &compiled.bound : nullptr);
  keep_moved(compiled.reshardings, compiled.lowered);
  note_reshardings(compiled.reshardings, checked.notes);
  check_io_tiles(compiled.lowered, checked);
  check_host_tensors(compiled.lowered);
  compiled.store = VariableStore(parts, cut, weights.groups, compiled.lowered);
  if (unknown && !compiled.late_clock) {
    checked.notes.push_back(fmt::format("no simulated time: {} is decided by data", unknown->what));
  }
  if (checked.clocks && !unknown) {
    clock_run(
        compiled.timeline, [&] { return clock.run(compiled.lowered); }, checked);
  }
  if (checked.estimates || (compiled.timeline && !compiled.timeline->fits())) return compiled;
  if (checked.events) compiled.described = without_numbers(compiled.lowered);
  compiled.engine = std::make_unique<numeric::Engine>(std::move(compiled.lowered), checked.prepare);
  if (checked.packed && !checked.packed->trouble().empty())
    checked.notes.push_back(fmt::format("packed weights are not all kept: {}", checked.packed->trouble()));
  for (const auto& [name, value] : weights.values) {
    if (compiled.store.contains(name)) compiled.store.set(*compiled.engine, name, value);
  }
  return compiled;
}

}  // namespace podium
