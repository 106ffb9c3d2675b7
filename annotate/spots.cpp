// First what annotations tell: in phases the phase (or greedy shares of the weights) with its processor, else
// the processor with its stage. Then ops without a spot inherit it, in one walk forward (from the producer
// that runs last) and one backward (from the reader that runs first); what is still empty goes where the
// first stage or phase is (semantics, section 1.3).
#include "annotate/spots.h"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "annotate/variable.h"
#include "ir/late_tensor.h"
#include "ir/training.h"

namespace podium::annotate {
namespace {

bool is_earlier(const Spot& a, const Spot& b) {
  return std::tie(a.stage, a.phase) < std::tie(b.stage, b.phase);
}

std::int64_t weight_bytes(const ir::Value& value) {
  return value.constant || value.data_left_out ? ir::stored_bytes(value) : 0;
}

// Each phase gets the same share of the weights (of the ops when there are none). A weight counts at its
// first reader.
ir::IdMap<ir::OpId, int> greedy_phases(const ir::Graph& graph, int phases) {
  ir::IdMap<ir::ValueId, bool> counted(std::ssize(graph.values), false);
  ir::IdMap<ir::OpId, std::int64_t> before(std::ssize(graph.ops));
  std::int64_t total = 0;
  for (ir::OpId op : graph.op_ids()) {
    before[op] = total;
    for (ir::ValueId id : inputs_of(graph[op])) {
      if (counted[id]) continue;
      counted[id] = true;
      total += weight_bytes(graph[id]);
    }
  }
  ir::IdMap<ir::OpId, int> result(std::ssize(graph.ops));
  for (ir::OpId op : graph.op_ids()) {
    const double share = total > 0 ? static_cast<double>(before[op]) / static_cast<double>(total)
                                   : static_cast<double>(op.number()) / static_cast<double>(graph.ops.size());
    // A share that is a whole number of phases must not fall short of it by rounding.
    constexpr double kRounding = 1e-9;
    result[op] = std::min(static_cast<int>(share * phases + kRounding), phases - 1);
  }
  return result;
}

using MaybeSpots = ir::IdMap<ir::OpId, std::optional<Spot>>;

MaybeSpots told_phases(const ir::Graph& graph, const AllAnnotations& annotations, const Request& request) {
  MaybeSpots spots(annotations.size());
  const bool greedy = std::none_of(annotations.begin(), annotations.end(),
                                   [](const Annotations& op) { return op.phase.has_value(); });
  const auto phases = greedy ? greedy_phases(graph, request.phases) : ir::IdMap<ir::OpId, int>();
  for (ir::OpId op : graph.op_ids()) {
    const std::optional<int> phase = greedy ? phases[op] : annotations[op].phase;
    if (phase) spots[op] = Spot{annotations[op].processor.value_or(*phase % request.phase_stages), 0, *phase};
  }
  return spots;
}

MaybeSpots told_processors(const AllAnnotations& annotations, const Request& request) {
  MaybeSpots spots(annotations.size());
  const bool inferred = infers_stages(annotations, request);
  for (ir::OpId id : annotations.ids()) {
    const Annotations& op = annotations[id];
    if (!op.processor) continue;
    if (!request.pipelining) {
      spots[id] = Spot{*op.processor, 0, 0};
    } else if (inferred || op.stage) {
      spots[id] = Spot{*op.processor, inferred ? *op.processor : *op.stage, 0};
    }
  }
  return spots;
}

void inherit_from_producers(const ir::Graph& graph, MaybeSpots& spots) {
  const auto producer = producers(graph);
  for (ir::OpId op : graph.op_ids()) {
    if (spots[op]) continue;
    for (ir::ValueId id : inputs_of(graph[op])) {
      if (!producer[id].valid()) continue;
      const auto& from = spots[producer[id]];
      if (from && (!spots[op] || is_earlier(*spots[op], *from))) spots[op] = from;
    }
  }
}

void inherit_from_consumers(const ir::Graph& graph, MaybeSpots& spots) {
  ir::IdMap<ir::ValueId, std::optional<Spot>> first_reader(std::ssize(graph.values));
  for (ir::OpId id : graph.op_ids() | std::views::reverse) {
    std::optional<Spot>& spot = spots[id];
    const bool missing = !spot;
    for (ir::ValueId output : outputs_of(graph[id])) {
      const std::optional<Spot>& reader = first_reader[output];
      if (missing && reader && (!spot || is_earlier(*reader, *spot))) spot = reader;
    }
    if (!spot) continue;
    for (ir::ValueId input : inputs_of(graph[id])) {
      std::optional<Spot>& reader = first_reader[input];
      if (!reader || is_earlier(*spot, *reader)) reader = spot;
    }
  }
}

Error decreases(const ir::Graph& graph, ir::ValueId value, const ir::Op& from, const ir::Op& to,
                std::string_view what, int produced, int consumed) {
  return Error(
      "tensor '{}' is consumed in an earlier {} than it is produced: {} has {}, its producer {} has {}",
      graph[value].name, what, graph.describe(to), consumed, graph.describe(from), produced);
}

}  // namespace

AllAnnotations read_all(const ir::Graph& graph) {
  AllAnnotations all;
  all.reserve(std::ssize(graph.ops));
  for (const ir::Op& op : graph.ops) {
    try {
      all.push_back(read_annotations(op));
    } catch (const Error& error) {
      throw error.at(graph.describe(op));
    }
  }
  return all;
}

bool infers_stages(const AllAnnotations& annotations, const Request& request) {
  if (!request.pipelining) return false;
  return request.mode == Mode::Auto ||
         std::none_of(annotations.begin(), annotations.end(),
                      [](const Annotations& op) { return op.stage.has_value(); });
}

Spots find_spots(const ir::Graph& graph, const AllAnnotations& annotations, const Request& request) {
  if (request.mode == Mode::Off) return {AllSpots(std::ssize(graph.ops)), {}};
  const bool phased = has_phases(request);
  MaybeSpots spots =
      phased ? told_phases(graph, annotations, request) : told_processors(annotations, request);
  inherit_from_producers(graph, spots);
  inherit_from_consumers(graph, spots);
  std::optional<Spot> first;
  for (const auto& spot : spots) {
    if (spot && (!first || is_earlier(*spot, *first))) first = spot;
  }
  Spots result;
  for (ir::OpId op : graph.op_ids()) {
    if (!spots[op]) result.untold.push_back(op);
    Spot spot = spots[op] ? *spots[op] : first.value_or(Spot{});
    if (phased && annotations[op].processor) spot.processor = *annotations[op].processor;
    result.of_ops.push_back(spot);
  }
  return result;
}

ir::IdMap<ir::OpId, bool> outer_ops(const ir::Graph& graph) {
  ir::IdMap<ir::OpId, bool> outer;
  for (const ir::Op& op : graph.ops) outer.push_back(ir::is_outer(op));
  return outer;
}

void check_order(const ir::Graph& graph, const AllSpots& spots, const ir::IdMap<ir::OpId, bool>& skip) {
  const auto producer = producers(graph);
  for (ir::OpId to : graph.op_ids()) {
    for (ir::ValueId id : inputs_of(graph[to])) {
      const ir::OpId from = producer[id];
      if (!from.valid() || (!skip.empty() && (skip[from] || skip[to]))) continue;
      const auto error = [&](std::string_view what, int produced, int consumed) {
        return decreases(graph, id, graph[from], graph[to], what, produced, consumed);
      };
      if (spots[from].stage > spots[to].stage)
        throw error("pipeline stage", spots[from].stage, spots[to].stage);
      if (spots[from].phase > spots[to].phase)
        throw error("execution phase", spots[from].phase, spots[to].phase);
    }
  }
}

std::string list(const ir::Graph& graph, const std::vector<ir::OpId>& ops) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(ops.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + graph.describe(graph[ops[i]]);
  }
  if (ops.size() > kShown) text += fmt::format(" and {} more", ops.size() - kShown);
  return text;
}

}  // namespace podium::annotate
