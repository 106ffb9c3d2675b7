// Operands are asked in turn what they would have: what the node says, variables that are cut, turned ones
// too, then values by their size. Where the cut leaves sums, each value is tried in front of the others, and
// the cut that leaves none and moves least is taken, if it moves less than the first one with its sums.
#include "annotate/cut_planner.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "annotate/annotations.h"
#include "annotate/cut_cost.h"
#include "ir/accumulated_values.h"
#include "ir/ops/block_rounding.h"
#include "ir/ops/loops.h"
#include "ir/passes/make_training.h"
#include "ir/random_draws.h"

namespace podium::annotate {

using ir::Graph;
using ir::Op;
using ir::TypedOp;
using ir::ValueId;

namespace {

// From a sum to the gradient that is made of it: those of rotary positions take ten.
constexpr int kMostSteps = 16;

// Optimizing has given the graph other ids: names are what is left of whose gradients values are.
std::map<ValueId, ValueId> tensors_of_gradients(const Graph& whole) {
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

// Weights, and what is made of one of them for a micro-batch by ops that move or round elements.
ir::IdMap<ValueId, bool> weights_moved(const ir::Training& training) {
  ir::IdMap<ValueId, bool> found(std::ssize(training.graph.values), false);
  for (ValueId weight : weights_of(training)) found[weight] = true;
  for (const Op& op : training.graph.ops) {
    const bool moves = changes_form(op) || rounds_to_blocks(op);
    if (moves && context_of(op) == Context::MicroBatch && found[op.inputs[0]]) found[op.outputs[0]] = true;
  }
  return found;
}

}  // namespace

Place place_of(const ShardingPlan& plan, std::size_t op) {
  if (plan.placement.ops.empty()) return {};
  const ir::OpPlacement& told = plan.placement.ops[op];
  return {told.processor, told.stage, told.phase};
}

void refuse_unknown(const Graph& whole, ValueId id, std::string_view what) {
  throw Error("'{}' of {} found, a {} known before the run needed to cut tensors over devices",
              whole[id].name, to_string(whole[id].type), what);
}

Boxes wanted_boxes(const OpCut& cut, Side side, std::size_t place, const ir::Dims& dims) {
  Boxes boxes(cut.devices());
  for (int device = 0; device < cut.devices(); ++device) {
    if (cut.computes[device]) boxes[device] = box_for(cut, side, place, dims, device);
  }
  return boxes;
}

Boxes boxes_to_hold(const OpCut& cut, std::size_t input, const ir::Dims& dims) {
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

CutPlanner::CutPlanner(const ir::Training& training, const Graph& whole, const ShardingPlan& plan,
                       const Holdings& held)
    : training_(training),
      whole_(whole),
      plan_(plan),
      held_(held),
      readers_(consumers(training.graph)),
      tensors_(tensors_of_gradients(training.graph)),
      accumulated_(ir::accumulated_values(training)),
      said_(plan.ops) {
  for (const ir::Variable& variable : training.variables) kinds_.emplace(variable.value, variable.kind);
  is_weight_moved_ = weights_moved(training);
}

void CutPlanner::grow() {
  accumulated_.resize(std::ssize(whole_.values));
  is_weight_moved_.resize(std::ssize(whole_.values));
}

// ---- by operands ----------------------------------------------------------------------------------------

OpCut CutPlanner::plan_cut(const Op& op, const TypedOp& typed) const {
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
  follow_said(op, cut);
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

void CutPlanner::follow_said(const Op& op, OpCut& cut) const {
  for (Side side : {Side::Input, Side::Output}) {
    for (const OperandSharding& said : said_of(op)) {
      const auto& operands = side == Side::Input ? op.inputs : op.outputs;
      if (said.side != side || said.place >= operands.size() || !operands[said.place].valid()) continue;
      const ValueId id = operands[said.place];
      const Followed followed = follow(cut, side, said.place, type(id).dims, boxes_said(said.spec, id));
      if (followed == Followed::Uncovered && side == Side::Input)
        throw Error(
            "with '{}' cut as its sharding spec says no device computes some of the results: a spec needed "
            "that fits those of the node's other inputs",
            whole_[id].name);
    }
  }
}

OpCut CutPlanner::cut_by_others_than_sums(const Op& op, const TypedOp& typed) const {
  OpCut cut(loops_of(typed), plan_.devices);
  follow_said(op, cut);
  follow_others(op, cut);
  return cut;
}

void CutPlanner::follow_others(const Op& op, OpCut& cut) const {
  std::vector<std::size_t> order = inputs_by_weight(op);
  std::erase_if(order, [&](std::size_t i) { return is_sum(held_[op.inputs[i]]); });
  follow_inputs(op, order, cut);
}

// Inputs that say how the op is cut: variables, then values by their size, the first of equal ones in
// front; sums, which have to be added up anyhow, come last.
std::vector<std::size_t> CutPlanner::inputs_by_weight(const Op& op) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].valid() && type(op.inputs[i]).is_tensor()) order.push_back(i);
  }
  const auto rank = [&](std::size_t i) {
    const ValueId id = op.inputs[i];
    const int kind = is_variable(id) || is_weight_moved_[id] ? 0 : is_sum(held_[id]) ? 2 : 1;
    return std::pair(kind, -packed_bytes(type(id)));
  };
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

void CutPlanner::follow_inputs(const Op& op, const std::vector<std::size_t>& order, OpCut& cut) const {
  for (std::size_t i : order) {
    const Held& held = held_[op.inputs[i]];
    if (held.on.empty() || is_said(op, i)) continue;
    const ir::Dims& dims = type(op.inputs[i]).dims;
    const Boxes boxes = boxes_of(held);
    if (follow(cut, Side::Input, i, dims, boxes) != Followed::Uncovered || is_sum(held)) continue;
    if (const auto of_sets = boxes_of_sets(cut, boxes)) follow(cut, Side::Input, i, dims, *of_sets);
  }
}

// Another value in front may leave nothing to be added up, at less cost: the gradient of a weight lies as
// the weight does where its columns' gradients say how its product is cut, and rows that have been at their
// experts come back, in place of summands of all tokens.
void CutPlanner::avoid_sum(const Op& op, const OpCut& as_said, const std::vector<std::size_t>& order,
                           OpCut& cut) const {
  const auto is_cut_value = [&](std::size_t i) {
    const Held& held = held_[op.inputs[i]];
    const bool is_of_weight = is_variable(op.inputs[i]) || is_weight_moved_[op.inputs[i]];
    return !is_of_weight && !is_sum(held) && !held.on.empty();
  };
  for (std::size_t i : order) {
    if (!is_cut_value(i)) continue;
    std::vector<std::size_t> other = order;
    const auto first = std::ranges::find_if(other, is_cut_value);
    std::rotate(first, std::ranges::find(other, i), std::ranges::find(other, i) + 1);
    OpCut next = as_said;
    follow_inputs(op, other, next);
    if (next.is_cut() && next.pieces() == Pieces::Parts && elements_moved(op, next) < elements_moved(op, cut))
      cut = std::move(next);
  }
}

// What the cut asks devices to bring of values that are there, and to add up of its results.
std::int64_t CutPlanner::elements_moved(const Op& op, const OpCut& cut) const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const ValueId id = op.inputs[i];
    if (!id.valid() || held_[id].on.empty() || is_sum(held_[id])) continue;
    count += elements_to_bring(wanted_boxes(cut, Side::Input, i, type(id).dims), boxes_of(held_[id]));
  }
  if (cut.pieces() == Pieces::Parts) return count;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid()) continue;
    const ir::Dims& dims = type(op.outputs[i]).dims;
    count += elements_to_add_up(wanted_boxes(cut, Side::Output, i, dims), ir::element_count(dims));
  }
  return count;
}

