// The graph is walked once, in its order, stage by stage. For each value it is known which device holds which
// box of it (Held): a part, a summand of it, or, of what the host brings and of constants, all of it
// anywhere.
//
//   plan    An op is cut along loops (ir/ops/loops.h), for each a range of iterations a device: by what the
//           node says and where its operands lie (cut_planner.h). An operand whose cut is no range of a loop,
//           or would leave some combination of ranges to no device, is brought into form instead.
//   bring   A device gets the box that it needs (holdings.h).
//   emit    A copy of the op a device, with sizes of its own (fit_part.h). What a loop of sums gives are
//           summands; those of a mean are weighted with their share of the iterations. Rows of a table that
//           lie on several devices are picked where the index is the device's own, else they are zeros.
#include "annotate/partition.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "annotate/annotations.h"
#include "annotate/cut_planner.h"
#include "annotate/fit_part.h"
#include "annotate/holdings.h"
#include "annotate/op_steps.h"
#include "annotate/part_views.h"
#include "annotate/pick_rows.h"
#include "annotate/variable_parts.h"
#include "ir/bodies.h"
#include "ir/filled.h"
#include "ir/infer.h"
#include "ir/ops/loops.h"
#include "ir/random_draws.h"

namespace podium::annotate {
namespace {

using ir::Graph;
using ir::LoopResult;
using ir::Op;
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
        is_plain_output_(plain_outputs(whole)),
        plan_(plan),
        held_(whole_, plan, made_.training.graph),
        planner_(whole, whole_, plan, held_),
        variables_(whole, whole_, plan, held_, made_.training.graph),
        views_(ops_, makers_, whole_, plan, held_, made_.training.graph) {}

  Partitioned run() {
    out().name = whole_.name;
    // Most ops have a part on each device.
    out().ops.reserve(ops_.size() * plan_.devices);
    out().values.reserve(whole_.values.size() * plan_.devices);
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
    made_.variables = variables_.take_cut();
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

  Graph& out() { return made_.training.graph; }
  const Type& type(ValueId id) const { return whole_[id].type; }

  Place place_of(std::size_t op) const { return annotate::place_of(plan_, op); }

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
    reduced_.insert(training_.reduced.begin(), training_.reduced.end());
    for (ValueId id : whole_.inputs) {
      if (variables_.has(id)) {
        held_[id].is_undecided = true;
        held_[id].is_variable = true;
      } else {
        held_[id].everywhere = variables_.add_whole(id);
      }
    }
    for (ValueId id : whole_.value_ids()) {
      if (whole_[id].constant || whole_[id].data_left_out) held_[id].is_undecided = true;
    }
  }

  // ---- ops ----------------------------------------------------------------------------------------------

  void add_op(const Op& op) {
    const TypedOp typed(whole_, op);
    for (ValueId id : inputs_of(op)) {
      if (held_[id].is_undecided && variables_.is_state(id)) variables_.decide_state(id);
    }
    if (is_cut_along_steps(op)) return add_steps(op);
    OpCut cut = planner_.plan_cut(op, typed);
    if (passes_sums(op, cut)) return pass_sums(op, typed, cut);
    if (add_up_in_parts(op, typed)) cut = planner_.plan_cut(op, typed);
    if (cut.is_cut()) note_op(cut.pieces() == Pieces::Summands ? Cut::Summed : Cut::Apart);
    std::vector<std::vector<ValueId>> inputs;  // by device
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId id = op.inputs[i];
      if (!id.valid()) {
        inputs.emplace_back(plan_.devices);
        continue;
      }
      if (!type(id).is_static() && held_[id].everywhere == ir::kNoValue && !is_only_on_first(id))
        refuse_unknown(whole_, id, "size");
      const Boxes wanted = wanted_boxes(cut, Side::Input, i, type(id).dims);
      if (held_[id].is_undecided) variables_.decide(id, boxes_to_hold(cut, i, type(id).dims));
      views_.make(id, wanted, context_of(op));
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

  // Sums that the op reads, where nothing says how it is cut, or how they lie cuts it further. They lie in
  // parts from then on.
  bool add_up_in_parts(const Op& op, const TypedOp& typed) {
    const auto is_a_sum = [&](ValueId id) { return id.valid() && is_sum(held_[id]); };
    if (std::ranges::none_of(op.inputs, is_a_sum)) return false;
    const OpCut cut = planner_.cut_by_others_than_sums(op, typed);
    bool added = false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) continue;
      const std::optional<Boxes> boxes = planner_.form_of_sum(op, typed, i, at_);
      if (!boxes || (cut.is_cut() && !cuts_further(cut, i, type(op.inputs[i]).dims, *boxes))) continue;
      held_.take_form(op.inputs[i], *boxes, context_of(op));
      added = true;
    }
    return added;
  }

