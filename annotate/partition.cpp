// The graph is walked once, in its order, stage by stage. For each value it is known which device holds which
// box of it (Held): a part, a summand of it, or, of what the host brings and of constants, all of it
// anywhere.
//
//   plan    An op is cut along loops (ir/ops/loops.h): for each a range of iterations a device. Operands are
//           asked in turn what they would have: what the node says, variables that are cut, then values by
//           their size, or in another order where that leaves no sum and moves less. One whose cut is no
//           range of a loop, or would leave some combination of ranges to no device, is brought into form
//           instead.
//   bring   A device gets the box that it needs (holdings.h).
//   emit    A copy of the op a device, with sizes of its own. What a loop of sums gives are summands;
//           those of a mean are weighted with their share of the iterations. Rows of a table that lie on
//           several devices are picked where the index is the device's own, else they are zeros.
#include "annotate/partition.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "annotate/annotations.h"
#include "annotate/cut_cost.h"
#include "annotate/holdings.h"
#include "annotate/op_steps.h"
#include "ir/accumulated_values.h"
#include "ir/bodies.h"
#include "ir/filled.h"
#include "ir/infer.h"
#include "ir/ops/attention.h"
#include "ir/ops/loops.h"
#include "ir/passes/make_training.h"
#include "ir/random_draws.h"
#include "ir/zero_tensor.h"

namespace podium::annotate {
namespace {

using ir::Graph;
using ir::LoopResult;
using ir::Op;
using ir::Tensor;
using ir::Type;
using ir::TypedOp;
using ir::ValueId;

class Partitioner {
 public:
  Partitioner(const ir::Training& whole, const ShardingPlan& plan)
      : training_(whole),
        whole_(whole.graph),
        ops_(whole.graph.ops),
        makers_(producers(whole.graph)),
        readers_(consumers(whole.graph)),
        tensors_(tensors_of_gradients(whole.graph)),
        accumulated_(ir::accumulated_values(whole)),
        is_plain_output_(plain_outputs(whole)),
        plan_(plan),
        said_(plan.ops),
        held_(whole_, plan, made_.training.graph) {}

  Partitioned run() {
    out().name = whole_.name;
    hold_inputs();
    made_.ops.resize(ops_.size(), Cut::Whole);
    Place last;
    for (std::size_t i : in_order_of_stages()) {
      const Op& op = ops_[i];
      if (std::tuple(place_of(i).phase, place_of(i).stage) != std::tuple(last.phase, last.stage))
        join_outputs();
      last = place_of(i);
      at_ = i;
      held_.set_node(op.name, place_of(i));
      try {
        add_op(op);
      } catch (const Error& error) {
        throw error.at(whole_.describe(op));
      }
      for (ValueId id : outputs_of(op)) {
        if (is_plain_output_[id]) to_join_.push_back(id);
      }
    }
    join_outputs();
    finish();
    made_.reshardings = held_.take_reshardings();
    return std::move(made_);
  }

 private:
  // Outputs that are no update's.
  static ir::IdMap<ValueId, bool> plain_outputs(const ir::Training& whole) {
    ir::IdMap<ValueId, bool> found(std::ssize(whole.graph.values), false);
    for (ValueId id : whole.graph.outputs) found[id] = true;
    for (const ir::Update& update : whole.updates) found[whole.graph.outputs[update.output]] = false;
    return found;
  }

  // Optimizing has given the graph other ids: names are what is left of whose gradients values are.
  static std::map<ValueId, ValueId> tensors_of_gradients(const Graph& whole) {
    std::unordered_map<std::string_view, ValueId> by_name;
    for (ValueId id : whole.value_ids()) by_name.emplace(whole[id].name, id);
    std::map<ValueId, ValueId> found;
    for (ValueId id : whole.value_ids()) {
      const std::string_view name = whole[id].name;
      if (!name.starts_with(ir::kGradientOf)) continue;
      const auto tensor = by_name.find(name.substr(ir::kGradientOf.size()));
      if (tensor != by_name.end()) found.emplace(id, tensor->second);
    }
    return found;
  }

  Graph& out() { return made_.training.graph; }
  const Type& type(ValueId id) const { return whole_[id].type; }

  Place place_of(std::size_t op) const {
    if (plan_.placement.ops.empty()) return {};
    const ir::OpPlacement& told = plan_.placement.ops[op];
    return {told.processor, told.stage, told.phase};
  }

  // What is brought to a group for one op is there for those behind it, so stages and phases ascend.
  std::vector<std::size_t> in_order_of_stages() const {
    std::vector<std::size_t> order(ops_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      const Place place = place_of(i);
      const bool is_update = context_of(ops_[i]) == Context::Update;
      return is_update ? std::tuple(is_update, 0, 0) : std::tuple(is_update, place.phase, place.stage);
    });
    return order;
  }

  // ---- inputs and constants -----------------------------------------------------------------------------

  void hold_inputs() {
    for (std::size_t i = 0; i < training_.variables.size(); ++i)
      variable_of_.emplace(training_.variables[i].value, i);
    reduced_.insert(training_.reduced.begin(), training_.reduced.end());
    for (ValueId id : whole_.inputs) {
      if (variable_of_.contains(id)) {
        held_[id].is_undecided = true;
        held_[id].is_variable = true;
      } else {
        held_[id].everywhere = add_whole(id);
      }
    }
    for (ValueId id : whole_.value_ids()) {
      if (whole_[id].constant || whole_[id].data_left_out) held_[id].is_undecided = true;
    }
  }

  ValueId add_whole(ValueId id) {
    const ValueId made = out().add_value(whole_[id].name, type(id));
    out()[made] = whole_[id];
    return made;
  }

  bool is_variable(ValueId id) const { return variable_of_.contains(id); }
  const ir::Variable& variable(ValueId id) const { return training_.variables[variable_of_.at(id)]; }

  // A state or accumulator lies as its weight does, on the first device that has each part.
  void decide_state(ValueId id) {
    const ir::Variable& state = variable(id);
    const Held& weight = held_[state.weight];
    Held& held = held_[id];
    held.is_undecided = false;
    held.on.resize(plan_.devices);
    if (weight.everywhere.valid() || weight.is_undecided || type(id).dims != type(state.weight).dims) {
      held.on[0] = Piece{add_whole(id), whole_box(type(id).dims)};
      parts_[id] = {*held.on[0]};
      return;
    }
    std::set<Box> seen;
    for (int device = 0; device < plan_.devices; ++device) {
      const auto& of_weight = weight.on[device];
      if (of_weight && seen.insert(of_weight->box).second)
        held.on[device] = add_part(id, of_weight->box, device);
    }
    note_cut(id);
  }

