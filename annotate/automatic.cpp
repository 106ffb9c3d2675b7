#include "annotate/automatic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "annotate/annotations.h"
#include "annotate/cuts.h"
#include "annotate/variable.h"
#include "ir/at.h"

namespace podium::annotate {
namespace {

constexpr std::size_t kNoOp = std::numeric_limits<std::size_t>::max();

// The ops between which a value is alive, first and last; kNoOp for one that no op touches.
struct Span {
  std::size_t first = kNoOp;
  std::size_t last = 0;

  bool is_shared() const { return first != kNoOp && first < last; }
  void extend(std::size_t op) {
    first = std::min(first, op);
    last = std::max(last, op);
  }
};

// Of every value, from its producer or first reader to its last reader.
std::vector<Span> spans_of(const ir::Graph& graph) {
  std::vector<Span> spans(graph.values.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (const auto* ids : {&graph.ops[i].inputs, &graph.ops[i].outputs}) {
      for (ir::ValueId id : *ids) {
        if (id.valid()) spans[at(id)].extend(i);
      }
    }
  }
  return spans;
}

bool is_known(const ir::Value& value) { return value.constant || value.data_left_out; }

// Adds up differences: what starts at one op and ends at another becomes what is there at each.
std::vector<std::int64_t> sums(std::vector<std::int64_t> differences) {
  std::partial_sum(differences.begin(), differences.end(), differences.begin());
  return differences;
}

// For a cut before each op, the bytes that later ops need of earlier ones.
std::vector<std::int64_t> crossing_bytes(const ir::Graph& graph, const std::vector<Span>& spans) {
  std::vector<std::int64_t> differences(graph.ops.size() + 1, 0);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!spans[i].is_shared() || is_known(graph.values[i])) continue;
    differences[spans[i].first + 1] += bytes_of(graph.values[i].type);
    differences[spans[i].last + 1] -= bytes_of(graph.values[i].type);
  }
  return sums(std::move(differences));
}

// Values whose readers must be on one processor of a pipeline: the shortest spans first.
std::vector<Span> shared_spans(const ir::Graph& graph, std::int64_t small_bytes) {
  const std::vector<Span> spans = spans_of(graph);
  std::vector<Span> shared;
  const auto add = [&](std::size_t value) {
    if (spans[value].is_shared()) shared.push_back(spans[value]);
  };
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (is_variable(graph.values[i]) && bytes_of(graph.values[i].type) > small_bytes) add(i);
  }
  for (ir::ValueId id : graph.inputs) add(at(id));
  std::stable_sort(shared.begin(), shared.end(),
                   [](const Span& a, const Span& b) { return a.last - a.first < b.last - b.first; });
  return shared;
}

// Ops at which a part may begin, apart from the first.
std::vector<std::size_t> all_cuts(std::size_t ops, const std::vector<std::int32_t>& units) {
  IR_CHECK(units.empty() || units.size() == ops);
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < ops; ++i) {
    if (units.empty() || units[i] != units[i - 1]) cuts.push_back(i);
  }
  return cuts;
}

void check_count(std::size_t cuts, int parts) {
  IR_CHECK(parts > 0, "{} parts", parts);
  if (cuts + 1 >= static_cast<std::size_t>(parts)) return;
  throw Error(
      "could not find enough splits for {} processors or phases: the model can be cut into {} part{} at most",
      parts, cuts + 1, cuts == 0 ? "" : "s");
}

// Without those that part the readers of a shared value, while `needed` remain.
std::vector<std::size_t> cuts_that_keep_together(std::vector<std::size_t> cuts,
                                                 const std::vector<Span>& shared, std::size_t needed) {
  for (const Span& span : shared) {
    const auto begin = std::upper_bound(cuts.begin(), cuts.end(), span.first);
    const auto end = std::upper_bound(begin, cuts.end(), span.last);
    if (cuts.size() - static_cast<std::size_t>(end - begin) >= needed) cuts.erase(begin, end);
  }
  return cuts;
}

// One item for the ops between each two cuts.
std::vector<Item> items_between(const ir::Graph& graph, const Costs& costs,
                                const std::vector<std::size_t>& cuts) {
  const std::vector<std::int64_t> crossing = crossing_bytes(graph, spans_of(graph));
  std::vector<Item> items(cuts.size() + 1);
  std::size_t item = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (item < cuts.size() && cuts[item] == i) items[++item].crossing_bytes = crossing[i];
    items[item].seconds += costs.seconds[i];
    items[item].weight_bytes += costs.weight_bytes[i];
    items[item].activation_bytes = std::max(items[item].activation_bytes, costs.activation_bytes[i]);
    if (!costs.stash_bytes.empty()) items[item].stash_bytes += costs.stash_bytes[i];
  }
  return items;
}