  // A gradient of keys that groups of devices have of all tokens, each of heads of its own, lies by tokens.
  static bool cuts_further(const OpCut& cut, std::size_t input, const ir::Dims& dims, const Boxes& boxes) {
    OpCut refined = cut;
    return follow(refined, Side::Input, input, dims, boxes) == Followed::Yes &&
           wanted_boxes(refined, Side::Input, input, dims) == boxes &&
           wanted_boxes(cut, Side::Input, input, dims) != boxes;
  }

  // An input lies, or is said to lie, cut along an axis along which steps of the op can be cut, but not
  // itself.
  bool is_cut_along_steps(const Op& op) const {
    return std::ranges::any_of(axes_of_steps(whole_, op), [&](const InputAxis& at) {
      const ValueId id = op.inputs[at.input];
      const Ranges all{{0, type(id).dims[at.axis]}};
      const auto is_part = [&](const std::optional<Box>& box) { return box && (*box)[at.axis] != all; };
      return std::ranges::any_of(planner_.boxes_said_or_held(op, at.input), is_part);
    });
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
    planner_.grow();
    for (std::int64_t i = known; i < std::ssize(whole_.values); ++i) {
      const ValueId id{static_cast<std::int32_t>(i)};
      held_[id].is_undecided = whole_.is_constant(id);
    }
    for (Op step : steps) {
      planner_.say_of_inputs(op, step);
      add_op(step);
    }
    shape_outputs(op);
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
      if (held_[id].is_undecided) variables_.decide(id, wanted);
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
    fit_part(part, typed, cut, device, boxes, held_);
    if (picks_rows(op, cut)) {
      hold(op.outputs[0], device, pick_rows(whole_, op, part, cut, device, held_, out()), boxes[0]);
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
    const std::vector<ValueId> results = part.outputs;
    out().ops.push_back(std::move(part));
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i].valid()) continue;
      const Box kept = kept_box(cut, i, type(op.outputs[i]).dims, device);
      const ValueId made = trimmed(results[i], boxes[i], kept, device, context_of(op));
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

  // Brings outputs into the form that the node says. What replicas reduce is summed up first.
  void shape_outputs(const Op& op) {
    for (const OperandSharding& said : planner_.said_of(op)) {
      if (said.side != Side::Output || said.place >= op.outputs.size()) continue;
      const ValueId id = op.outputs[said.place];
      if (id.valid()) held_.take_form(id, planner_.boxes_said(said.spec, id), context_of(op));
    }
    for (ValueId id : outputs_of(op)) {
      if (reduced_.contains(id) && is_sum(held_[id]))
        held_.take_form(id, held_.first_of_each_box(id), context_of(op));
    }
  }

  // ---- what the training says of the graph --------------------------------------------------------------

  void finish() {
    ir::Training& made = made_.training;
    for (std::size_t i = 0; i < whole_.inputs.size(); ++i) {
      const ValueId id = whole_.inputs[i];
      std::vector<ValueId> own{held_[id].everywhere};
      if (variables_.has(id)) {
        own.clear();
        for (const Piece& part : variables_.parts_of(id)) own.push_back(part.value);
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
      if (one.weight.valid()) one.weight = variables_.parts_of(one.weight).front().value;
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
    for (const Piece& part : variables_.parts_of(variable.value)) {
      ir::Variable own = variable;
      own.value = part.value;
      if (variable.initial.defined()) {
        own.initial = part.box == whole_box(type(variable.value).dims) ? variable.initial
                                                                       : cut_out(variable.initial, part.box);
      }
      if (variable.weight.valid()) {
        own.weight = variables_.part_with(variable.weight, part.box).value;
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
      for (const Piece& part : variables_.parts_of(update.variable)) {
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
    if (held_[id].is_undecided) variables_.decide(id, Boxes(plan_.devices));
    held_.set_node({}, held_[id].place);
    return held_.bring(id, variables_.first_device(part.value), part.box,
                       update.outer ? Context::Update : Context::MicroBatch);
  }

  // Outputs are put together in the stage and phase in which they are made: ops behind these are brought
  // pieces that cannot be read here.
  void join_outputs() {
    for (ValueId id : std::exchange(to_join_, {})) outputs_.emplace(id, output(id));
  }

  // All of a value on one device, under its own name.
  ValueId output(ValueId id) {
    if (held_[id].is_undecided) variables_.decide(id, Boxes(plan_.devices));
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
  std::size_t at_ = 0;  ///< the op that is being added
  const ir::IdMap<ValueId, bool> is_plain_output_;
  std::vector<ValueId> to_join_;        ///< outputs of this stage and phase
  std::map<ValueId, ValueId> outputs_;  ///< those that have been put together
  const ShardingPlan& plan_;
  Partitioned made_;
  Holdings held_;
  CutPlanner planner_;
  VariableParts variables_;
  PartViews views_;
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