  // A part of a variable is a variable of its own. Devices ask in ascending order.
  Piece add_part(ValueId id, const Box& box, int device) {
    std::vector<Piece>& parts = parts_[id];
    const auto [entry, is_new] = part_of_box_.try_emplace({id, box}, parts.size());
    if (!is_new) return parts[entry->second];
    const std::string name = fmt::format("{}/part{}", whole_[id].name, parts.size());
    const ValueId made = out().add_value(name, Type::tensor(type(id).element, dims_of(box)));
    first_device_.emplace(made, device);
    parts.push_back({made, box});
    return parts.back();
  }

  void note_cut(ValueId id) {
    CutVariable cut{.name = whole_[id].name, .type = type(id), .parts = {}};
    for (const Piece& part : parts_[id]) cut.parts.push_back({out()[part.value].name, part.box});
    made_.variables.push_back(std::move(cut));
  }

  // A weight, or a constant, is cut as its first reader wants it.
  void decide(ValueId id, const Boxes& wanted) {
    Held& held = held_[id];
    held.is_undecided = false;
    const Box all = whole_box(type(id).dims);
    const bool is_cut =
        std::ranges::any_of(wanted, [&](const auto& box) { return box.has_value() && *box != all; });
    const bool is_constant = !is_variable(id);
    if (!is_cut || is_constant) {
      held.everywhere = add_whole(id);
      if (!is_constant) parts_[id] = {{held.everywhere, all}};
      return;
    }
    held.on.resize(plan_.devices);
    for (int device = 0; device < plan_.devices; ++device) {
      if (wanted[device] && elements_of(*wanted[device]) > 0)
        held.on[device] = add_part(id, *wanted[device], device);
    }
    note_cut(id);
  }

  // ---- how an op is cut ---------------------------------------------------------------------------------

  [[noreturn]] void refuse(ValueId id, std::string_view what) const {
    throw Error("'{}' of {} found, a {} known before the run needed to cut tensors over devices",
                whole_[id].name, to_string(type(id)), what);
  }

  Boxes boxes_of(const ir::ShardingSpec& spec, ValueId id) const {
    if (type(id).element == ir::DataType::Undefined) refuse(id, "type");
    Boxes boxes(plan_.devices);
    for (const Shard& shard : layout_of(spec, type(id).dims)) {
      if (elements_of(shard.box) == 0) continue;
      for (std::int64_t device : shard.devices) boxes[device] = shard.box;
    }
    return boxes;
  }

  // What the node says comes first, then variables and the largest operands.
  OpCut plan_cut(const Op& op, const TypedOp& typed) const {
    OpCut cut(loops_of(typed), plan_.devices);
    if (ir::draws_in_turn(op) || (op.captures > 0 && !has_static_operands(typed))) {
      std::fill(cut.computes.begin() + 1, cut.computes.end(), false);
      return cut;
    }
    if (const std::optional<int> device = device_of_accumulator(op)) {
      std::fill(cut.computes.begin(), cut.computes.end(), false);
      cut.computes[*device] = true;
      return cut;
    }
    for (Side side : {Side::Input, Side::Output}) {
      for (const OperandSharding& said : said_of(op)) {
        const auto& operands = side == Side::Input ? op.inputs : op.outputs;
        if (said.side != side || said.place >= operands.size() || !operands[said.place].valid()) continue;
        const ValueId id = operands[said.place];
        const Followed followed = follow(cut, side, said.place, type(id).dims, boxes_of(said.spec, id));
        if (followed == Followed::Uncovered && side == Side::Input)
          throw Error(
              "with '{}' cut as its sharding spec says no device computes some of the results: a spec needed "
              "that fits those of the node's other inputs",
              whole_[id].name);
      }
    }
    const OpCut as_said = cut;
    const std::vector<std::size_t> order = inputs_by_weight(op);
    follow_inputs(op, order, cut);
    if (cut.pieces() == Pieces::Summands) avoid_sum(op, as_said, order, cut);
    if (cut.is_cut()) {
      run_once(op, cut);
    } else {
      run_whole(op, cut);
    }
    return cut;
  }

  void follow_inputs(const Op& op, const std::vector<std::size_t>& order, OpCut& cut) const {
    for (std::size_t i : order) {
      const Held& held = held_[op.inputs[i]];
      if (held.on.empty() || is_said(op, i)) continue;
      follow(cut, Side::Input, i, type(op.inputs[i]).dims, annotate::boxes_of(held));
    }
  }

  // Another value in front may leave nothing to be added up, at less cost: the gradient of a weight lies as
  // the weight does where its columns' gradients say how its product is cut, and rows that have been at their
  // experts come back, in place of summands of all tokens.
  void avoid_sum(const Op& op, const OpCut& as_said, const std::vector<std::size_t>& order,
                 OpCut& cut) const {
    const auto is_cut_value = [&](std::size_t i) {
      const Held& held = held_[op.inputs[i]];
      return !is_variable(op.inputs[i]) && !is_sum(held) && !held.on.empty();
    };
    for (std::size_t i : order) {
      if (!is_cut_value(i)) continue;
      std::vector<std::size_t> other = order;
      const auto first = std::ranges::find_if(other, is_cut_value);
      std::rotate(first, std::ranges::find(other, i), std::ranges::find(other, i) + 1);
      OpCut next = as_said;
      follow_inputs(op, other, next);
      if (next.is_cut() && next.pieces() == Pieces::Parts &&
          elements_moved(op, next) < elements_moved(op, cut))
        cut = std::move(next);
    }
  }

