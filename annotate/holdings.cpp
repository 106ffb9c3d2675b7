// A device gets the box that it needs from its own part, else from the first device that has it, else in
// pieces that it joins. Summands are added in ascending order of devices, narrow floats as float32. Devices
// that need something of each other meet in one op where such an op serves them all (group_exchanges.h).
// Else, where many devices need a sum, each adds up one part of it, which the others then gather: the same
// bits, and as many bytes as a ring would move.
#include "annotate/holdings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "annotate/annotations.h"
#include "annotate/cut_cost.h"
#include "ir/annotation.h"
#include "ir/infer.h"
#include "ir/ops/group_exchange.h"

namespace podium::annotate {

using ir::Op;
using ir::Tensor;
using ir::Type;
using ir::ValueId;

namespace {

// The first axis along which each of so many devices gets something of a box.
std::optional<std::int64_t> axis_to_share(const Box& box, int devices) {
  const auto axis = std::ranges::find_if(
      box, [&](const Ranges& ranges) { return ranges.size() == 1 && length(ranges) >= devices; });
  return axis == box.end() ? std::nullopt : std::optional<std::int64_t>(axis - box.begin());
}

// What each of the devices gets of a box whose range along the axis begins at 0.
std::vector<Box> shares_of(const Box& box, std::int64_t axis, int devices) {
  const std::int64_t size = length(box[axis]);
  std::vector<Box> shares(devices, box);
  for (std::int64_t device = 0; device < devices; ++device)
    shares[device][axis] = {{size * device / devices, size * (device + 1) / devices}};
  return shares;
}

}  // namespace

void Holdings::put_on(Op& op, int device, Context context, const Place& place) const {
  ir::set_attribute(op, kVirtualGraph, std::int64_t{plan_.processor(place.group, device)});
  if (!plan_.placement.ops.empty()) ir::set_attribute(op, kPipelineStage, std::int64_t{place.stage});
  if (plan_.placement.phases > 1) ir::set_attribute(op, kExecutionPhase, std::int64_t{place.phase});
  if (context == Context::Update) ir::set_attribute(op, ir::kContextAttribute, ir::kOuterContext);
}

Boxes boxes_of(const Held& held) {
  Boxes boxes(held.on.size());
  for (std::size_t device = 0; device < boxes.size(); ++device) {
    if (held.on[device]) boxes[device] = held.on[device]->box;
  }
  return boxes;
}

// What all members receive: in an all-reduce each reduces one part and gathers the others. `parts` is the
// size of all parts, of an all-reduce that of all results, of an all-to-all what comes from others.
std::int64_t moved_by(const GroupExchange& exchange, std::int64_t parts) {
  const std::int64_t others = std::ssize(exchange.members) - 1;
  if (exchange.kind == ExchangeKind::AllToAll) return parts;
  if (exchange.kind == ExchangeKind::AllReduce) return 2 * parts / std::ssize(exchange.members) * others;
  return parts * others;
}

// Appends an op and gives its first output.
ValueId Holdings::emit(Op op, std::string_view name) {
  op.outputs = {out_.add_value(out_.fresh_part_name(name))};
  ir::InferContext inferred(out_, op);
  op.spec->infer(inferred);
  out_[op.outputs[0]].type = inferred.output_types[0];
  out_.ops.push_back(std::move(op));
  return out_.ops.back().outputs[0];
}

ValueId Holdings::call(std::string_view name, std::vector<ValueId> inputs, int device, Context context,
                       std::vector<ir::Attribute> attributes) {
  return call_at(place_, name, std::move(inputs), device, context, std::move(attributes));
}

ValueId Holdings::call_at(const Place& place, std::string_view name, std::vector<ValueId> inputs, int device,
                          Context context, std::vector<ir::Attribute> attributes) {
  const std::string base = subject_.empty() ? out_[inputs[0]].name : subject_;
  Op op{.spec = ir::find_op("", name),
        .name = node_,
        .inputs = std::move(inputs),
        .attributes = std::move(attributes)};
  put_on(op, device, context, place);
  return emit(std::move(op), base);
}

ValueId Holdings::ints(const std::vector<std::int64_t>& values) {
  return out_.add_constant(out_.fresh_name("sizes"), Tensor::ints(values));
}

// What is of a variable may be read, and cut, wherever it is needed.
Holdings::Source Holdings::source(ValueId id, int device) const {
  const Held& held = held_[id];
  return {*held.on[device], device, held.is_variable ? place_ : held.place};
}

// A box of a piece, on the device that has it: each is cut once.
ValueId Holdings::cut_piece(const Source& from, const Box& box, Context context) {
  if (from.piece.box == box) return from.piece.value;
  const std::tuple key(from.piece.value, context, from.place);
  std::vector<Piece>& known = cuts_[key];
  const auto found = std::ranges::find(known, box, &Piece::box);
  if (found != known.end()) return found->value;
  const ValueId made = cut_anew(from, box, context);
  cuts_[key].push_back({made, box});
  return made;
}

ValueId Holdings::cut_anew(const Source& from, const Box& box, Context context) {
  const Piece& piece = from.piece;
  if (out_.is_constant(piece.value))
    return out_.add_constant(out_.fresh_part_name(out_[piece.value].name),
                             cut_out(*out_[piece.value].constant, box));
  if (out_[piece.value].data_left_out) {
    const ValueId part = out_.add_value(out_.fresh_part_name(out_[piece.value].name),
                                        Type::tensor(out_[piece.value].type.element, dims_of(box)));
    out_[part].data_left_out = true;
    return part;
  }
  ValueId value = piece.value;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    const Ranges places = places_in(piece.box[axis], box[axis]);
    if (places == Ranges{{0, length(piece.box[axis])}}) continue;
    if (places.size() == 1) {
      starts.push_back(places[0].begin);
      ends.push_back(places[0].end);
      axes.push_back(std::int64_t(axis));
      continue;
    }
    std::vector<std::int64_t> indices;
    for (const IndexRange& range : places) {
      for (std::int64_t i = range.begin; i < range.end; ++i) indices.push_back(i);
    }
    value = call_at(from.place, "Gather", {value, ints(indices)}, from.device, context,
                    {{"axis", std::int64_t(axis)}});
  }
  if (axes.empty()) return value;
  return call_at(from.place, "Slice", {value, ints(starts), ints(ends), ints(axes)}, from.device, context);
}

