// From costs per op to a part per op, in four steps: find the ops before which a cut is allowed (all_cuts; in
// a pipeline also without those that would part the readers of a weight, cuts_that_keep_together); add up the
// ops between two allowed cuts into one item; let cut() choose among the cuts; count cuts up to each op.
// What a pipeline's cuts come to is one number, the time of a cycle, so that cuts which keep all readers of a
// weight together, those of some weights, or none can be held against each other.
// Sums over live ranges are made by differences: bytes enter where a range begins, leave behind its end, and
// a running sum gives what is alive at each op or crosses a cut.
// Ratios need no search: ops are handed out in order until a processor has its share of the total time.
#include "annotate/automatic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "annotate/annotations.h"
#include "annotate/cuts.h"
#include "annotate/variable.h"
#include "ir/cannot_split.h"
#include "ir/late_tensor.h"

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

// The span of every value, from its producer or first reader to its last reader.
using Spans = ir::IdMap<ir::ValueId, Span>;
Spans spans_of(const ir::Graph& graph) {
  Spans spans(std::ssize(graph.values));
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (ir::ValueId id : inputs_of(graph.ops[i])) spans[id].extend(i);
    for (ir::ValueId id : outputs_of(graph.ops[i])) spans[id].extend(i);
  }
  return spans;
}

bool is_known(const ir::Value& value) { return value.constant || value.data_left_out; }

// Running sums of differences. Each value adds its bytes where its span starts and subtracts them where it
// ends; the sum is what lives at each op.
std::vector<std::int64_t> sums(std::vector<std::int64_t> differences) {
  std::partial_sum(differences.begin(), differences.end(), differences.begin());
  return differences;
}

// For a cut before each op, the bytes that each micro-batch sends over it: values there and, where there is a
// way back, their gradients back, and what is added up to the gradient of a weight with readers on both
// sides.
std::vector<std::int64_t> crossing_bytes(const ir::Graph& graph, const Spans& spans, const Costs& costs) {
  std::vector<std::int64_t> differences(graph.ops.size() + 1, 0);
  const auto add = [&](const Span& span, std::int64_t bytes) {
    differences[span.first + 1] += bytes;
    differences[span.last + 1] -= bytes;
  };
  const std::int64_t ways = costs.stash_bytes.empty() ? 1 : 2;
  for (ir::ValueId id : graph.value_ids()) {
    if (spans[id].is_shared() && !is_known(graph[id]))
      add(spans[id], ways * ir::packed_bytes(graph[id].type));
  }
  for (const auto& [id, weight] : costs.shared) add(spans[id], weight.gradient_bytes);
  return sums(std::move(differences));
}

// Where the readers of a weight lie: the shortest spans first.
std::vector<Span> shared_spans(const ir::Graph& graph, const Costs& costs) {
  const Spans spans = spans_of(graph);
  std::vector<Span> shared;
  for (const auto& [id, weight] : costs.shared) {
    if (is_variable(graph[id])) shared.push_back(spans[id]);
  }
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

void check_count(std::int64_t cuts, int parts) {
  IR_CHECK(parts > 0, "{} parts", parts);
  if (cuts + 1 >= parts) return;
  throw LacksCuts(
      fmt::format(
          "could not find enough splits for {} processors or phases: the model can be cut into {} part{} at most",
          parts, cuts + 1, cuts == 0 ? "" : "s"),
      static_cast<int>(cuts) + 1);
}

// The cuts that do not part the readers of a shared weight, as long as `needed` cuts remain.
std::vector<std::size_t> cuts_that_keep_together(std::vector<std::size_t> cuts, std::span<const Span> shared,
                                                 std::size_t needed) {
  for (const Span& span : shared) {
    const auto begin = std::upper_bound(cuts.begin(), cuts.end(), span.first);
    const auto end = std::upper_bound(begin, cuts.end(), span.last);
    if (cuts.size() - (end - begin) >= needed) cuts.erase(begin, end);
  }
  return cuts;
}

// Tells each item which shared weights it reads, and the items before and behind it that read them too.
void share_weights(const ir::Graph& graph, const Costs& costs, const std::vector<std::size_t>& cuts,
                   std::vector<Item>& items) {
  struct Reader {
    std::size_t item;
    std::size_t place;  // among the item's shared tensors
  };
  std::map<ir::ValueId, Reader> last_readers;
  std::size_t item = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (item < cuts.size() && cuts[item] == i) ++item;
    for (ir::ValueId id : inputs_of(graph.ops[i])) {
      const auto weight = costs.shared.find(id);
      if (weight == costs.shared.end()) continue;
      const Reader here{item, items[item].shared.size()};
      const auto [last, is_first] = last_readers.emplace(id, here);
      if (!is_first && last->second.item == item) continue;
      SharedTensor tensor{.bytes = weight->second.bytes};
      if (!is_first) {
        tensor.before = last->second.item;
        items[last->second.item].shared[last->second.place].behind = item;
        last->second = here;
      }
      items[item].shared.push_back(tensor);
    }
  }
}

