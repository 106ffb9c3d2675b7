// Before and after, of a weight with gradients a and b of processors 0 and 1:
//
//   sum      = Sum(a, b)       ipu 0              sum_next  = Add(sum, a)     ipu 0
//   sum_next = Add(sum, sum')  ipu 0              sum2_next = Add(sum2, b)    ipu 1
//   w_next   = Sub(w, sum)     ipu 0, update      all = Add(sum, sum2)        ipu 0, update
//                                                 w_next = Sub(w, all)        ipu 0, update
//                                                 sum2 = 0                    ipu 1, update
//
// Casts between Sum and Add, and in front of Sum, are one of each summand to what the accumulator is of.
#include "executor/lower/graph/accumulate_where_made.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/zero_constants.h"

namespace podium::lower {
namespace {

using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::OpId;
using ir::OpPlacement;
using ir::ValueId;

// An input of a Sum.
struct Summand {
  ValueId input;
  OpId cast = {};  ///< that makes it for the Sum alone, where there is one
  ValueId value;   ///< in front of the cast
};

// Where a summand is made.
struct Site {
  int processor;
  int stage;

  auto operator<=>(const Site&) const = default;
};

Site site_of(const OpPlacement& place) { return {place.processor, place.stage}; }

// What is added to an accumulator.
struct Added {
  OpId add;
  std::vector<OpId> casts = {};  ///< behind the sum
  OpId sum = {};
  std::map<Site, std::vector<Summand>> far = {};  ///< by where they are made, if elsewhere
};

class LocalSums {
 public:
  LocalSums(PlacedGraph& placed, Exchanges exchanges)
      : placed_(placed),
        exchanges_(exchanges),
        graph_(placed.graph()),
        makers_(producers(graph_)),
        uses_(use_counts(graph_)),
        is_accumulator_(std::ssize(graph_.values), false),
        zeros_(graph_) {
    for (const ir::Variable& variable : placed.training.variables)
      is_accumulator_[variable.value] = variable.kind == ir::VariableKind::Accumulator;
  }

  void add() {
    const std::vector<ir::Update> updates = placed_.training.updates;
    for (const ir::Update& update : updates) {
      if (const auto added = find(update)) take_apart(update.variable, *added);
    }
    if (totals_.empty()) return;
    IdMap<OpId, PlacedOp> ops = placed_.take_ops();
    for (OpId id : ops.ids()) {
      if (ops[id].is_outer()) continue;
      if (no_longer_read_.contains(id)) continue;
      placed_.append(std::move(ops[id].op), ops[id].place);
      for (PlacedOp& one : local_[id]) placed_.append(std::move(one.op), one.place);
    }
    for (PlacedOp& one : outer_) placed_.append(std::move(one.op), one.place);
    for (PlacedOp& one : ops) {
      if (!one.is_outer()) continue;
      for (ValueId& id : one.op.inputs) {
        if (const auto total = totals_.find(id); total != totals_.end()) id = total->second;
      }
      placed_.append(std::move(one.op), one.place);
    }
  }

 private:
  // The maker of a value that nothing else reads.
  OpId only_maker(ValueId id) const {
    return id.valid() && makers_[id].valid() && uses_[id] == 1 ? makers_[id] : OpId{};
  }

  std::optional<Added> find(const ir::Update& update) const {
    if (update.outer || !is_accumulator_[update.variable]) return std::nullopt;
    Added found{.add = only_maker(graph_.outputs[update.output])};
    if (!found.add.valid() || !graph_[found.add].is("Add")) return std::nullopt;
    const std::vector<ValueId>& inputs = graph_[found.add].inputs;
    if (inputs[0] != update.variable) return std::nullopt;
    found.sum = only_maker(inputs[1]);
    while (found.sum.valid() && graph_[found.sum].is("Cast")) {
      found.casts.push_back(found.sum);
      found.sum = only_maker(graph_[found.sum].inputs[0]);
    }
    if (!found.sum.valid() || placed_.is_outer(found.sum)) return std::nullopt;
    const Op& sum = graph_[found.sum];
    if (!sum.is("Sum") && !sum.is("Add")) return std::nullopt;
    const Site here = site_of(placed_[found.add]);
    for (ValueId id : sum.inputs) {
      // What only stretches over the others is no gradient of its own.
      if (graph_[id].type != graph_[sum.outputs[0]].type) return std::nullopt;
      const Summand summand = summand_of(id);
      if (!makers_[summand.value].valid()) return std::nullopt;
      const Site made_at = site_of(placed_.place_of(makers_[summand.value], summand.value));
      if (made_at == here) continue;
      if (exchanges_ == Exchanges::Apart || made_at.processor == here.processor)
        found.far[made_at].push_back(summand);
    }
    std::size_t apart = 0;
    for (const auto& [site, summands] : found.far) apart += summands.size();
    if (apart == 0 || apart == sum.inputs.size()) return std::nullopt;
    return found;
  }

  Summand summand_of(ValueId input) const {
    const OpId maker = only_maker(input);
    if (!maker.valid() || !graph_[maker].is("Cast")) return {.input = input, .value = input};
    return {.input = input, .cast = maker, .value = graph_[maker].inputs[0]};
  }

