// The order of ops is: those of the first copy, those of the second one, the sums of what both have added up,
// and what happens once per update.
//
//   first    a_next = Add(a, g)      processor r              update  w_next = Sub(w, a + a')   processor r
//   second   a'_next = Add(a', g')   processor p - 1 - r              a, a' = 0                 r, p - 1 - r
#include "executor/lower/graph/add_second_copy.h"

#include <algorithm>
#include <utility>

#include "ir/ops/group_exchange.h"
#include "ir/random_draws.h"
#include "ir/zero_constants.h"

namespace podium::lower {
namespace {

using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::OpId;
using ir::OpPlacement;
using ir::ValueId;

class SecondCopy {
 public:
  explicit SecondCopy(PlacedGraph& placed)
      : placed_(placed),
        graph_(placed.graph()),
        in_second_(std::ssize(graph_.values)),
        for_update_(std::ssize(graph_.values)),
        zeros_(graph_) {}

  void add() {
    check_sums();
    share_variables();
    const IdMap<OpId, PlacedOp> ops = placed_.take_ops();
    for (const PlacedOp& one : ops) {
      if (!one.is_outer()) placed_.append(in_turn(one.op, 0), one.place);
    }
    for (const PlacedOp& one : ops) {
      if (!one.is_outer()) placed_.append(copied(one.op), mirrored(one.place));
    }
    add_outputs();
    add_sums();
    for (const PlacedOp& one : ops) {
      if (one.is_outer()) placed_.append(reading_both(one.op), one.place);
    }
    placed_.placement.stages *= 2;
    placed_.copies = 2;
  }

 private:
  // Where micro-batches add up, nothing else of a micro-batch may read the sum, which each copy has in part.
  void check_sums() const {
    const auto makers = producers(graph_);
    const auto readers = consumers(graph_);
    IdMap<ValueId, int> outputs(std::ssize(graph_.values), 0);
    for (const ValueId id : graph_.outputs) ++outputs[id];
    const auto reads_in_micro_batch = [&](ValueId id) {
      return std::ranges::count_if(readers[id], [&](OpId op) { return !placed_.is_outer(op); });
    };
    for (const ir::Update& update : placed_.training.updates) {
      if (update.outer) continue;
      const ValueId sum = graph_.outputs[update.output];
      const Op& maker = graph_[makers[sum]];
      const bool adds = maker.is("Add") && std::ranges::count(maker.inputs, update.variable) == 1;
      if (adds && outputs[sum] == 1 && readers[sum].empty() && reads_in_micro_batch(update.variable) == 1)
        continue;
      throw Error(
          "variable '{}': two copies of the model cannot both change it, micro-batches that only add to it are "
          "needed",
          graph_[update.variable].name);
    }
  }

  // Variables and hyper-parameters are the same for both, inputs from the host are not.
  void share_variables() {
    for (const ir::Variable& variable : placed_.training.variables)
      in_second_[variable.value] = variable.value;
    for (const ir::HyperParameter& one : placed_.training.hyper_parameters) in_second_[one.value] = one.value;
    const std::vector<ValueId> inputs = graph_.inputs;
    for (const ValueId input : inputs) {
      if (!in_second_[input].valid()) add_input(input);
    }
    const std::vector<ir::Update> updates = placed_.training.updates;
    for (const ir::Update& update : updates) {
      if (!update.outer) add_variable(update.variable);
    }
  }

  void add_input(ValueId first) {
    const ValueId second = twin(first);
    graph_.inputs.push_back(second);
    placed_.in_first_copy[second] = first;
  }

  void add_variable(ValueId first) {
    ir::Training& training = placed_.training;
    in_second_[first] = graph_.add_value(graph_.fresh_name(graph_[first].name), graph_[first].type);
    graph_.inputs.push_back(in_second_[first]);
    const auto found = std::ranges::find(training.variables, first, &ir::Variable::value);
    const ValueId weight = found->weight;
    training.variables.push_back({.value = in_second_[first],
                                  .kind = ir::VariableKind::Accumulator,
                                  .initial = *graph_[zeros_like(first)].constant,
                                  .weight = weight,
                                  .state = found->state});
    const auto reduced = std::ranges::find(training.reduced, first);
    if (reduced != training.reduced.end()) training.reduced.insert(reduced + 1, in_second_[first]);
  }