// One item for the ops between each two cuts.
std::vector<Item> items_between(const ir::Graph& graph, const Costs& costs,
                                const std::vector<std::size_t>& cuts) {
  const std::vector<std::int64_t> crossing = crossing_bytes(graph, spans_of(graph), costs);
  std::vector<Item> items(cuts.size() + 1);
  std::size_t item = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (item < cuts.size() && cuts[item] == i) items[++item].crossing_bytes = crossing[i];
    items[item].seconds += costs.seconds[i];
    items[item].weight_bytes += costs.weight_bytes[i];
    items[item].activation_bytes = std::max(items[item].activation_bytes, costs.activation_bytes[i]);
    if (!costs.stash_bytes.empty()) items[item].stash_bytes += costs.stash_bytes[i];
  }
  share_weights(graph, costs, cuts, items);
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

struct Candidate {
  std::vector<int> parts;
  CutCost cost;
};

// The best of these cuts.
Candidate balance(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options,
                  const std::vector<std::size_t>& cuts) {
  check_count(std::ssize(cuts), options.parts);
  const std::size_t parts = options.parts;
  const std::vector<Item> items = items_between(graph, costs, cuts);
  const Room room{options.memory_bytes, options.stash_depths};
  const std::vector<std::size_t> firsts = cut(items, parts, room);
  return {parts_of_ops(graph.ops.size(), cuts, firsts), cost_of(items, firsts, room)};
}

// The bytes over the memory, then the seconds of a cycle.
std::pair<std::int64_t, double> score(const CutCost& cost, const Costs& costs,
                                      const AutomaticOptions& options) {
  const std::int64_t room = options.memory_bytes > 0 ? options.memory_bytes : cost.bytes;
  constexpr double kThereAndBack = 3;  // a way back is two products for each of the way there
  const double computes = (costs.stash_bytes.empty() ? 1 : kThereAndBack) * cost.seconds;
  return {std::max<std::int64_t>(cost.bytes - room, 0),
          computes + static_cast<double>(cost.crossing_bytes) * options.seconds_per_byte};
}

// The best cut by its score. The time of an exchange is that of its largest part, so every bound on the bytes
// that may cross gives a candidate; each bound is an eighth below the one before, or as much as the next cut
// has less.
Candidate balance_with_exchanges(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options,
                                 std::vector<std::size_t> cuts) {
  Candidate best = balance(graph, costs, options, cuts);
  if (options.seconds_per_byte == 0) return best;
  const std::vector<std::int64_t> crossing = crossing_bytes(graph, spans_of(graph), costs);
  for (std::int64_t bound = best.cost.crossing_bytes; bound > 0;) {
    bound -= std::max<std::int64_t>(bound / 8, 1);
    std::erase_if(cuts, [&](std::size_t cut) { return crossing[cut] > bound; });
    if (std::ssize(cuts) + 1 < options.parts) break;
    Candidate next = balance(graph, costs, options, cuts);
    bound = next.cost.crossing_bytes;
    if (score(next.cost, costs, options) < score(best.cost, costs, options)) best = std::move(next);
  }
  return best;
}

// The best cut that keeps the readers in each of these spans together, where enough cuts remain.
Candidate balance_together(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options,
                           std::span<const Span> together) {
  std::vector<std::size_t> cuts = all_cuts(graph.ops.size(), options.units);
  check_count(std::ssize(cuts), options.parts);
  cuts = cuts_that_keep_together(std::move(cuts), together, static_cast<std::size_t>(options.parts) - 1);
  return balance_with_exchanges(graph, costs, options, std::move(cuts));
}