  void take_apart(ValueId accumulator, const Added& added) {
    const ir::Type type = graph_[accumulator].type;
    const OpPlacement at_update = in_context(placed_[added.add], ir::Context::Update);
    ValueId total = accumulator;
    for (const auto& [site, summands] : added.far) {
      const ValueId last = summands.back().value;
      const OpPlacement place = placed_.place_of(makers_[last], last);
      const ValueId own = add_variable(accumulator);
      ValueId sum = own;
      OpId behind = makers_[summands.front().value];
      for (const Summand& summand : summands) {
        std::erase(graph_[added.sum].inputs, summand.input);
        if (summand.cast.valid()) no_longer_read_.insert(summand.cast);
        behind = std::max(behind, makers_[summand.value]);
        std::vector<PlacedOp>& ops = local_[behind];
        sum = add_op("Add", {sum, as(type, summand.value, ops, place)}, type, own, ops, place);
      }
      become(own, sum, ir::Context::MicroBatch);
      // Read where it is, it is reduced there, and goes as what is left of it.
      const OpPlacement there = in_context(place, ir::Context::Update);
      const ValueId read = add_op("Identity", {own}, type, own, outer_, there);
      const ValueId all = add_op("Add", {total, read}, type, accumulator, outer_, at_update);
      const ValueId zeros = zeros_.of(type.element, type.dims);
      become(own, add_op("Identity", {zeros}, type, own, outer_, there), ir::Context::Update);
      total = all;
    }
    totals_[accumulator] = total;
    add_what_is_left(added, type);
  }

  // One value is added as it is.
  void add_what_is_left(const Added& added, const ir::Type& type) {
    const Op& sum = graph_[added.sum];
    if (sum.inputs.size() > 1) return;
    const Summand left = summand_of(sum.inputs[0]);
    no_longer_read_.insert(added.sum);
    no_longer_read_.insert(added.casts.begin(), added.casts.end());
    if (left.cast.valid()) no_longer_read_.insert(left.cast);
    graph_[added.add].inputs[1] = as(type, left.value, local_[makers_[left.value]], placed_[added.add]);
  }

  ValueId as(const ir::Type& type, ValueId id, std::vector<PlacedOp>& ops, const OpPlacement& place) {
    if (graph_[id].type.element == type.element) return id;
    return add_op("Cast", {id}, type, id, ops, place, {{"to", static_cast<std::int64_t>(type.element)}});
  }

  ValueId add_op(std::string_view name, std::vector<ValueId> inputs, const ir::Type& type, ValueId like,
                 std::vector<PlacedOp>& ops, const OpPlacement& place,
                 std::vector<ir::Attribute> attributes = {}) {
    const ValueId made = graph_.add_value(graph_.fresh_name(graph_[like].name), type);
    ops.push_back({{.spec = ir::find_op("", name),
                    .inputs = std::move(inputs),
                    .outputs = {made},
                    .attributes = std::move(attributes)},
                   place});
    return made;
  }

  ValueId add_variable(ValueId first) {
    ir::Training& training = placed_.training;
    const ir::Type type = graph_[first].type;
    const ValueId own = graph_.add_value(graph_.fresh_name(graph_[first].name), type);
    graph_.inputs.push_back(own);
    if (!training.input_axes.empty()) training.input_axes.resize(graph_.inputs.size());
    const ValueId zeros = zeros_.of(type.element, type.dims);
    ir::Variable variable = *std::ranges::find(training.variables, first, &ir::Variable::value);
    variable.value = own;
    variable.initial = *graph_[zeros].constant;
    training.variables.push_back(std::move(variable));
    const auto reduced = std::ranges::find(training.reduced, first);
    if (reduced != training.reduced.end()) training.reduced.insert(reduced + 1, own);
    return own;
  }

  void become(ValueId variable, ValueId value, ir::Context context) {
    ir::Training& training = placed_.training;
    training.updates.push_back(
        {.variable = variable, .output = graph_.outputs.size(), .outer = context == ir::Context::Update});
    graph_.outputs.push_back(value);
    if (!training.output_axes.empty()) training.output_axes.resize(graph_.outputs.size());
  }

  PlacedGraph& placed_;
  const Exchanges exchanges_;
  Graph& graph_;
  const IdMap<ValueId, OpId> makers_;
  const IdMap<ValueId, int> uses_;
  IdMap<ValueId, bool> is_accumulator_;
  ir::ZeroConstants zeros_;
  /// Behind the op that makes what they add, which is free then.
  std::map<OpId, std::vector<PlacedOp>> local_;
  std::set<OpId> no_longer_read_;
  std::vector<PlacedOp> outer_;        ///< in front of those of the update
  std::map<ValueId, ValueId> totals_;  ///< of accumulators: what updates read in their place
};

}  // namespace

void accumulate_where_made(PlacedGraph& placed, Exchanges exchanges) { LocalSums(placed, exchanges).add(); }

}  // namespace podium::lower
