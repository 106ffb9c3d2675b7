// Each schedule is a copy of the options, estimated as a session of its own. Those that fit come first, the
// fastest of them in front. A schedule that defers weight gradients is tried with all that help; where these
// overflow the memory, bisection finds how many do not.
#include "executor/session/choose_schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <tuple>

#include "executor/schedule/families.h"

namespace podium {
namespace {

constexpr int kMostChunks = 4;

// A schedule that has been estimated.
struct Tried {
  Strategy strategy;
  double seconds = 0;
  int processors = 1;
  double fullness = 0;  ///< of the fullest processor's memory; above 1 it does not fit

  // Those that fit come first.
  auto key() const { return std::tuple(std::max(1.0, fullness), seconds); }
};

double fullest(const sim::Timeline& timeline) {
  double most = 0;
  for (const sim::ProcessorReport& processor : timeline.processors) {
    const sim::MemoryUse& memory = processor.memory;
    const auto share = [](std::int64_t bytes, std::int64_t capacity) {
      return bytes == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(capacity);
    };
    most = std::max(
        {most, share(memory.peak, memory.capacity), share(memory.streaming, memory.streaming_capacity)});
  }
  return most;
}

std::string name_of(const Strategy& strategy) {
  std::string name(schedule::family_of(strategy.pipeline_order).name);
  if (strategy.pipeline_chunks > 1) name += fmt::format(" in {} chunks", strategy.pipeline_chunks);
  if (strategy.pipeline_deferred) name += fmt::format(" with {} deferred", *strategy.pipeline_deferred);
  return name;
}

using Estimate = std::function<sim::Timeline(const SessionOptions&)>;

Tried tried_once(const SessionOptions& options, Strategy strategy, const Estimate& estimate) {
  SessionOptions one = options;
  one.strategy = strategy;
  one.clock = one.estimate = true;
  one.events = false;
  const sim::Timeline timeline = estimate(one);
  return {std::move(strategy), timeline.makespan, static_cast<int>(timeline.processors.size()),
          fullest(timeline)};
}

bool has_choice(const Strategy& strategy) {
  if (strategy.pipeline_deferred || strategy.pipeline_order == PipelineOrder::Listed) return false;
  return schedule::family_of(strategy.pipeline_order).deferral == schedule::Deferral::Chosen;
}

// What is deferred waits in memory: where all of it does not fit, as much as does, by bisection. All of it is
// said as a number, so that the session that estimates it has nothing to choose.
Tried tried_to_fit(const SessionOptions& options, const Strategy& strategy, const Estimate& estimate) {
  if (!has_choice(strategy)) return tried_once(options, strategy, estimate);
  Strategy all = strategy;
  all.pipeline_deferred = std::numeric_limits<int>::max();
  Tried best = tried_once(options, all, estimate);
  best.strategy = strategy;
  int least = 0;
  int most = best.fullness <= 1 ? -1 : 2 * (best.processors - 1);
  while (least <= most) {
    Strategy one = strategy;
    one.pipeline_deferred = (least + most) / 2;
    Tried here = tried_once(options, one, estimate);
    const bool fits = here.fullness <= 1;
    (fits ? least : most) = *one.pipeline_deferred + (fits ? 1 : -1);
    if (here.fullness < best.fullness || fits) best = std::move(here);
  }
  return best;
}

Notes deferred_as_fits(SessionOptions& options, const Estimate& estimate) {
  if (!options.clock || !options.device || !has_choice(options.strategy)) return {};
  try {
    Tried best = tried_to_fit(options, options.strategy, estimate);
    if (!best.strategy.pipeline_deferred || best.fullness > 1) return {};
    options.strategy = std::move(best.strategy);
  } catch (const Error&) {
    return {};  // which the session says itself
  }
  const int deferred = *options.strategy.pipeline_deferred;
  return {
      fmt::format("a processor puts off at most {} weight gradient{}, with which the pipeline fits "
                  "(--defer-weights {})",
                  deferred, deferred == 1 ? "" : "s", deferred)};
}

// How many chunks a processor may have, as pipelineChunks says it: 1 leaves a V its two.
std::vector<int> chunk_counts(const schedule::Family& family, const Strategy& asked) {
  if (asked.pipeline_chunks > 1) return {asked.pipeline_chunks};
  const bool takes_several =
      family.shape == schedule::Shape::Loop &&
      family.why_not({.processors = 1, .micro_batches = 1, .chunks = kMostChunks}).empty();
  std::vector<int> counts{1};
  for (int count = 2; takes_several && count <= kMostChunks; ++count) counts.push_back(count);
  return counts;
}

bool can_be_had(const schedule::Family& family, const Strategy& asked, Task task) {
  if (task == Task::Inference) return family.backward == schedule::Backward::Whole;
  // Without accumulation lockstep reads weights of several versions, which is another training.
  return family.order != PipelineOrder::Lockstep || asked.accumulation_factor > 1;
}

Notes notes_of(const std::vector<Tried>& tried, std::size_t refused) {
  const Tried& best = tried.front();
  std::string note = fmt::format("pipeline schedule {}: {:.4g} ms by the clock, the best of {}",
                                 name_of(best.strategy), 1e3 * best.seconds, tried.size());
  if (best.fullness > 1) note += ", none of which fits into the memory";
  if (tried.size() > 1) {
    note += fmt::format("; next is {} with {:.4g} ms", name_of(tried[1].strategy), 1e3 * tried[1].seconds);
    if (best.fullness <= 1 && tried[1].fullness > 1) note += ", which does not fit";
  }
  if (refused > 0) note += fmt::format("; {} cannot be had here", refused);
  Notes notes{note};
  // What more memory would allow.
  const Tried* faster = nullptr;
  for (const Tried& one : tried) {
    if (one.fullness <= 1 || one.seconds >= best.seconds || best.fullness > 1) continue;
    if (faster == nullptr || one.fullness < faster->fullness) faster = &one;
  }
  if (faster != nullptr) {
    notes.push_back(fmt::format("{:.0f} % more memory would allow {}: {:.4g} ms",
                                std::ceil(100 * faster->fullness) - 100, name_of(faster->strategy),
                                1e3 * faster->seconds));
  }
  return notes;
}

}  // namespace

std::vector<Strategy> scheduled_strategies(const Strategy& asked, Task task) {
  std::vector<Strategy> found;
  for (const schedule::Family& family : schedule::families()) {
    if (!can_be_had(family, asked, task)) continue;
    for (const int chunks : chunk_counts(family, asked)) {
      Strategy& strategy = found.emplace_back(asked);
      strategy.pipeline_order = family.order;
      strategy.pipeline_chunks = chunks;
    }
  }
  return found;
}

Notes choose_schedule(SessionOptions& options, Task task,
                      const std::function<sim::Timeline(const SessionOptions&)>& estimate) {
  if (!options.strategy.pipelining) return {};
  if (options.strategy.pipeline_order != PipelineOrder::Auto) return deferred_as_fits(options, estimate);
  std::vector<Tried> tried;
  std::exception_ptr first_refusal;
  std::size_t refused = 0;
  for (const Strategy& strategy : scheduled_strategies(options.strategy, task)) {
    try {
      tried.push_back(tried_to_fit(options, strategy, estimate));
    } catch (const DecidedByData&) {
      throw;
    } catch (const Error&) {
      if (!first_refusal) first_refusal = std::current_exception();
      ++refused;
    }
  }
  if (tried.empty()) std::rethrow_exception(first_refusal);
  std::ranges::stable_sort(tried, {}, &Tried::key);
  options.strategy = tried.front().strategy;
  return notes_of(tried, refused);
}

}  // namespace podium