// To a device of the node's group.
void Holdings::count(ValueId value, const Source& from, int to) {
  if (from.device != to || from.place.group != place_.group) moved_.bytes += packed_bytes(out_[value].type);
}

std::optional<ValueId> Holdings::known(ValueId id, int device, const Box& box, Context context) const {
  const auto found = brought_[id].find({place_.group, device, context, box});
  return found == brought_[id].end() ? std::nullopt : std::optional(found->second);
}

void Holdings::note_made(ValueId id, int device, const Box& box, Context context, ValueId made) {
  brought_[id].emplace(Brought{place_.group, device, context, box}, made);
}

// The box of a value on a device: each is made once.
ValueId Holdings::bring(ValueId id, int device, const Box& box, Context context) {
  if (const auto there = known(id, device, box, context)) return *there;
  const ValueId made = bring_anew(id, device, box, context);
  note_made(id, device, box, context, made);
  return made;
}

ValueId Holdings::bring_anew(ValueId id, int device, const Box& box, Context context) {
  const Held& held = held_[id];
  if (held.everywhere.valid())
    return cut_piece({{held.everywhere, whole_box(type(id).dims)}, device, place_}, box, context);
  const bool has_own = !is_sum(held) && held.on[device] && contains(held.on[device]->box, box);
  const std::vector<int> sources = has_own ? std::vector{device} : sources_of(id, box);
  const bool all_contain =
      std::ranges::all_of(sources, [&](int other) { return contains(held.on[other]->box, box); });
  if (is_sum(held) && all_contain && !sources.empty()) return add_up(id, sources, device, box, context);
  if (!is_sum(held)) {
    const auto whole =
        std::ranges::find_if(sources, [&](int source) { return contains(held.on[source]->box, box); });
    if (whole != sources.end()) {
      const Source from = source(id, *whole);
      const ValueId part = cut_piece(from, box, context);
      count(part, from, device);
      return part;
    }
  }
  return join(id, sources, device, box, context);
}

