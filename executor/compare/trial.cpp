// Candidates are tried one after the other where numbers are computed, and side by side, the longest first,
// where they are clocked alone. What an Error says of one becomes its refusal; any other fault ends them all.
// Of what they leave, the best one's Program alone is kept.
#include "executor/compare/trial.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

#include "annotate/rules.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "executor/report/model_summary.h"
#include "executor/session/host_arrays.h"
#include "executor/session/json_rows.h"
#include "executor/session/option_words.h"

namespace podium::compare {
namespace {

// More devices are seldom so close to each other that they wait for every product's others.
constexpr int kMostCut = 8;

// Events of thirty strategies would be too many to keep.
void draw(report::ComparedStrategy& compared) {
  sim::Timeline& timeline = compared.run.timeline;
  compared.sketch = report::sketch_of(timeline);
  timeline.events = {};
  timeline.folded = {};
  timeline.blocks = {};
  for (sim::ProcessorReport& processor : timeline.processors) {
    processor.memory_curve = {};
    processor.lives = {};
  }
}

report::ComparedStrategy attempt(const Candidate& candidate, const Setting& setting, std::int64_t samples,
                                 const std::function<void(report::ComparedStrategy&)>& run) {
  const Strategy& strategy = candidate.strategy;
  report::ComparedStrategy compared{
      .name = candidate.name,
      .run = {.model = setting.model,
              .strategy = candidate.name,
              .device = setting.device.name,
              .options = candidate.document,
              .micro_batches = strategy.batches_per_step * strategy.accumulation_factor,
              .updates = strategy.batches_per_step,
              .samples_per_micro_batch = static_cast<double>(samples),
              .is_estimate = setting.estimate}};
  try {
    run(compared);
    if (setting.draws) draw(compared);
  } catch (const DecidedByData& error) {
    compared.refusal = error.what();
    compared.needs_run = true;
  } catch (const Error& error) {
    compared.refusal = error.what();
  } catch (const std::bad_alloc&) {
    compared.refusal = "out of memory on this machine";
  }
  return compared;
}

std::vector<std::size_t> as_they_are(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

// So that none of them runs on alone in the end: a graph that is cut has ops for each device, then it is the
// number of processors.
std::vector<std::size_t> longest_first(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> order = as_they_are(candidates);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) {
    const Strategy& strategy = candidates[i].strategy;
    return std::pair(strategy.tensor_parallel.group(), strategy.ipus / std::max(1, strategy.replicas));
  });
  return order;
}

// The Programs of thirty strategies would be too many to keep.
void keep_better(std::vector<report::ComparedStrategy>& compared, std::optional<std::size_t>& best,
                 std::size_t next) {
  const auto comes_before = [&](std::size_t a, std::size_t b) {
    if (report::is_better(compared[a], compared[b])) return true;
    return a < b && !report::is_better(compared[b], compared[a]);
  };
  if (!best) {
    best = next;
    return;
  }
  const bool is_next = comes_before(next, *best);
  compared[is_next ? *best : next].clocked_on = nullptr;
  if (is_next) best = next;
}

}  // namespace

Request request_of(const device::Device& device, const importer::Model& model) {
  const ir::Graph& graph = model.graph;
  return {.processors = device.processors,
          .ops = static_cast<int>(graph.ops.size()),
          .batch = samples_of(graph),
          .weight_bytes = static_cast<std::int64_t>(report::summarize(graph).parameter_bytes),
          .memory_bytes = device.memory_bytes(),
          .kind = device.kind,
          .tiles = device.tiles,
          .has_streaming_memory = device.streaming_load.bytes_per_second > 0,
          .tensor_cuts = tensor_cuts_of(model, std::min(device.processors, kMostCut)),
          .configurations = importer::read_sharding(model).configurations};
}

void apply_annotations(importer::Model& model, const Candidate& candidate, const Setting& setting) {
  if (!candidate.annotations.is_null()) {
    const std::string where = candidate.where + ": annotate";
    annotate::apply_rules(model.graph, annotate::read_rules(json_text(candidate.annotations), where));
  }
  const SyntheticData mode = candidate.strategy.synthetic_data;
  if (mode == SyntheticData::Off || setting.estimate) return;
  throw Error("syntheticDataMode: {} found, Off needed to compare numbers (--estimate clocks it)",
              word_of(mode));
}

std::vector<report::ComparedStrategy> attempt_all(
    const std::vector<Candidate>& candidates, const Setting& setting, std::int64_t samples,
    const std::function<void(const Candidate&, report::ComparedStrategy&)>& run, const Advance& advance) {
  std::vector<report::ComparedStrategy> compared(candidates.size());
  std::mutex one_advances;
  std::optional<std::size_t> best;
  std::exception_ptr failure;
  const auto has_failed = [&] {
    const std::lock_guard lock(one_advances);
    return failure != nullptr;
  };
  const auto try_one = [&](std::size_t i) {
    if (has_failed()) return;
    const auto of_candidate = [&](report::ComparedStrategy& result) { run(candidates[i], result); };
    try {
      compared[i] = attempt(candidates[i], setting, samples, of_candidate);
      const bool is_kept = setting.keeps_best && setting.keeps_best(candidates[i], compared[i].run);
      if (!is_kept) compared[i].clocked_on = nullptr;
      const std::lock_guard lock(one_advances);
      keep_better(compared, best, i);
      advance(compared[i]);
    } catch (...) {
      const std::lock_guard lock(one_advances);
      if (!failure) failure = std::current_exception();
    }
  };
  // A run with numbers has the threads to itself.
  const int most = setting.threads > 0 ? setting.threads : kernels::machine_threads();
  const int threads = setting.estimate ? most : 1;
  const std::vector<std::size_t> order = threads > 1 ? longest_first(candidates) : as_they_are(candidates);
  kernels::for_each_on(threads, std::ssize(order), [&](std::int64_t i) { try_one(order[i]); });
  if (failure) std::rethrow_exception(failure);
  return compared;
}

}  // namespace podium::compare