// The device that has all of what micro-batches add to, where the op adds to it. What is added comes there
// in one piece: so an accumulator does not travel, and replicas that hold a part of it each add theirs.
std::optional<int> CutPlanner::device_of_accumulator(const Op& op) const {
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

// Only weights may be read on several processors: what reads another variable runs on the first of those
// devices that would compute the same.
void CutPlanner::run_once(const Op& op, OpCut& cut) const {
  const bool reads_own =
      std::ranges::any_of(inputs_of(op), [&](ValueId id) { return is_variable(id) && !is_weight(id); });
  if (!reads_own) return;
  std::set<std::vector<int>> seen;
  const std::vector<std::vector<int>> of_devices = combinations(cut);
  for (int device = 0; device < plan_.devices; ++device) {
    if (cut.computes[device]) cut.computes[device] = seen.insert(of_devices[device]).second;
  }
}

// What updates a weight that all devices have runs on the first; so does what only it has the operands of.
void CutPlanner::run_whole(const Op& op, OpCut& cut) const {
  const bool is_update = context_of(op) == Context::Update;
  for (ValueId id : inputs_of(op)) {
    const Held& held = held_[id];
    // Only weights may be read on several processors.
    const bool is_own = is_variable(id) && (is_update || !is_weight(id));
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
bool CutPlanner::makes_number(const Op& op) const {
  const auto is_number = [&](ValueId id) { return type(id).rank() == 0; };
  return std::ranges::all_of(outputs_of(op), is_number) && !std::ranges::all_of(inputs_of(op), is_number);
}

bool CutPlanner::is_whole_somewhere(ValueId id) const {
  return std::ranges::any_of(
      held_[id].on, [&](const auto& piece) { return piece && piece->box == whole_box(type(id).dims); });
}

// ---- sums -----------------------------------------------------------------------------------------------

std::optional<Boxes> CutPlanner::form_of_sum(const Op& op, const TypedOp& typed, std::size_t input,
                                             std::size_t at) const {
  const ValueId id = op.inputs[input];
  const Held& held = held_[id];
  if (held.pieces != Pieces::Summands || !type(id).is_static()) return std::nullopt;
  if (auto boxes = boxes_of_tensor(id)) return boxes;
  if (auto boxes = boxes_by_outputs(op, typed, input, kMostSteps)) return boxes;
  return boxes_of_another_reader(id, at);
}

// Of the tensor whose gradient this is, where each device has a part of its own.
std::optional<Boxes> CutPlanner::boxes_of_tensor(ValueId gradient) const {
  const auto found = tensors_.find(gradient);
  if (found == tensors_.end() || type(found->second).dims != type(gradient).dims) return std::nullopt;
  const Held& held = held_[found->second];
  if (held.on.empty() || is_sum(held)) return std::nullopt;
  Boxes boxes = boxes_of(held);
  if (!shares_out(boxes, ir::element_count(type(gradient).dims))) return std::nullopt;
  return boxes;
}

// As what is computed from the value lies, behind at most `steps` ops, each the first to read the first that
// the one before makes: a key's gradient is turned and rotated back before it is the gradient of a tensor.
std::optional<Boxes> CutPlanner::boxes_by_outputs(const Op& op, const TypedOp& typed, std::size_t input,
                                                  int steps) const {
  const ir::Dims& dims = type(op.inputs[input]).dims;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const ValueId made = op.outputs[i];
    if (!made.valid() || !type(made).is_static()) continue;
    auto boxes = boxes_of_tensor(made);
    if (!boxes && i == 0 && steps > 1) boxes = boxes_by_first_reader(made, steps - 1);
    if (!boxes) continue;
    OpCut cut(loops_of(typed), plan_.devices);
    follow(cut, Side::Output, i, type(made).dims, *boxes);
    Boxes wanted = wanted_boxes(cut, Side::Input, input, dims);
    if (shares_out(wanted, ir::element_count(dims))) return wanted;
  }
  return std::nullopt;
}

std::optional<Boxes> CutPlanner::boxes_by_first_reader(ValueId id, int steps) const {
  if (!readers_.contains(id) || readers_[id].empty()) return std::nullopt;
  const ir::OpId reader = readers_[id].front();
  if (place_of(plan_, static_cast<std::size_t>(reader.number())).group != held_.place().group)
    return std::nullopt;
  const Op& op = training_.graph[reader];
  const std::size_t place = std::ranges::find(op.inputs, id) - op.inputs.begin();
  if (place == op.inputs.size()) return std::nullopt;
  return boxes_by_outputs(op, TypedOp(whole_, op), place, steps);
}

std::optional<Boxes> CutPlanner::boxes_of_another_reader(ValueId id, std::size_t at) const {
  if (!readers_.contains(id)) return std::nullopt;
  for (ir::OpId reader : readers_[id]) {
    const auto place_in_order = static_cast<std::size_t>(reader.number());
    const Op& op = training_.graph[reader];
    if (place_in_order == at || place_of(plan_, place_in_order).group != held_.place().group) continue;
    const TypedOp typed(whole_, op);
    OpCut cut(loops_of(typed), plan_.devices);
    follow_others(op, cut);
    const std::size_t place = std::ranges::find(op.inputs, id) - op.inputs.begin();
    Boxes boxes = wanted_boxes(cut, Side::Input, place, type(id).dims);
    if (shares_out(boxes, ir::element_count(type(id).dims))) return boxes;
  }
  return std::nullopt;
}

// ---- what nodes say -------------------------------------------------------------------------------------

const std::vector<OperandSharding>& CutPlanner::said_of(const Op& op) const {
  static const std::vector<OperandSharding> kNothing;
  const auto* place = ir::attribute_if<std::int64_t>(op, kShardingPlace);
  return place == nullptr ? kNothing : said_[*place];
}

bool CutPlanner::is_said(const Op& op, std::size_t input) const {
  return std::ranges::any_of(said_of(op), [&](const OperandSharding& said) {
    return said.side == Side::Input && said.place == input;
  });
}

Boxes CutPlanner::boxes_said(const ir::ShardingSpec& spec, ValueId id) const {
  if (type(id).element == ir::DataType::Undefined) refuse_unknown(whole_, id, "type");
  Boxes boxes(plan_.devices);
  for (const Shard& shard : layout_of(spec, type(id).dims)) {
    if (elements_of(shard.box) == 0) continue;
    for (std::int64_t device : shard.devices) boxes[device] = shard.box;
  }
  return boxes;
}

Boxes CutPlanner::boxes_said_or_held(const Op& op, std::size_t input) const {
  const ValueId id = op.inputs[input];
  for (const OperandSharding& said : said_of(op)) {
    if (said.side == Side::Input && said.place == input) return boxes_said(said.spec, id);
  }
  return boxes_of(held_[id]);
}

// What the op says of its inputs holds for the steps that read them.
void CutPlanner::say_of_inputs(const Op& op, Op& step) {
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

}  // namespace podium::annotate