// The devices that have something of a box.
std::vector<int> Holdings::sources_of(ValueId id, const Box& box) {
  if (!index_ || index_->id != id) return BoxIndex(boxes_of(held_[id])).meeting(box);
  if (!index_->boxes) index_->boxes.emplace(boxes_of(held_[id]));
  return index_->boxes->meeting(box);
}

// Narrow floats are added as float32 and rounded once.
ValueId Holdings::add_up(ValueId id, const std::vector<int>& sources, int device, const Box& box,
                         Context context) {
  const ir::DataType element = type(id).element;
  const bool is_narrow = element == ir::DataType::Float16 || element == ir::DataType::Bfloat16;
  std::vector<ValueId> summands;
  for (int other : sources) {
    const Source from = source(id, other);
    const ValueId part = cut_piece(from, box, context);
    count(part, from, device);
    summands.push_back(part);
  }
  if (summands.size() == 1) return summands[0];
  const auto cast = [&](ValueId value, ir::DataType to) {
    return call("Cast", {value}, device, context, {{"to", static_cast<std::int64_t>(to)}});
  };
  if (is_narrow) {
    for (ValueId& summand : summands) summand = cast(summand, ir::DataType::Float);
  }
  const ValueId sum = put_together(held_[id].pieces, summands, device, context);
  return is_narrow ? cast(sum, element) : sum;
}

// In ascending order of devices. A Sum is of real numbers.
ValueId Holdings::put_together(Pieces pieces, const std::vector<ValueId>& summands, int device,
                               Context context) {
  if (pieces == Pieces::Rivals) return call("Max", summands, device, context);
  if (!ir::is_integer(out_[summands[0]].type.element)) return call("Sum", summands, device, context);
  ValueId sum = summands[0];
  for (std::size_t i = 1; i < summands.size(); ++i) sum = call("Add", {sum, summands[i]}, device, context);
  return sum;
}

// The ranges of a box along an axis, cut where a part ends.
Ranges Holdings::segments_of(ValueId id, const std::vector<int>& sources, const Box& box,
                             std::size_t axis) const {
  std::set<std::int64_t> ends;
  for (int source : sources) {
    for (const IndexRange& range : held_[id].on[source]->box[axis]) {
      ends.insert(range.begin);
      ends.insert(range.end);
    }
  }
  Ranges segments;
  for (const IndexRange& range : box[axis]) {
    std::int64_t begin = range.begin;
    for (auto end = ends.upper_bound(begin); end != ends.end() && *end < range.end; ++end) {
      segments.push_back({begin, *end});
      begin = *end;
    }
    segments.push_back({begin, range.end});
  }
  return segments;
}

// The box in pieces along an axis: one where a part ends inside of a range, else one with several ranges.
ValueId Holdings::join(ValueId id, const std::vector<int>& sources, int device, const Box& box,
                       Context context) {
  for (bool between_ranges : {false, true}) {
    for (std::size_t axis = 0; axis < box.size(); ++axis) {
      const Ranges segments = segments_of(id, sources, box, axis);
      if (segments.size() < 2 || (segments == box[axis] && !between_ranges)) continue;
      std::vector<ValueId> pieces;
      for (const IndexRange& segment : segments) {
        Box part = box;
        part[axis] = {segment};
        pieces.push_back(bring(id, device, part, context));
      }
      moved_.joined = true;
      return call("Concat", pieces, device, context, {{"axis", std::int64_t(axis)}});
    }
  }
  throw Error("no device computes {} of '{}', all of it needed", to_string(box, type(id).dims),
              whole_[id].name);
}