  ValueId zeros_like(ValueId id) { return zeros_.of(graph_[id].type.element, graph_[id].type.dims); }

  // The value of the second copy; constants are the same for both.
  ValueId twin(ValueId first) {
    if (!first.valid()) return first;
    ValueId& second = in_second_[first];
    if (!second.valid()) {
      const ir::Value& value = graph_[first];
      if (value.constant || value.data_left_out) return second = first;
      const std::string name = value.name;
      const ir::Type type = value.type;
      second = graph_.add_value(graph_.fresh_name(name), type);
    }
    return second;
  }

  Op copied(Op op) {
    for (ValueId& id : op.inputs) id = twin(id);
    for (ValueId& id : op.outputs) id = twin(id);
    if (ir::exchanges_in_group(op)) {
      ir::IntList processors = ir::attribute<ir::IntList>(op, ir::kGroupProcessors);
      for (std::int64_t& one : processors) one = opposite(static_cast<int>(one));
      ir::set_attribute(op, ir::kGroupProcessors, std::move(processors));
    }
    return in_turn(std::move(op), 1);
  }

  // Even micro-batches are the first copy's, odd ones the second's.
  static Op in_turn(Op op, int copy) {
    ir::edit_random_ops(op, [&](Op& one) { ir::set_turn(one, {.copies = 2, .copy = copy}); });
    return op;
  }

  int opposite(int processor) const { return placed_.placement.processors - 1 - processor; }
  OpPlacement mirrored(OpPlacement place) const {
    place.processor = opposite(place.processor);
    place.stage += placed_.placement.stages;
    return place;
  }

  // Those of updates are the first copy's.
  void add_outputs() {
    ir::Training& training = placed_.training;
    const auto makers = producers(graph_);
    const std::size_t before = graph_.outputs.size();
    std::vector<bool> is_update(before, false);
    for (const ir::Update& update : training.updates) is_update[update.output] = true;
    for (std::size_t i = 0; i < before; ++i) {
      const ValueId first = graph_.outputs[i];
      if (is_update[i] || !makers[first].valid()) continue;
      placed_.in_first_copy[in_second_[first]] = first;
      graph_.outputs.push_back(in_second_[first]);
      if (training.output_axes.empty()) continue;
      training.output_axes.resize(graph_.outputs.size());
      training.output_axes.back() = training.output_axes[i];
    }
  }

  // Both copies' sums, made where the first copy's is; the second one is zero again then.
  void add_sums() {
    const auto makers = producers(graph_);
    const std::vector<ir::Update> updates = placed_.training.updates;
    for (const ir::Update& update : updates) {
      if (update.outer) continue;
      const ValueId first = update.variable;
      const ValueId second = in_second_[first];
      const ValueId next = in_second_[graph_.outputs[update.output]];
      const auto place = [&](ValueId made) {
        return in_context(placed_.place_of(makers[made], made), ir::Context::Update);
      };
      for_update_[first] = graph_.add_value(graph_.fresh_name(graph_[first].name), graph_[first].type);
      placed_.append(
          {.spec = ir::find_op("", "Add"), .inputs = {first, second}, .outputs = {for_update_[first]}},
          place(graph_.outputs[update.output]));
      const ValueId zeros =
          placed_.append_copy(zeros_like(second), graph_.fresh_name(graph_[second].name), place(next));
      become(second, next, ir::Context::MicroBatch);
      become(second, zeros, ir::Context::Update);
    }
  }

  void become(ValueId variable, ValueId value, ir::Context context) {
    placed_.training.updates.push_back(
        {.variable = variable, .output = graph_.outputs.size(), .outer = context == ir::Context::Update});
    graph_.outputs.push_back(value);
  }

  Op reading_both(Op op) const {
    for (ValueId& id : op.inputs) {
      if (!id.valid()) continue;
      if (for_update_[id].valid()) {
        id = for_update_[id];
      } else if (in_second_[id].valid()) {
        id = in_second_[id];
      }
    }
    return op;
  }

  PlacedGraph& placed_;
  Graph& graph_;
  IdMap<ValueId, ValueId> in_second_;   ///< of values of the first copy
  IdMap<ValueId, ValueId> for_update_;  ///< of what micro-batches add to: the sum over both copies
  ir::ZeroConstants zeros_;
};

}  // namespace

void add_second_copy(PlacedGraph& placed) { SecondCopy(placed).add(); }

}  // namespace podium::lower