// Constants inside bodies.
std::int64_t weight_bytes_of_bodies(const ir::Op& op) {
  std::int64_t bytes = 0;
  ir::for_each_body(op, [&](std::string_view, const ir::Graph& body) {
    for (ir::ValueId id : body.value_ids()) {
      if (is_known(body[id])) bytes += ir::packed_bytes(body[id].type);
    }
    for (const ir::Op& inner : body.ops) bytes += weight_bytes_of_bodies(inner);
  });
  return bytes;
}

// What lives at once in the body that needs the most.
std::int64_t activation_bytes_of_bodies(const ir::Op& op) {
  std::int64_t most = 0;
  ir::for_each_body(op, [&](std::string_view, const ir::Graph& body) {
    for (std::int64_t bytes : count_bytes(body).activation_bytes) most = std::max(most, bytes);
  });
  return most;
}

}  // namespace

Costs count_bytes(const ir::Graph& graph) {
  const Spans spans = spans_of(graph);
  Costs costs{
      .seconds = {}, .weight_bytes = std::vector<std::int64_t>(graph.ops.size(), 0), .activation_bytes = {}};
  std::vector<std::int64_t> live(graph.ops.size() + 1, 0);
  for (ir::ValueId id : graph.value_ids()) {
    const Span& span = spans[id];
    if (span.first == kNoOp) continue;
    const std::int64_t bytes = ir::stored_bytes(graph[id]);
    if (is_known(graph[id])) {
      costs.weight_bytes[span.first] += bytes;
      if (span.is_shared()) costs.shared.emplace(id, SharedWeight{bytes});
    } else {
      live[span.first] += bytes;
      live[span.last + 1] -= bytes;
    }
  }
  costs.activation_bytes = sums(std::move(live));
  costs.activation_bytes.pop_back();
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    costs.weight_bytes[i] += weight_bytes_of_bodies(graph.ops[i]);
    costs.activation_bytes[i] += activation_bytes_of_bodies(graph.ops[i]);
  }
  return costs;
}

std::vector<int> shard(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options) {
  return balance_together(graph, costs, options, {}).parts;
}

std::vector<int> pipeline(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options) {
  const std::vector<Span> shared = shared_spans(graph, costs);
  Candidate best = balance_together(graph, costs, options, shared);
  for (std::size_t kept = shared.size(); kept > 0;) {
    kept /= 2;
    Candidate next = balance_together(graph, costs, options, std::span(shared).first(kept));
    if (score(next.cost, costs, options) < score(best.cost, costs, options)) best = std::move(next);
  }
  return std::move(best.parts);
}

std::vector<int> phases(const ir::Graph& graph, const Costs& costs, const AutomaticOptions& options) {
  AutomaticOptions halved = options;
  halved.memory_bytes /= 2;
  return balance(graph, costs, halved, all_cuts(graph.ops.size(), options.units)).parts;
}

std::string why_no_ratios(const std::vector<double>& ratios) {
  // Users write 0.33 three times: two decimals are off by up to half of the last one.
  const double tolerance = 0.005 * static_cast<double>(ratios.size()) + 1e-9;
  for (double ratio : ratios) {
    if (!(ratio > 0 && ratio <= 1)) return fmt::format("{} found, a number in (0, 1] needed", ratio);
  }
  const double sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
  return std::abs(sum - 1) > tolerance ? fmt::format("a sum of {} found, 1 needed", sum) : "";
}

std::vector<int> split_by_ratio(const ir::Graph& graph, const Costs& costs, const std::vector<double>& ratios,
                                int processors) {
  if (std::ssize(ratios) != processors) {
    throw Error("virtualGraphSplitRatios: {} ratios found, one for each of {} processors needed",
                ratios.size(), processors);
  }
  if (const std::string reason = why_no_ratios(ratios); !reason.empty())
    throw Error("virtualGraphSplitRatios: {}", reason);
  check_count(std::ssize(all_cuts(graph.ops.size(), {})), processors);
  const double total = std::accumulate(costs.seconds.begin(), costs.seconds.end(), 0.0) /
                       std::accumulate(ratios.begin(), ratios.end(), 0.0);
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
      parts[op++] = part;
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