// Cuts a piece into boxes that follow each other along an axis.
void Holdings::split(const Source& from, std::int64_t axis, const std::vector<Box>& boxes, Context context) {
  const Piece& piece = from.piece;
  std::vector<std::int64_t> sizes;
  for (const Box& box : boxes) sizes.push_back(length(box[axis]));
  Op op{.spec = ir::find_op("", "Split"), .name = node_, .inputs = {piece.value, ints(sizes)}};
  ir::set_attribute(op, "axis", axis);
  put_on(op, from.device, context, from.place);
  for (const Box& box : boxes) {
    const Type part = Type::tensor(out_[piece.value].type.element, dims_of(box));
    op.outputs.push_back(out_.add_value(out_.fresh_part_name(subject_), part));
    cuts_[{piece.value, context, from.place}].push_back({op.outputs.back(), box});
  }
  out_.ops.push_back(std::move(op));
}

bool Holdings::may_meet(ValueId id) const {
  const Held& held = held_[id];
  return !held.everywhere.valid() && !held.is_variable &&
         (ir::kNumeric | ir::kBool).contains(type(id).element);
}

// Brings what collectives can, to some of the devices or to all. What another group has crosses once, to
// each from its like.
bool Holdings::exchange_in_groups(ValueId id, const Boxes& wanted, Context context) {
  const bool crosses = held_[id].place.group != place_.group;
  if (!may_meet(id) || (crosses && is_sum(held_[id]))) return false;
  Boxes needed = wanted;
  for (int device = 0; device < devices_; ++device) {
    if (needed[device] && known(id, device, *needed[device], context)) needed[device].reset();
  }
  const std::vector<GroupExchange> found = group_exchanges(boxes_of(held_[id]), held_[id].pieces, needed);
  for (const GroupExchange& one : found) {
    std::vector<ValueId> pieces;
    for (int member : one.members) pieces.push_back(bring_own(id, member, context));
    emit_exchange(id, one, pieces, wanted, context);
  }
  return !found.empty();
}

// What the device itself, or its like in another group, has.
ValueId Holdings::bring_own(ValueId id, int device, Context context) {
  const Piece& own = *held_[id].on[device];
  return held_[id].place.group == place_.group ? own.value : bring(id, device, own.box, context);
}

// Summands of another group are added up there: what crosses is the sum, each part of it once.
void Holdings::add_up_where_it_lies(ValueId id, const Boxes& wanted, Context context) {
  if (!may_meet(id) || !is_sum(held_[id]) || held_[id].place.group == place_.group) return;
  const ir::Dims& dims = type(id).dims;
  Boxes form = wanted;
  if (!shares_out(form, ir::element_count(dims))) {
    const Box all = whole_box(dims);
    if (!std::ranges::any_of(wanted, [&](const auto& box) { return box == all; })) return;
    const auto axis = axis_to_share(all, devices_);
    const bool all_want = std::ranges::all_of(wanted, [](const auto& box) { return box.has_value(); });
    if (axis && all_want) std::ranges::copy(shares_of(all, *axis, devices_), form.begin());
  }
  const Place here = std::exchange(place_, held_[id].place);
  take_form(id, form, context);
  place_ = here;
}

// What all devices of another group have and all of this one need crosses once: each device sends the part
// that is its own, and those who receive gather the parts.
bool Holdings::send_in_parts(ValueId id, const Boxes& wanted, Context context) {
  const Held& held = held_[id];
  const bool may_cross = plan_.sends == Sends::InParts && devices_ > 1 && may_meet(id) && !is_sum(held) &&
                         held.place.group != place_.group;
  if (!may_cross) return false;
  const Box all = whole_box(type(id).dims);
  GroupExchange gather{.kind = ExchangeKind::AllGather};
  for (int device = 0; device < devices_; ++device) {
    const bool has_all = held.on[device] && held.on[device]->box == all;
    if (!has_all || wanted[device] != all || known(id, device, all, context)) return false;
    gather.members.push_back(device);
  }
  const auto axis = axis_to_share(all, devices_);
  if (!axis) return false;
  gather.axis = *axis;
  const std::vector<Box> own = shares_of(all, *axis, devices_);
  std::vector<ValueId> parts;
  for (int device = 0; device < devices_; ++device) parts.push_back(bring(id, device, own[device], context));
  emit_exchange(id, gather, parts, wanted, context);
  return true;
}