  // What the cut asks devices to bring of values that are there, and to add up of its results.
  std::int64_t elements_moved(const Op& op, const OpCut& cut) const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId id = op.inputs[i];
      if (!id.valid() || held_[id].on.empty() || is_sum(held_[id])) continue;
      count +=
          elements_to_bring(wanted_boxes(cut, Side::Input, i, type(id).dims), annotate::boxes_of(held_[id]));
    }
    if (cut.pieces() == Pieces::Parts) return count;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i].valid()) continue;
      const ir::Dims& dims = type(op.outputs[i]).dims;
      count += elements_to_add_up(wanted_boxes(cut, Side::Output, i, dims), ir::element_count(dims));
    }
    return count;
  }

  // Only weights may be read on several processors: what reads another variable runs on the first of those
  // devices that would compute the same.
  void run_once(const Op& op, OpCut& cut) const {
    const bool reads_own = std::ranges::any_of(inputs_of(op), [&](ValueId id) {
      return is_variable(id) && variable(id).kind != ir::VariableKind::Weight;
    });
    if (!reads_own) return;
    std::set<std::vector<int>> seen;
    const std::vector<std::vector<int>> of_devices = combinations(cut);
    for (int device = 0; device < plan_.devices; ++device) {
      if (cut.computes[device]) cut.computes[device] = seen.insert(of_devices[device]).second;
    }
  }

  // The device that has all of what micro-batches add to, where the op adds to it. What is added comes there
  // in one piece: so an accumulator does not travel, and replicas that hold a part of it each add theirs.
  std::optional<int> device_of_accumulator(const Op& op) const {
    if (context_of(op) == Context::Update) return std::nullopt;
    for (ValueId id : inputs_of(op)) {
      if (!accumulated_[id] || type(id).rank() == 0) continue;
      const Box all = whole_box(type(id).dims);
      const auto has_all = [&](const auto& piece) { return piece && piece->box == all; };
      const auto& on = held_[id].on;
      if (std::ranges::count_if(on, [](const auto& piece) { return piece.has_value(); }) != 1) continue;
      const auto found = std::ranges::find_if(on, has_all);
      if (found != on.end()) return static_cast<int>(found - on.begin());
    }
    return std::nullopt;
  }

  const std::vector<OperandSharding>& said_of(const Op& op) const {
    static const std::vector<OperandSharding> kNothing;
    const auto* place = ir::attribute_if<std::int64_t>(op, kShardingPlace);
    return place == nullptr ? kNothing : said_[*place];
  }

  bool is_said(const Op& op, std::size_t input) const {
    return std::ranges::any_of(said_of(op), [&](const OperandSharding& said) {
      return said.side == Side::Input && said.place == input;
    });
  }

  // Inputs that say how the op is cut: variables, then values by their size, the first of equal ones in
  // front; sums, which have to be added up anyhow, come last.
  std::vector<std::size_t> inputs_by_weight(const Op& op) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && type(op.inputs[i]).is_tensor()) order.push_back(i);
    }
    const auto rank = [&](std::size_t i) {
      const ValueId id = op.inputs[i];
      const int kind = is_variable(id) ? 0 : is_sum(held_[id]) ? 2 : 1;
      return std::pair(kind, -packed_bytes(type(id)));
    };
    std::ranges::stable_sort(order, {}, rank);
    return order;
  }

  // What updates a weight that all devices have runs on the first; so does what only it has the operands of.
  void run_whole(const Op& op, OpCut& cut) const {
    const bool is_update = context_of(op) == Context::Update;
    for (ValueId id : inputs_of(op)) {
      const Held& held = held_[id];
      // Only weights may be read on several processors.
      const bool is_own = is_variable(id) && (is_update || variable(id).kind != ir::VariableKind::Weight);
      if (is_own && (held.everywhere.valid() || held.is_undecided)) {
        std::fill(cut.computes.begin() + 1, cut.computes.end(), false);
      }
      if ((is_own || is_update) && !held.on.empty() && !is_sum(held)) {
        for (int device = 0; device < plan_.devices; ++device) {
          const bool has = held.on[device] && held.on[device]->box == whole_box(type(id).dims);
          if (!has && is_whole_somewhere(id)) cut.computes[device] = false;
        }
      }
    }
    if (std::ranges::count(cut.computes, true) == 0) cut.computes[0] = true;
    if (is_update && makes_number(op)) {
      const auto first = std::ranges::find(cut.computes, true);
      std::fill(std::next(first), cut.computes.end(), false);
    }
  }

  // Of what replicas reduce one device may add up parts and another one all of it, which is another order.
  bool makes_number(const Op& op) const {
    const auto is_number = [&](ValueId id) { return type(id).rank() == 0; };
    return std::ranges::all_of(outputs_of(op), is_number) && !std::ranges::all_of(inputs_of(op), is_number);
  }

  bool is_whole_somewhere(ValueId id) const {
    return std::ranges::any_of(
        held_[id].on, [&](const auto& piece) { return piece && piece->box == whole_box(type(id).dims); });
  }

  Boxes wanted_boxes(const OpCut& cut, Side side, std::size_t place, const ir::Dims& dims) const {
    Boxes boxes(plan_.devices);
    for (int device = 0; device < plan_.devices; ++device) {
      if (cut.computes[device]) boxes[device] = box_for(cut, side, place, dims, device);
    }
    return boxes;
  }

  // How a variable or constant lies from now on: parts do not overlap, so that one along which windows slide
  // stays whole.
  Boxes boxes_to_hold(const OpCut& cut, std::size_t input, const ir::Dims& dims) const {
    Boxes boxes = wanted_boxes(cut, Side::Input, input, dims);
    for (std::size_t l = 0; l < cut.loops.size(); ++l) {
      const ir::LoopAxis& at = cut.loops[l].inputs[input];
      if (cut.ranges[l].empty() || at.reach == ir::Reach::Own) continue;
      for (auto& box : boxes) {
        if (box) (*box)[at.axis] = {{0, dims[at.axis]}};
      }
    }
    return boxes;
  }

  // ---- ops ----------------------------------------------------------------------------------------------

  void add_op(const Op& op) {
    const TypedOp typed(whole_, op);
    for (ValueId id : inputs_of(op)) {
      if (held_[id].is_undecided && is_variable(id) && variable(id).weight.valid()) decide_state(id);
    }
    if (is_cut_along_steps(op)) return add_steps(op);
    OpCut cut = plan_cut(op, typed);
    if (passes_sums(op, cut)) return pass_sums(op, typed, cut);
    if (!cut.is_cut() && add_up_in_parts(op, typed)) cut = plan_cut(op, typed);
    if (cut.is_cut()) note_op(cut.pieces() == Pieces::Summands ? Cut::Summed : Cut::Apart);
    std::vector<std::vector<ValueId>> inputs;  // by device
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId id = op.inputs[i];
      if (!id.valid()) {
        inputs.emplace_back(plan_.devices);
        continue;
      }
      if (!type(id).is_static() && held_[id].everywhere == ir::kNoValue && !is_only_on_first(id))
        refuse(id, "size");
      const Boxes wanted = wanted_boxes(cut, Side::Input, i, type(id).dims);
      if (held_[id].is_undecided) decide(id, boxes_to_hold(cut, i, type(id).dims));
      make_views(id, wanted, context_of(op));
      inputs.push_back(held_.bring_all(id, wanted, context_of(op)));
    }
    const Pieces pieces = cut.pieces();
    for (ValueId id : outputs_of(op)) {
      held_[id].on.resize(plan_.devices);
      held_[id].pieces = pieces;
      held_[id].place = held_.place();
    }
    const std::vector<std::vector<int>> of_devices = combinations(cut);
    std::set<std::vector<int>> counted;
    for (int device = 0; device < plan_.devices; ++device) {
      // Of devices that compute the same summand one counts.
      if (!cut.computes[device] || (pieces != Pieces::Parts && !counted.insert(of_devices[device]).second))
        continue;
      std::vector<ValueId> own;
      for (const auto& of_input : inputs) own.push_back(of_input[device]);
      emit_part(op, typed, cut, device, std::move(own));
      if (std::ssize(out().ops) > plan_.most_ops)
        throw Error("more than {} ops of {} devices found, fewer devices needed", plan_.most_ops,
                    plan_.devices);
    }
    shape_outputs(op);
  }

  // Where nothing says how an op is cut that reads a sum, the sum is added up in parts if it can be: as the
  // tensor lies of which it is the gradient, or of which the op makes the gradient from it, else as another
  // reader of the sum wants it. It lies so from then on.
  bool add_up_in_parts(const Op& op, const TypedOp& typed) {
    bool added = false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId id = op.inputs[i];
      if (!id.valid() || held_[id].pieces != Pieces::Summands || !type(id).is_static()) continue;
      if (held_[id].place.group != held_.place().group) continue;
      std::optional<Boxes> boxes = boxes_of_tensor(id);
      if (!boxes) boxes = boxes_by_outputs(op, typed, i);
      if (!boxes) boxes = boxes_of_another_reader(id);
      if (!boxes) continue;
      held_.take_form(id, *boxes, context_of(op));
      added = true;
    }
    return added;
  }

  // Of the tensor whose gradient this is, where each device has a part of its own.
  std::optional<Boxes> boxes_of_tensor(ValueId gradient) const {
    const auto found = tensors_.find(gradient);
    if (found == tensors_.end() || type(found->second).dims != type(gradient).dims) return std::nullopt;
    const Held& held = held_[found->second];
    if (held.on.empty() || is_sum(held)) return std::nullopt;
    Boxes boxes = annotate::boxes_of(held);
    if (!shares_out(boxes, ir::element_count(type(gradient).dims))) return std::nullopt;
    return boxes;
  }

  std::optional<Boxes> boxes_by_outputs(const Op& op, const TypedOp& typed, std::size_t input) const {
    const ir::Dims& dims = type(op.inputs[input]).dims;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const auto boxes = op.outputs[i].valid() ? boxes_of_tensor(op.outputs[i]) : std::nullopt;
      if (!boxes) continue;
      OpCut cut(loops_of(typed), plan_.devices);
      follow(cut, Side::Output, i, type(op.outputs[i]).dims, *boxes);
      Boxes wanted = wanted_boxes(cut, Side::Input, input, dims);
      if (shares_out(wanted, ir::element_count(dims))) return wanted;
    }
    return std::nullopt;
  }

  std::optional<Boxes> boxes_of_another_reader(ValueId id) const {
    if (!readers_.contains(id)) return std::nullopt;
    for (ir::OpId reader : readers_[id]) {
      const auto place_in_order = static_cast<std::size_t>(reader.number());
      const Op& op = ops_[place_in_order];
      if (place_in_order == at_ || place_of(place_in_order).group != held_.place().group) continue;
      const TypedOp typed(whole_, op);
      OpCut cut(loops_of(typed), plan_.devices);
      std::vector<std::size_t> order = inputs_by_weight(op);
      std::erase_if(order, [&](std::size_t i) { return is_sum(held_[op.inputs[i]]); });
      follow_inputs(op, order, cut);
      const std::size_t place = std::ranges::find(op.inputs, id) - op.inputs.begin();
      Boxes boxes = wanted_boxes(cut, Side::Input, place, type(id).dims);
      if (shares_out(boxes, ir::element_count(type(id).dims))) return boxes;
    }
    return std::nullopt;
  }

  // Where all who want all of a value have been brought all of what it is a view of, they make it themselves:
  // a product's gradients read what flows as it is, and as a matrix.
  void make_views(ValueId id, const Boxes& wanted, Context context) {
    const auto is_there = [&](ValueId value) {
      const Box all = whole_box(type(value).dims);
      for (int device = 0; device < plan_.devices; ++device) {
        if (wanted[device] && !held_.known(value, device, all, context)) return false;
      }
      return true;
    };
    if (held_[id].on.empty() || is_sum(held_[id]) || held_[id].is_variable || !type(id).is_static()) return;
    const Box all = whole_box(type(id).dims);
    if (!std::ranges::all_of(wanted, [&](const auto& box) { return !box || *box == all; })) return;
    if (std::ranges::none_of(annotate::boxes_of(held_[id]),
                             [&](const auto& box) { return box && *box != all; }))
      return;
    std::vector<std::size_t> views;  // the last one first
    ValueId from = id;
    while (!is_there(from)) {
      const auto maker = makers_.contains(from) ? makers_[from] : ir::OpId();
      if (!maker.valid()) return;
      views.push_back(static_cast<std::size_t>(maker.number()));
      const Op& op = ops_[views.back()];
      const bool is_view = is_one_of(op, kViews) && context_of(op) == context &&
                           std::ranges::all_of(op.inputs.begin() + 1, op.inputs.end(),
                                               [&](ValueId input) { return whole_.is_constant(input); });
      if (!is_view) return;
      from = op.inputs[0];
      if (held_[from].on.empty() || is_sum(held_[from]) || !type(from).is_static()) return;
    }
    for (std::size_t view : views | std::views::reverse) make_view(ops_[view], wanted, context);
  }

  void make_view(const Op& op, const Boxes& wanted, Context context) {
    std::vector<ir::Attribute> attributes = op.attributes;
    std::erase_if(attributes, [](const ir::Attribute& one) { return one.name == kShardingPlace; });
    for (int device = 0; device < plan_.devices; ++device) {
      if (!wanted[device]) continue;
      std::vector<ValueId> inputs;
      for (ValueId input : op.inputs)
        inputs.push_back(held_.bring(input, device, whole_box(type(input).dims), context));
      const ValueId made = held_.call(op.spec->name, std::move(inputs), device, context, attributes);
      held_.note_made(op.outputs[0], device, whole_box(type(op.outputs[0]).dims), context, made);
    }
  }

  // An input lies, or is said to lie, cut along an axis along which steps of the op can be cut, but not
  // itself.
  bool is_cut_along_steps(const Op& op) const {
    return std::ranges::any_of(axes_of_steps(whole_, op), [&](const InputAxis& at) {
      const ValueId id = op.inputs[at.input];
      const Ranges all{{0, type(id).dims[at.axis]}};
      const auto is_part = [&](const std::optional<Box>& box) { return box && (*box)[at.axis] != all; };
      return std::ranges::any_of(boxes_said_or_held(op, at.input), is_part);
    });
  }

  Boxes boxes_said_or_held(const Op& op, std::size_t input) const {
    const ValueId id = op.inputs[input];
    for (const OperandSharding& said : said_of(op)) {
      if (said.side == Side::Input && said.place == input) return boxes_of(said.spec, id);
    }
    return annotate::boxes_of(held_[id]);
  }

  // Of the steps of an op the first to be noted is the op itself.
  void note_op(Cut cut) {
    if (made_.ops[at_] == Cut::Whole) made_.ops[at_] = cut;
  }

  void add_steps(const Op& op) {
    note_op(Cut::InSteps);
    const std::int64_t known = std::ssize(whole_.values);
    const std::vector<Op> steps = steps_of(whole_, op);
    held_.grow();
    accumulated_.resize(std::ssize(whole_.values));
    for (std::int64_t i = known; i < std::ssize(whole_.values); ++i) {
      const ValueId id{static_cast<std::int32_t>(i)};
      held_[id].is_undecided = whole_.is_constant(id);
    }
    for (Op step : steps) {
      say_of_inputs(op, step);
      add_op(step);
    }
    shape_outputs(op);
  }

  // What the op says of its inputs holds for the steps that read them.
  void say_of_inputs(const Op& op, Op& step) {
    std::vector<OperandSharding> said;
    for (const OperandSharding& of_op : said_of(op)) {
      if (of_op.side != Side::Input) continue;
      for (std::size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] == op.inputs[of_op.place]) said.push_back({Side::Input, i, of_op.spec});
      }
    }
    if (said.empty()) return;
    ir::set_attribute(step, kShardingPlace, std::ssize(said_));
    said_.push_back(std::move(said));
  }

  // What is added to summands is added to the first of each box.
  void pass_sums(const Op& op, const TypedOp& typed, const OpCut& cut) {
    note_op(Cut::Passed);
    Boxes firsts;
    for (ValueId id : inputs_of(op)) {
      if (is_sum(held_[id]) && firsts.empty()) firsts = held_.first_of_each_box(id);
    }
    std::vector<std::vector<ValueId>> inputs;  // by device
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId id = op.inputs[i];
      if (is_sum(held_[id])) {
        inputs.push_back(own_values(id));
        continue;
      }
      Boxes wanted = wanted_boxes(cut, Side::Input, i, type(id).dims);
      for (int device = 0; device < plan_.devices; ++device) {
        if (!firsts[device] && is_one_of(op, kAdds)) wanted[device].reset();
      }
      if (held_[id].is_undecided) decide(id, wanted);
      inputs.push_back(held_.bring_all(id, wanted, context_of(op)));
    }
    Held& result = held_[op.outputs[0]];
    result.on.resize(plan_.devices);
    result.pieces = Pieces::Summands;
    result.place = held_.place();
    for (int device = 0; device < plan_.devices; ++device) {
      if (!has_sum_on(op, device)) continue;
      std::vector<ValueId> own;
      for (const auto& of_input : inputs) own.push_back(of_input[device]);
      if (firsts[device]) {
        emit_part(op, typed, cut, device, std::move(own));
      } else {
        const Box box = box_for(cut, Side::Output, 0, type(op.outputs[0]).dims, device);
        result.on[device] = Piece{without_others(op, typed, cut, device, std::move(own)), box};
      }
    }
    shape_outputs(op);
  }

  // The op of summands alone: its operands that are none are somebody else's to add.
  ValueId without_others(const Op& op, const TypedOp& typed, const OpCut& cut, int device,
                         std::vector<ValueId> own) {
    const bool is_second_alone = op.is("Sub") && !is_sum(held_[op.inputs[0]]);
    std::vector<ValueId> summands;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (is_sum(held_[op.inputs[i]])) summands.push_back(own[i]);
    }
    if (summands.size() == own.size() || !is_one_of(op, kAdds)) {
      emit_part(op, typed, cut, device, std::move(own));
      return held_[op.outputs[0]].on[device]->value;
    }
    if (is_second_alone) return held_.call("Neg", summands, device, context_of(op));
    return summands.size() == 1 ? summands[0] : held_.call("Sum", summands, device, context_of(op));
  }

  bool is_only_on_first(ValueId id) const {
    return !held_[id].on.empty() && held_[id].on[0] &&
           std::ranges::count_if(held_[id].on, [](const auto& piece) { return piece.has_value(); }) == 1;
  }

  bool has_sum_on(const Op& op, int device) const {
    return std::ranges::any_of(op.inputs, [&](ValueId id) {
      return id.valid() && is_sum(held_[id]) && held_[id].on[device].has_value();
    });
  }

  std::vector<ValueId> own_values(ValueId id) const {
    std::vector<ValueId> values(plan_.devices);
    for (int device = 0; device < plan_.devices; ++device) {
      if (held_[id].on[device]) values[device] = held_[id].on[device]->value;
    }
    return values;
  }

  static constexpr std::string_view kMoves[] = {"Identity", "Reshape",   "Transpose", "Squeeze",
                                                "Flatten",  "Unsqueeze", "Neg",       "ReduceSum"};
  static constexpr std::string_view kAdds[] = {"Add", "Sub", "Sum"};
  static constexpr std::string_view kViews[] = {"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  static bool is_one_of(const Op& op, std::span<const std::string_view> names) {
    return op.spec->domain.empty() && std::ranges::find(names, op.spec->name) != names.end();
  }

  // The op may work on summands: it adds to them, or moves or turns the sign of one.
  bool passes_sums(const Op& op, const OpCut& cut) const {
    std::vector<std::size_t> sums;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && is_sum(held_[op.inputs[i]])) sums.push_back(i);
    }
    if (sums.empty() || cut.pieces() != Pieces::Parts) return false;
    const bool moves = is_one_of(op, kMoves) && sums.size() == 1 && sums[0] == 0;
    const bool adds = is_one_of(op, kAdds);
    if (!moves && !adds) return false;
    // Each device that computes has a summand of each, and nobody else has.
    for (std::size_t i : sums) {
      const ValueId id = op.inputs[i];
      if (held_[id].pieces != Pieces::Summands) return false;
      if (held_[id].place.group != held_.place().group) return false;
      if (adds && type(id) != type(op.outputs[0])) return false;
      for (int device = 0; device < plan_.devices; ++device) {
        const auto& piece = held_[id].on[device];
        const auto& first = held_[op.inputs[sums[0]]].on[device];
        if (piece.has_value() != first.has_value()) return false;
        if (!piece) continue;
        if (!cut.computes[device]) return false;
        if (piece->box != box_for(cut, Side::Input, i, type(id).dims, device)) return false;
      }
    }
    return true;
  }

  void emit_part(const Op& op, const TypedOp& typed, const OpCut& cut, int device, std::vector<ValueId> own) {
    Op part = op;
    part.inputs = std::move(own);
    ir::remove_attribute(part, kShardingPlace);
    held_.put_on(part, device, context_of(op));
    std::vector<Box> boxes;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      boxes.push_back(op.outputs[i].valid() ? box_for(cut, Side::Output, i, type(op.outputs[i]).dims, device)
                                            : Box{});
    }
    fit_sizes(part, cut, device, boxes);
    if (cut.is_cut()) fit_windows(part, typed, cut, device);
    if (cut.is_cut()) name_axes(op, part);
    if (picks_rows(op, cut)) {
      hold(op.outputs[0], device, pick_rows(op, part, cut, device), boxes[0]);
      return;
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i].valid()) continue;
      Type local = type(op.outputs[i]);
      if (local.is_static()) local.dims = dims_of(boxes[i]);
      part.outputs[i] = out().add_value(out().fresh_part_name(whole_[op.outputs[i]].name), local);
    }
    if (op.spec->random && cut.is_cut())
      ir::set_box(part, {.whole = type(op.outputs[0]).dims, .ranges = boxes[0]});
    check_types(part, typed);
    out().ops.push_back(part);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i].valid()) continue;
      const Box kept = kept_box(cut, i, type(op.outputs[i]).dims, device);
      const ValueId made = trimmed(part.outputs[i], boxes[i], kept, device, context_of(op));
      hold(op.outputs[i], device, weighted(made, op, cut, device), kept);
    }
  }

  // What the device keeps of what it had to make.
  ValueId trimmed(ValueId value, const Box& made, const Box& kept, int device, Context context) {
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 0; axis < made.size(); ++axis) {
      if (made[axis] == kept[axis]) continue;
      const IndexRange place = places_in(made[axis], kept[axis]).front();
      starts.push_back(place.begin);
      ends.push_back(place.end);
      axes.push_back(std::int64_t(axis));
    }
    if (axes.empty()) return value;
    return held_.call("Slice", {value, held_.ints(starts), held_.ints(ends), held_.ints(axes)}, device,
                      context);
  }

  void hold(ValueId id, int device, ValueId value, const Box& box) {
    held_[id].on[device] = Piece{value, box};
  }

  // Rules of loops and infer functions say the same of a part's sizes.
  void check_types(const Op& part, const TypedOp& typed) {
    if (ir::has_body(part) || !has_static_operands(typed)) return;
    ir::InferContext inferred(out(), part);
    part.spec->infer(inferred);
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      if (!part.outputs[i].valid()) continue;
      const Type& local = out()[part.outputs[i]].type;
      IR_CHECK(inferred.output_types[i] == local, "a part of {} makes {}, {} needed", part.spec->name,
               to_string(inferred.output_types[i]), to_string(local));
    }
  }

  // What is not cut may have windows of a size that nobody knows.
  static void fit_windows(Op& part, const TypedOp& typed, const OpCut& cut, int device) {
    const auto slides = slides_of(typed);
    if (!slides.empty()) fit_slides(part, slides, parts_of_slides(cut, slides, device));
  }

  // A Squeeze that names no axes takes those of one element: of the whole, not of a part of one element.
  void name_axes(const Op& op, Op& part) {
    constexpr std::size_t kAxes = 1;
    if (!op.is("Squeeze") || (op.inputs.size() > kAxes && op.inputs[kAxes].valid())) return;
    const ir::Dims& dims = type(op.inputs[0]).dims;
    ir::Dims ones;
    for (std::int64_t axis = 0; axis < std::ssize(dims); ++axis) {
      if (dims[axis] == 1) ones.push_back(axis);
    }
    part.inputs.resize(kAxes + 1);
    part.inputs[kAxes] = held_.ints(ones);
  }

  // Sizes that an op has in an input or attribute; and what is added to a sum, which one part of it adds.
  void fit_sizes(Op& part, const OpCut& cut, int device, const std::vector<Box>& boxes) {
    if (!cut.is_cut()) return;
    if (part.is("Reshape") || part.is("Expand")) part.inputs[1] = held_.ints(dims_of(boxes[0]));
    if (part.is("Split") && part.inputs.size() > 1 && part.inputs[1].valid()) {
      const auto axis = ir::normalized_axis(ir::attribute<std::int64_t>(part, "axis"), std::ssize(boxes[0]));
      std::vector<std::int64_t> sizes;
      for (const Box& box : boxes) sizes.push_back(length(box[axis]));
      part.inputs[1] = held_.ints(sizes);
    }
    constexpr std::size_t kSizes = 3;
    if (part.is("Resize") && part.inputs.size() > kSizes && part.inputs[kSizes].valid())
      part.inputs[kSizes] = held_.ints(dims_of(boxes[0]));
    if (part.is("Gemm") || part.is("Conv") || part.is("ConvTranspose")) add_bias_once(part, cut, device);
    fit_counts(part, cut, device);
  }

  static void add_bias_once(Op& part, const OpCut& cut, int device) {
    if (part.inputs.size() < 3) return;
    for (std::size_t l = 0; l < cut.loops.size(); ++l) {
      const bool is_other = cut.loops[l].result == LoopResult::Summed && !cut.ranges[l].empty() &&
                            cut.ranges[l][device].front().begin != 0;
      if (is_other) part.inputs[2] = ir::kNoValue;
    }
  }

  // Groups of channels and heads, of which the part has as many as its loop over them has iterations.
  static void fit_counts(Op& part, const OpCut& cut, int device) {
    for (const std::string_view name : {"group", "num_groups"}) {
      if (const auto* count = ir::attribute_if<std::int64_t>(part, name)) {
        if (const auto own = iterations_along(cut, device, 1, *count))
          set_attribute(part, std::string(name), *own);
      }
    }
    constexpr int kFeatures = 2;
    if (part.is("RotaryEmbedding")) {
      const auto whole = ir::attribute<std::int64_t>(part, "num_heads");
      if (const auto own = iterations_along(cut, device, kFeatures, whole))
        set_attribute(part, "num_heads", *own);
    }
    if (!part.is("Attention")) return;
    say_places(part, cut, device);
    const auto* heads = ir::attribute_if<std::int64_t>(part, "kv_num_heads");
    if (heads == nullptr || *heads == 0) return;
    if (const auto own = iterations_along(cut, device, kFeatures, *heads)) {
      set_attribute(part, "q_num_heads", ir::attribute<std::int64_t>(part, "q_num_heads") / *heads * *own);
      set_attribute(part, "kv_num_heads", *own);
    }
  }

  // Which queries of all a part of an Attention has: they run along the first operand alone, beside the mask.
  static void say_places(Op& part, const OpCut& cut, int device) {
    using In = ir::AttentionInput;
    for (std::size_t l = 0; l < cut.loops.size(); ++l) {
      const ir::Loop& loop = cut.loops[l];
      if (cut.ranges[l].empty() || loop.inputs[In::kQ].axis <= 0 || loop.inputs[In::kK].axis != ir::kNoAxis)
        continue;
      ir::IntList ranges;
      for (const IndexRange& own : cut.ranges[l][device]) ranges.insert(ranges.end(), {own.begin, own.end});
      set_attribute(part, std::string(ir::kQueryRanges), std::move(ranges));
    }
  }

  // Of the loop over `extent` blocks of several elements along an axis of the first input, if it is cut.
  static std::optional<std::int64_t> iterations_along(const OpCut& cut, int device, int axis,
                                                      std::int64_t extent) {
    for (std::size_t l = 0; l < cut.loops.size(); ++l) {
      const ir::Loop& loop = cut.loops[l];
      const bool is_own = loop.inputs[0].axis == axis && loop.extent == extent && !loop.slide;
      const bool has_results = loop.outputs[0].axis != ir::kNoAxis && loop.result == LoopResult::Apart;
      if (is_own && has_results && !cut.ranges[l].empty()) return length(cut.ranges[l][device]);
    }
    return std::nullopt;
  }

  // A mean over some of the iterations counts by their number.
  ValueId weighted(ValueId value, const Op& op, const OpCut& cut, int device) {
    double share = 1;
    for (std::size_t l = 0; l < cut.loops.size(); ++l) {
      if (cut.loops[l].result != LoopResult::Averaged || cut.ranges[l].empty()) continue;
      share *= static_cast<double>(length(cut.ranges[l][device])) / static_cast<double>(cut.loops[l].extent);
    }
    if (share == 1) return value;
    const ValueId factor =
        out().add_constant(out().fresh_name("share"), ir::filled(out()[value].type.element, {}, share));
    return held_.call("Mul", {value, factor}, device, context_of(op));
  }

  // A Gather whose rows are on several devices.
  static bool picks_rows(const Op& op, const OpCut& cut) {
    return op.is("Gather") && cut.pieces() != Pieces::Parts;
  }

  ValueId pick_rows(const Op& op, const Op& part, const OpCut& cut, int device) {
    const Context context = context_of(op);
    const Type& data = type(op.inputs[0]);
    const std::int64_t axis = ir::normalized_axis(ir::attribute<std::int64_t>(op, "axis"), data.rank());
    Ranges own;
    for (std::size_t l = 0; l < cut.loops.size(); ++l) {
      if (cut.loops[l].result == LoopResult::Summed && !cut.ranges[l].empty()) own = cut.ranges[l][device];
    }
    const auto number = [&](std::int64_t value) {
      Tensor tensor = type(op.inputs[1]).element == ir::DataType::Int32
                          ? Tensor::scalar(static_cast<std::int32_t>(value))
                          : Tensor::scalar(value);
      return out().add_constant(out().fresh_name("row"), std::move(tensor));
    };
    const auto make = [&](std::string_view name, std::vector<ValueId> inputs) {
      return held_.call(name, std::move(inputs), device, context);
    };
    const ValueId given = part.inputs[1];
    const ValueId index = make(
        "Where", {make("Less", {given, number(0)}), make("Add", {given, number(data.dims[axis])}), given});
    ValueId is_own;
    ValueId place = number(0);
    std::int64_t before = 0;
    for (const IndexRange& range : own) {
      const ValueId is_here = make("And", {make("GreaterOrEqual", {index, number(range.begin)}),
                                           make("Less", {index, number(range.end)})});
      is_own = is_own.valid() ? make("Or", {is_own, is_here}) : is_here;
      place = make("Where", {is_here, make("Sub", {index, number(range.begin - before)}), place});
      before += range.end - range.begin;
    }
    const ValueId rows = held_.call("Gather", {part.inputs[0], place}, device, context, {{"axis", axis}});
    ir::Dims dims = out()[is_own].type.dims;
    dims.insert(dims.end(), data.rank() - axis - 1, 1);
    const ValueId mask = make("Reshape", {is_own, held_.ints(dims)});
    const ValueId zero = out().add_constant(out().fresh_name("zero"), ir::zeros(data.element, {}));
    const ValueId picked = make("Where", {mask, rows, zero});
    out()[picked].name = out().fresh_part_name(whole_[op.outputs[0]].name);
    return picked;
  }

  // Brings outputs into the form that the node says. What replicas reduce is summed up first.
  void shape_outputs(const Op& op) {
    for (const OperandSharding& said : said_of(op)) {
      if (said.side != Side::Output || said.place >= op.outputs.size()) continue;
      const ValueId id = op.outputs[said.place];
      if (id.valid()) held_.take_form(id, boxes_of(said.spec, id), context_of(op));
    }
    for (ValueId id : outputs_of(op)) {
      if (reduced_.contains(id) && is_sum(held_[id]))
        held_.take_form(id, held_.first_of_each_box(id), context_of(op));
    }
  }

  // ---- what the training says of the graph --------------------------------------------------------------

  // The parts of a variable; a variable that no op reads is whole.
  const std::vector<Piece>& parts_of(ValueId id) {
    if (held_[id].is_undecided) decide(id, Boxes(plan_.devices));
    return parts_.at(id);
  }

  void finish() {
    ir::Training& made = made_.training;
    for (std::size_t i = 0; i < whole_.inputs.size(); ++i) {
      const ValueId id = whole_.inputs[i];
      std::vector<ValueId> own{held_[id].everywhere};
      if (is_variable(id)) {
        own.clear();
        for (const Piece& part : parts_of(id)) own.push_back(part.value);
      }
      out().inputs.insert(out().inputs.end(), own.begin(), own.end());
      if (!training_.input_axes.empty())
        made.input_axes.insert(made.input_axes.end(), own.size(), training_.input_axes[i]);
    }
    for (const ir::Variable& variable : training_.variables) add_variable(variable);
    for (std::size_t i = 0; i < whole_.outputs.size(); ++i) add_output(i);
    add_reduced();
    made.reduces_by_mean = training_.reduces_by_mean;
    for (ir::HyperParameter one : training_.hyper_parameters) {
      one.value = held_[one.value].everywhere;
      if (one.weight.valid()) one.weight = parts_of(one.weight).front().value;
      made.hyper_parameters.push_back(one);
    }
    made.slices = training_.slices;
  }

  // What no update reads, as copies of a gradient that one device alone has a use for, need not be reduced,
  // nor made.
  void add_reduced() {
    ir::IdMap<ValueId, bool> live(std::ssize(out().values), false);
    for (ValueId id : out().outputs) live[id] = true;
    std::set<ValueId> read;
    std::vector<Op> ops;
    for (Op& op : out().ops | std::views::reverse) {
      const bool acts = op.outputs.empty();
      if (!acts && !any_of(outputs_of(op), live)) continue;
      for (ValueId id : inputs_of(op)) live[id] = true;
      if (context_of(op) == Context::Update) read.insert(op.inputs.begin(), op.inputs.end());
      ops.push_back(std::move(op));
    }
    out().ops.assign(std::move_iterator(ops.rbegin()), std::move_iterator(ops.rend()));
    const auto add = [&](ValueId id) {
      if (read.erase(id) > 0) made_.training.reduced.push_back(id);
    };
    for (ValueId id : training_.reduced) {
      if (held_[id].everywhere.valid()) add(held_[id].everywhere);
      for (const auto& piece : held_[id].on) {
        if (piece) add(piece->value);
      }
    }
  }

  void add_variable(const ir::Variable& variable) {
    for (const Piece& part : parts_of(variable.value)) {
      ir::Variable own = variable;
      own.value = part.value;
      if (variable.initial.defined()) {
        own.initial = part.box == whole_box(type(variable.value).dims) ? variable.initial
                                                                       : cut_out(variable.initial, part.box);
      }
      if (variable.weight.valid()) {
        const std::vector<Piece>& weights = parts_of(variable.weight);
        const auto of_box = part_of_box_.find({variable.weight, part.box});
        own.weight = weights[of_box == part_of_box_.end() ? 0 : of_box->second].value;
      }
      made_.training.variables.push_back(std::move(own));
    }
  }

  void add_output(std::size_t index) {
    ir::Training& made = made_.training;
    const ValueId id = whole_.outputs[index];
    const auto add = [&](ValueId value) {
      out().outputs.push_back(value);
      if (!training_.output_axes.empty()) made.output_axes.push_back(training_.output_axes[index]);
    };
    if (index == training_.loss) made.loss = out().outputs.size();
    bool is_update = false;
    for (const ir::Update& update : training_.updates) {
      if (update.output != index) continue;
      is_update = true;
      for (const Piece& part : parts_of(update.variable)) {
        made.updates.push_back({part.value, out().outputs.size(), update.outer});
        add(updated(id, update, part));
      }
    }
    if (is_update) return;
    const auto joined = outputs_.find(id);
    add(joined == outputs_.end() ? output(id) : joined->second);
  }

  // What a part of a variable becomes, on the device that computes it.
  ValueId updated(ValueId id, const ir::Update& update, const Piece& part) {
    if (held_[id].is_undecided) decide(id, Boxes(plan_.devices));
    const auto first = first_device_.find(part.value);
    const int device = first == first_device_.end() ? 0 : first->second;
    held_.set_node({}, held_[id].place);
    return held_.bring(id, device, part.box, update.outer ? Context::Update : Context::MicroBatch);
  }

  // Outputs are put together in the stage and phase in which they are made: ops behind these are brought
  // pieces that cannot be read here.
  void join_outputs() {
    for (ValueId id : std::exchange(to_join_, {})) outputs_.emplace(id, output(id));
  }

  // All of a value on one device, under its own name.
  ValueId output(ValueId id) {
    if (held_[id].is_undecided) decide(id, Boxes(plan_.devices));
    if (held_[id].everywhere.valid()) return held_[id].everywhere;
    Boxes wanted(plan_.devices);
    int device = 0;
    const Box all = whole_box(type(id).dims);
    for (int other = plan_.devices; other-- > 0;) {
      const auto& piece = held_[id].on[other];
      if (piece && !is_sum(held_[id]) && piece->box == all) device = other;
    }
    wanted[device] = all;
    held_.set_node({}, held_[id].place);
    const ir::OpId maker = makers_[id];
    const Context context = maker.valid() ? context_of(training_.graph[maker]) : Context::MicroBatch;
    const ValueId value = held_.bring_all(id, wanted, context)[device];
    out()[value].name = whole_[id].name;
    return value;
  }

  const ir::Training& training_;
  Graph whole_;                ///< with the values of steps that ops are written as
  const std::vector<Op> ops_;  ///< of the whole graph
  const ir::IdMap<ValueId, ir::OpId> makers_;
  const ir::IdMap<ValueId, std::vector<ir::OpId>> readers_;
  const std::map<ValueId, ValueId> tensors_;  ///< whose gradients values are
  ir::IdMap<ValueId, bool> accumulated_;
  std::size_t at_ = 0;  ///< the op that is being added
  const ir::IdMap<ValueId, bool> is_plain_output_;
  std::vector<ValueId> to_join_;        ///< outputs of this stage and phase
  std::map<ValueId, ValueId> outputs_;  ///< those that have been put together
  const ShardingPlan& plan_;
  std::vector<std::vector<OperandSharding>> said_;  ///< ShardingPlan::ops, and of steps
  Partitioned made_;
  Holdings held_;
  std::map<ValueId, std::size_t> variable_of_;                  ///< an input's place in Training::variables
  std::map<ValueId, std::vector<Piece>> parts_;                 ///< of variables that are decided
  std::map<std::pair<ValueId, Box>, std::size_t> part_of_box_;  ///< places in parts_ of those that are cut
  std::map<ValueId, int> first_device_;                         ///< that has a part
  std::set<ValueId> reduced_;
};

}  // namespace

Partitioned partition(const ir::Training& whole, const ShardingPlan& plan) {
  return Partitioner(whole, plan).run();
}

std::string_view name_of(ReshardKind kind) {
  constexpr std::string_view kKinds[] = {"all-reduce", "reduce-scatter", "reduce",
                                         "all-gather", "all-to-all",     "transfers"};
  return kKinds[static_cast<int>(kind)];
}

std::string to_string(const Resharding& resharding) {
  return fmt::format("{} needs '{}': {}, {} bytes",
                     resharding.node.empty() ? "the output" : fmt::format("'{}'", resharding.node),
                     resharding.tensor, name_of(resharding.kind), resharding.bytes);
}

}  // namespace podium::annotate
