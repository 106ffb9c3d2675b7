// First what annotations tell: in phases the phase (or greedy shares of the weights) with its processor, else
// the processor with its stage. Then ops without a spot inherit it, in one walk forward (from the producer
// that runs last) and one backward (from the reader that runs first); what is still empty goes where the
// first stage or phase is (semantics, section 1.3).
#include "annotate/spots.h"

#include <algorithm>
#include <tuple>

#include "annotate/variable.h"
#include "ir/at.h"
#include "ir/training.h"

namespace podium::annotate {
namespace {

bool is_earlier(const Spot& a, const Spot& b) {
  return std::tie(a.stage, a.phase) < std::tie(b.stage, b.phase);
}

std::int64_t weight_bytes(const ir::Value& value) {
  return value.constant || value.data_left_out ? bytes_of(value.type) : 0;
}

// Each phase gets the same share of the weights (of the ops when there are none). A weight counts at its
// first reader.
std::vector<int> greedy_phases(const ir::Graph& graph, int phases) {
  std::vector<bool> counted(graph.values.size(), false);
  std::vector<std::int64_t> before(graph.ops.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    before[i] = total;
    for (ir::ValueId id : graph.ops[i].inputs) {
      if (!id.valid() || counted[at(id)]) continue;
      counted[at(id)] = true;
      total += weight_bytes(graph[id]);
    }
  }
  std::vector<int> result(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const double share = total > 0 ? static_cast<double>(before[i]) / static_cast<double>(total)
                                   : static_cast<double>(i) / static_cast<double>(graph.ops.size());
    // A share that is a whole number of phases must not fall short of it by rounding.
    constexpr double kRounding = 1e-9;
    result[i] = std::min(static_cast<int>(share * phases + kRounding), phases - 1);
  }
  return result;
}

using MaybeSpots = std::vector<std::optional<Spot>>;

MaybeSpots told_phases(const ir::Graph& graph, const std::vector<Annotations>& annotations,
                       const Request& request) {
  MaybeSpots spots(annotations.size());
  const bool greedy = std::none_of(annotations.begin(), annotations.end(),
                                   [](const Annotations& op) { return op.phase.has_value(); });
  const std::vector<int> phases = greedy ? greedy_phases(graph, request.phases) : std::vector<int>();
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const std::optional<int> phase = greedy ? phases[i] : annotations[i].phase;
    if (phase) spots[i] = Spot{annotations[i].processor.value_or(*phase % request.phase_stages), 0, *phase};
  }
  return spots;
}

MaybeSpots told_processors(const std::vector<Annotations>& annotations, const Request& request) {
  MaybeSpots spots(annotations.size());
  const bool inferred = infers_stages(annotations, request);
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const Annotations& op = annotations[i];
    if (!op.processor) continue;
    if (!request.pipelining) {
      spots[i] = Spot{*op.processor, 0, 0};
    } else if (inferred || op.stage) {
      spots[i] = Spot{*op.processor, inferred ? *op.processor : *op.stage, 0};
    }
  }
  return spots;
}

void inherit_from_producers(const ir::Graph& graph, MaybeSpots& spots) {
  const auto producer = producers(graph);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (spots[i]) continue;
    for (ir::ValueId id : graph.ops[i].inputs) {
      if (!id.valid() || !producer[at(id)].valid()) continue;
      const auto& from = spots[producer[at(id)].index];
      if (from && (!spots[i] || is_earlier(*spots[i], *from))) spots[i] = from;
    }
  }
}

void inherit_from_consumers(const ir::Graph& graph, MaybeSpots& spots) {
  MaybeSpots first_reader(graph.values.size());
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const ir::Op& op = graph.ops[i];
    const bool missing = !spots[i];
    for (ir::ValueId id : op.outputs) {
      if (!missing || !id.valid() || !first_reader[at(id)]) continue;
      if (!spots[i] || is_earlier(*first_reader[at(id)], *spots[i])) spots[i] = first_reader[at(id)];
    }
    if (!spots[i]) continue;
    for (ir::ValueId id : op.inputs) {
      if (!id.valid()) continue;
      std::optional<Spot>& reader = first_reader[at(id)];
      if (!reader || is_earlier(*spots[i], *reader)) reader = spots[i];
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

std::vector<Annotations> read_all(const ir::Graph& graph) {
  std::vector<Annotations> all;
  all.reserve(graph.ops.size());
  for (const ir::Op& op : graph.ops) {
    try {
      all.push_back(read_annotations(op));
    } catch (const Error& error) {
      throw error.at(graph.describe(op));
    }
  }
  return all;
}

bool infers_stages(const std::vector<Annotations>& annotations, const Request& request) {
  if (!request.pipelining) return false;
  return request.mode == Mode::Auto ||
         std::none_of(annotations.begin(), annotations.end(),
                      [](const Annotations& op) { return op.stage.has_value(); });
}

Spots find_spots(const ir::Graph& graph, const std::vector<Annotations>& annotations,
                 const Request& request) {
  if (request.mode == Mode::Off) return {std::vector<Spot>(graph.ops.size()), {}};
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
  for (std::size_t i = 0; i < spots.size(); ++i) {
    if (!spots[i]) result.untold.push_back(i);
    result.of_ops.push_back(spots[i] ? *spots[i] : first.value_or(Spot{}));
    if (phased && annotations[i].processor) result.of_ops.back().processor = *annotations[i].processor;
  }
  return result;
}

std::vector<bool> outer_ops(const ir::Graph& graph) {
  std::vector<bool> outer;
  for (const ir::Op& op : graph.ops) outer.push_back(ir::is_outer(op));
  return outer;
}

void check_order(const ir::Graph& graph, const std::vector<Spot>& spots, const std::vector<bool>& skip) {
  const auto producer = producers(graph);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (ir::ValueId id : graph.ops[i].inputs) {
      if (!id.valid() || !producer[at(id)].valid()) continue;
      const auto from = static_cast<std::size_t>(producer[at(id)].index);
      if (!skip.empty() && (skip[from] || skip[i])) continue;
      const auto error = [&](std::string_view what, int produced, int consumed) {
        return decreases(graph, id, graph.ops[from], graph.ops[i], what, produced, consumed);
      };
      if (spots[from].stage > spots[i].stage)
        throw error("pipeline stage", spots[from].stage, spots[i].stage);
      if (spots[from].phase > spots[i].phase)
        throw error("execution phase", spots[from].phase, spots[i].phase);
    }
  }
}

std::string list(const ir::Graph& graph, const std::vector<std::size_t>& ops) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(ops.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + graph.describe(graph.ops[ops[i]]);
  }
  if (ops.size() > kShown) text += fmt::format(" and {} more", ops.size() - kShown);
  return text;
}

}  // namespace podium::annotate