// The part of each op from the first item of each part.
std::vector<int> parts_of_ops(std::size_t ops, const std::vector<std::size_t>& cuts,
                              const std::vector<std::size_t>& firsts) {
  std::vector<int> parts(ops, 0);
  for (std::size_t part = 1; part < firsts.size(); ++part) parts[cuts[firsts[part] - 1]] = 1;
  std::partial_sum(parts.begin(), parts.end(), parts.begin());
  return parts;
}

std::vector<int> balance(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options,
                         const std::vector<Span>& shared) {
  std::vector<std::size_t> cuts = all_cuts(graph.ops.size(), options.units);
  check_count(cuts.size(), options.parts);
  const auto parts = static_cast<std::size_t>(options.parts);
  cuts = cuts_that_keep_together(std::move(cuts), shared, parts - 1);
  const std::vector<Item> items = items_between(graph, costs, cuts);
  return parts_of_ops(graph.ops.size(), cuts,
                      cut(items, parts, {options.memory_bytes, options.stash_depths}));
}

void check_ratios(const std::vector<double>& ratios, int processors) {
  if (ratios.size() != static_cast<std::size_t>(processors)) {
    throw Error("virtualGraphSplitRatios: {} ratios found, one for each of {} processors needed",
                ratios.size(), processors);
  }
  double sum = 0;
  for (double ratio : ratios) {
    if (!(ratio > 0 && ratio <= 1))
      throw Error("virtualGraphSplitRatios: {} found, a number in (0, 1] needed", ratio);
    sum += ratio;
  }
  constexpr double kTolerance = 1e-3;  // for 0.333 three times
  if (std::abs(sum - 1) > kTolerance)
    throw Error("virtualGraphSplitRatios: a sum of {} found, 1 needed", sum);
}

}  // namespace

Costs count_bytes(const ir::Graph& graph) {
  const std::vector<Span> spans = spans_of(graph);
  Costs costs{{}, std::vector<std::int64_t>(graph.ops.size(), 0), {}};
  std::vector<std::int64_t> live(graph.ops.size() + 1, 0);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].first == kNoOp) continue;
    const std::int64_t bytes = bytes_of(graph.values[i].type);
    if (is_known(graph.values[i])) {
      costs.weight_bytes[spans[i].first] += bytes;
    } else {
      live[spans[i].first] += bytes;
      live[spans[i].last + 1] -= bytes;
    }
  }
  costs.activation_bytes = sums(std::move(live));
  costs.activation_bytes.pop_back();
  return costs;
}

std::vector<int> shard(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options) {
  return balance(graph, costs, options, {});
}

std::vector<int> pipeline(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options) {
  return balance(graph, costs, options, shared_spans(graph, options.small_weight_bytes));
}

std::vector<int> phases(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options) {
  AutomaticOptions halved = options;
  halved.memory_bytes /= 2;
  return balance(graph, costs, halved, {});
}

std::vector<int> split_by_ratio(const ir::Graph& graph, const Costs& costs, const std::vector<double>& ratios,
                                int processors) {
  check_ratios(ratios, processors);
  check_count(all_cuts(graph.ops.size(), {}).size(), processors);
  const double total = std::accumulate(costs.seconds.begin(), costs.seconds.end(), 0.0);
  std::vector<int> parts(graph.ops.size());
  std::size_t op = 0;
  double done = 0;
  double target = 0;
  for (std::size_t part = 0; part < ratios.size(); ++part) {
    target += ratios[part] * total;
    const bool is_last = part + 1 == ratios.size();
    const std::size_t most = graph.ops.size() - (ratios.size() - part - 1);  // one op for each part to come
    const std::size_t first = op;
    // An op goes where more than half of it belongs.
    while (op < most && (op == first || is_last || done + costs.seconds[op] / 2 <= target)) {
      done += costs.seconds[op];
      parts[op++] = static_cast<int>(part);
    }
  }
  return parts;
}

void write_parts(ir::Graph& graph, const std::vector<int>& parts, std::string_view annotation) {
  IR_CHECK(parts.size() == graph.ops.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::string_view name : {kVirtualGraph, kPipelineStage, kExecutionPhase, kPlainVirtualGraph,
                                  kPlainPipelineStage, kPlainExecutionPhase}) {
      remove_attribute(graph.ops[i], name);
    }
    set_attribute(graph.ops[i], annotation, std::int64_t{parts[i]});
  }
}

}  // namespace podium::annotate