// `pieces`: what each member has.
void Holdings::emit_exchange(ValueId id, const GroupExchange& exchange, const std::vector<ValueId>& pieces,
                             const Boxes& wanted, Context context) {
  constexpr std::string_view kNames[] = {ir::kGroupAllReduce, ir::kGroupReduceScatter, ir::kGroupAllGather,
                                         ir::kGroupAllToAll};
  Op op{.spec = ir::find_op("podium", kNames[static_cast<int>(exchange.kind)]), .name = node_};
  put_on(op, exchange.members[0], context, place_);
  ir::IntList processors;
  ir::IntList sizes;
  const bool is_to_all = exchange.kind == ExchangeKind::AllToAll;
  const bool scatters = is_to_all || exchange.kind == ExchangeKind::ReduceScatter;
  const std::int64_t scatter_axis = is_to_all ? exchange.scatter_axis : exchange.axis;
  std::int64_t received = 0;
  for (std::size_t i = 0; i < exchange.members.size(); ++i) {
    const int member = exchange.members[i];
    const Type result = Type::tensor(type(id).element, dims_of(*wanted[member]));
    op.inputs.push_back(pieces[i]);
    op.outputs.push_back(out_.add_value(out_.fresh_part_name(subject_), result));
    processors.push_back(plan_.processor(place_.group, member));
    if (scatters) sizes.push_back(result.dims[scatter_axis]);
    note_made(id, member, *wanted[member], context, op.outputs.back());
    received += packed_bytes(exchange.kind == ExchangeKind::AllGather ? out_[pieces[i]].type : result);
    if (!is_to_all) continue;
    Type own = result;
    own.dims[exchange.axis] = out_[pieces[i]].type.dims[exchange.axis];
    received -= packed_bytes(own);
  }
  ir::set_attribute(op, ir::kGroupProcessors, std::move(processors));
  if (exchange.kind != ExchangeKind::AllReduce) ir::set_attribute(op, "axis", exchange.axis);
  if (is_to_all) ir::set_attribute(op, ir::kGroupScatterAxis, scatter_axis);
  if (scatters) ir::set_attribute(op, ir::kGroupSizes, std::move(sizes));
  if (held_[id].pieces == Pieces::Rivals) ir::set_attribute(op, ir::kGroupReduction, std::string("max"));
  moved_.gathered = moved_.gathered || exchange.kind == ExchangeKind::AllGather;
  moved_.all_to_all = moved_.all_to_all || is_to_all;
  moved_.bytes += moved_by(exchange, received);
  out_.ops.push_back(std::move(op));
}

// Where several devices need a sum, each adds up one part of it, and the parts are all that is held on.
void Holdings::share_sum(ValueId id, const Boxes& wanted, Context context) {
  Held& held = held_[id];
  if (!is_sum(held)) return;
  std::vector<int> readers;
  for (int device = 0; device < devices_; ++device) {
    if (wanted[device] && elements_of(*wanted[device]) > 0) readers.push_back(device);
  }
  constexpr std::size_t kFewReaders = 2;  // who move as many bytes when each adds up all
  if (readers.size() <= kFewReaders) return;
  const Box& box = *wanted[readers[0]];
  for (int device : readers) {
    if (*wanted[device] != box) return;
  }
  const int parts = static_cast<int>(readers.size());
  const auto axis = axis_to_share(box, parts);
  if (!axis || box != whole_box(type(id).dims)) return;
  const std::vector<Box> own = shares_of(box, *axis, parts);
  for (int device = 0; device < devices_; ++device) {
    if (held.on[device] && held.on[device]->box == box) split(source(id, device), *axis, own, context);
  }
  Held next{.on = std::vector<std::optional<Piece>>(devices_), .place = place_};
  for (int part = 0; part < parts; ++part)
    next.on[readers[part]] = Piece{bring(id, readers[part], own[part], context), own[part]};
  brought_[id].clear();
  held = std::move(next);
}

// Brings a value to the devices that want a box of it, and reports what moved.
std::vector<ValueId> Holdings::bring_all(ValueId id, const Boxes& wanted, Context context) {
  add_up_where_it_lies(id, wanted, context);
  moved_ = {};
  subject_ = whole_[id].name;
  const std::size_t before = out_.ops.size();
  const bool was_sum = is_sum(held_[id]);
  if (!exchange_in_groups(id, wanted, context) && !send_in_parts(id, wanted, context))
    share_sum(id, wanted, context);
  index_.emplace(id);
  std::vector<ValueId> values(devices_);
  int readers = 0;
  for (int device = 0; device < devices_; ++device) {
    if (!wanted[device]) continue;
    values[device] = bring(id, device, *wanted[device], context);
    ++readers;
  }
  index_.reset();
  subject_.clear();
  report(id, was_sum, readers, wanted);
  if (moved_.bytes > 0) {
    for (std::size_t i = before; i < out_.ops.size(); ++i)
      ir::set_attribute(out_.ops[i], ir::kMovement, std::ssize(reshardings_));
  }
  if (was_sum && context == Context::MicroBatch) keep_sum(id, wanted, values);
  return values;
}

// A sum that each device has to whom it was brought is no sum any more, nor in parts.
void Holdings::keep_sum(ValueId id, const Boxes& wanted, const std::vector<ValueId>& values) {
  Held& held = held_[id];
  const Box all = whole_box(type(id).dims);
  for (int device = 0; device < devices_; ++device) {
    const auto& piece = held.on[device];
    const bool keeps = wanted[device] && (*wanted[device] == all || (piece && *wanted[device] == piece->box));
    if (!keeps && (wanted[device] || piece)) return;
  }
  for (int device = 0; device < devices_; ++device) {
    held.on[device].reset();
    if (wanted[device]) held.on[device] = Piece{values[device], *wanted[device]};
  }
  held.pieces = Pieces::Parts;
  held.place = place_;
}

void Holdings::report(ValueId id, bool was_sum, int readers, const Boxes& wanted) {
  if (moved_.bytes == 0) return;
  const Box all = whole_box(type(id).dims);
  const bool is_whole = std::ranges::all_of(wanted, [&](const auto& box) { return !box || *box == all; });
  ReshardKind kind = ReshardKind::Transfers;
  if (was_sum) {
    kind = readers == 1 ? ReshardKind::Reduce
           : is_whole   ? ReshardKind::AllReduce
                        : ReshardKind::ReduceScatter;
  } else if (moved_.all_to_all) {
    kind = ReshardKind::AllToAll;
  } else if (moved_.gathered || (moved_.joined && is_whole)) {
    kind = ReshardKind::AllGather;
  }
  reshardings_.push_back({kind, node_, whole_[id].name, moved_.bytes});
}

Boxes Holdings::first_of_each_box(ValueId id) const {
  Boxes boxes(devices_);
  std::set<Box> seen;
  for (int device = 0; device < devices_; ++device) {
    const auto& piece = held_[id].on[device];
    if (piece && seen.insert(piece->box).second) boxes[device] = piece->box;
  }
  return boxes;
}

void Holdings::take_form(ValueId id, const Boxes& boxes, Context context) {
  if (!is_sum(held_[id]) && boxes_of(held_[id]) == boxes) return;
  const std::vector<ValueId> values = bring_all(id, boxes, context);
  Held next{.on = std::vector<std::optional<Piece>>(devices_), .place = place_};
  for (int device = 0; device < devices_; ++device) {
    if (boxes[device] && elements_of(*boxes[device]) > 0)
      next.on[device] = Piece{values[device], *boxes[device]};
  }
  held_[id] = std::move(next);
  brought_[id].clear();
}

}  // namespace podium::annotate
