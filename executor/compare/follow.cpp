// A run is walked in the order of one processor: batch by batch, micro-batch by micro-batch, replica by
// replica, op by op, then the update. Each replica has the values that the session gave, and what the session
// does not give (it accumulates, or has a size that only data decides) is computed.
//
//   op        its kernel on the session's own operands; the same bits, or a sum whose order explains them
//   sums      what an update reads of an accumulator against the gradients of the session, added up in the
//             order of micro-batches and replicas
//   update    its ops on what it reads, as any other
#include "executor/compare/follow.h"

#include <fmt/format.h>

#include <algorithm>

#include "executor/compare/differences.h"
#include "executor/compare/rounding.h"
#include "executor/kernels/tools/add_up.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/session/host_arrays.h"
#include "ir/accumulated_values.h"
#include "ir/copy_elements.h"
#include "ir/passes/make_training.h"

namespace podium::compare {

using annotate::Cut;
using ir::Datum;
using ir::Op;
using ir::OpId;
using ir::Tensor;
using ir::ValueId;

namespace {

// Number `index` of the equal parts that an array lies in.
Tensor part_of(const Tensor& array, const ir::Type& type, std::int64_t index) {
  Tensor part(type.element, type.dims);
  copy_elements(array, index * part.size(), part, 0, part.size());
  return part;
}

Tensor negated(const Tensor& tensor) {
  const Op op{.spec = ir::find_op("", "Neg"), .inputs = {ValueId{0}}, .outputs = {ValueId{1}}};
  const Datum given = tensor;
  return kernels::evaluate(op, {&given, 1})[0].tensor;
}

Datum larger(const Datum& a, const Datum& b) {
  const Op op{.spec = ir::find_op("", "Max"), .inputs = {ValueId{0}, ValueId{1}}, .outputs = {ValueId{2}}};
  const Datum given[] = {a, b};
  return kernels::evaluate(op, given)[0];
}

Tensor reduced(const std::vector<Tensor>& terms, bool by_mean) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& term : terms) pointers.push_back(&term);
  Tensor result(terms[0].type(), terms[0].dims());
  kernels::reduce(pointers, by_mean ? kernels::Combine::Mean : kernels::Combine::Sum, result);
  return result;
}

// Of what an op reads, the elements of the largest operand: no sum in it has more terms.
std::int64_t most_elements(const ir::Graph& graph, const Op& op) {
  std::int64_t most = 1;
  for (ValueId input : inputs_of(op)) most = std::max(most, graph[input].type.element_count());
  return most;
}

// Products inside of other functions, which are no loops of the op.
bool has_hidden_sums(const Op& op) {
  return op.spec->category == ir::Category::Recurrent || op.spec->category == ir::Category::Attention;
}

std::vector<std::int64_t> index_of(const ir::Dims& dims, std::int64_t element) {
  std::vector<std::int64_t> index(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = element % dims[axis];
    element /= dims[axis];
  }
  return index;
}

}  // namespace

Follower::Follower(const Watched& watched, const Course& course)
    : watched_(watched),
      graph_(watched.whole.graph),
      course_(course),
      ops_(graph_, course.prepare),
      makers_(producers(graph_)),
      accumulated_(ir::accumulated_values(watched.whole)),
      replicas_(static_cast<std::size_t>(course.replicas)) {
  for (Replica& replica : replicas_) {
    replica.data = ir::IdMap<ValueId, Datum>(std::ssize(graph_.values));
    replica.exact = ir::IdMap<ValueId, bool>(std::ssize(graph_.values), true);
    for (ValueId id : graph_.value_ids()) {
      if (graph_[id].constant) replica.data[id] = *graph_[id].constant;
    }
  }
}

void Follower::start(const TensorsByName& variables) {
  for (const ir::Variable& variable : watched_.whole.variables) {
    variables_.insert(variable.value);
    const auto held = variables.find(graph_[variable.value].name);
    const Tensor value = held == variables.end() ? variable.initial : held->second;
    for (Replica& replica : replicas_) {
      replica.data[variable.value] = value;
      // Each replica keeps the statistics of what it has seen itself.
      replica.exact[variable.value] = variable.kind != ir::VariableKind::Statistic || course_.replicas == 1;
    }
  }
}

void Follower::follow(const RunData& run, const TensorsByName& plain) {
  run_ = run;
  plain_ = &plain;
  ++step_;
  outputs_.clear();
  for (std::size_t i = 0; i < run.outputs.size(); ++i) outputs_.emplace(run.outputs[i].name, i);
  for (int batch = 0; batch < course_.batches && !verdict_.parting; ++batch) follow_batch(batch);
  runs_ += static_cast<std::uint64_t>(course_.batches) * static_cast<std::uint64_t>(course_.accumulation);
  verdict_.steps = step_;
}

void Follower::follow_batch(int batch) {
  in_turn_.clear();
  for (Replica& replica : replicas_) replica.magnitudes.clear();
  Moment moment{.batch = batch};
  for (; moment.micro_batch < course_.accumulation; ++moment.micro_batch) {
    for (moment.replica = 0; moment.replica < course_.replicas; ++moment.replica) {
      take_inputs(moment);
      for (OpId op : graph_.op_ids()) {
        if (is_outer(op)) continue;
        const bool is_accumulated = any_of(inputs_of(graph_[op]), accumulated_);
        is_accumulated ? accumulate(op, moment) : follow_op(op, moment);
        if (verdict_.parting) return;
      }
      apply_updates(moment);
    }
  }
  if (watched_.whole.updates.empty()) return;
  take_reduced(batch);
  moment = {.batch = batch, .micro_batch = course_.accumulation - 1, .in_update = true};
  for (; moment.replica < course_.replicas; ++moment.replica) {
    for (OpId op : graph_.op_ids()) {
      if (verdict_.parting) return;
      if (is_outer(op)) follow_op(op, moment);
    }
    apply_updates(moment);
  }
}

// ---- what the host gives and gets -------------------------------------------------------------------------

void Follower::take_inputs(const Moment& moment) {
  Replica& replica = replicas_[moment.replica];
  const int turn = moment.batch * course_.accumulation + moment.micro_batch;
  for (ValueId id : graph_.inputs) {
    const ir::Value& value = graph_[id];
    if (const auto fed = watched_.fed.find(value.name); fed != watched_.fed.end())
      replica.data[id] = fed->second;
    for (std::size_t i = 0; i < run_.inputs.size(); ++i) {
      const executor::HostTensor& input = run_.inputs[i];
      if (input.name != value.name) continue;
      const int rows = course_.batches * course_.accumulation * (input.broadcast ? 1 : course_.replicas);
      const int row = input.broadcast ? turn : turn * course_.replicas + moment.replica;
      const Datum& given = run_.given[i];
      if (rows == 1) {
        replica.data[id] = given;
      } else if (given.is_tensor()) {
        replica.data[id] = part_of(given.tensor, executor::whole_type(input), row);
      } else {
        replica.data[id] = (*given.items)[row];
      }
    }
  }
}

// What the session gave of a value; nothing where it gives none, or not all of it.
std::optional<Tensor> Follower::row(ValueId id, const Moment& moment) const {
  const auto found = outputs_.find(graph_[id].name);
  if (found == outputs_.end() || !graph_[id].type.is_static()) return std::nullopt;
  const Datum& result = run_.results[found->second];
  if (!result.is_tensor()) return std::nullopt;
  const int turns = moment.in_update ? course_.batches : course_.batches * course_.accumulation;
  const int turn = moment.in_update ? moment.batch : moment.batch * course_.accumulation + moment.micro_batch;
  const std::int64_t rows = std::int64_t{turns} * course_.replicas;
  if (result.tensor.size() != rows * graph_[id].type.element_count()) return std::nullopt;
  return part_of(result.tensor, graph_[id].type, std::int64_t{turn} * course_.replicas + moment.replica);
}

// ---- ops --------------------------------------------------------------------------------------------------

Operands Follower::operands_of(const Op& op, const Replica& replica) const {
  Operands operands(op.inputs.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (op.inputs[i].valid()) operands[i] = replica.data[op.inputs[i]];
  }
  return operands;
}

// Of what is a sum that is not added up yet, the magnitudes of its terms; of anything else its own.
Operands Follower::magnitudes_of(const Op& op, const Replica& replica) const {
  Operands magnitudes = operands_of(op, replica);
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    const OpId maker = op.inputs[i].valid() ? makers_[op.inputs[i]] : OpId{};
    const Cut cut = maker.valid() ? cut_of(maker) : Cut::Whole;
    if (cut != Cut::Summed && cut != Cut::Passed) {
      magnitudes[i] = magnitude(magnitudes[i]);
      continue;
    }
    const Op& sum = graph_[maker];
    const std::vector<Datum> made = sums_of_magnitudes(ops_, sum, magnitudes_of(sum, replica));
    magnitudes[i] = made[std::ranges::find(sum.outputs, op.inputs[i]) - sum.outputs.begin()];
    // Of a sum over micro-batches and replicas, its maker has made the last micro-batch's share.
    if (const auto all = replica.magnitudes.find(op.inputs[i]); all != replica.magnitudes.end())
      magnitudes[i] = larger(magnitudes[i], all->second);
  }
  return magnitudes;
}

kernels::Moment Follower::drawn_at(const Moment& moment) const {
  const int turn = moment.batch * course_.accumulation + moment.micro_batch;
  return {.run = runs_ + static_cast<std::uint64_t>(turn),
          .replica = static_cast<std::uint64_t>(moment.replica),
          .replicas = static_cast<std::uint64_t>(course_.replicas)};
}

void Follower::follow_op(OpId id, const Moment& moment) {
  Replica& replica = replicas_[moment.replica];
  const Op& op = graph_[id];
  const Operands operands = operands_of(op, replica);
  const std::vector<Datum> made = ops_.run(id, operands, drawn_at(moment));
  const auto inputs = inputs_of(op);
  const bool is_exact =
      std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return replica.exact[input]; });
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const ValueId output = op.outputs[i];
    if (!output.valid()) continue;
    replica.exact[output] = is_exact;
    const std::optional<Tensor> found = row(output, moment);
    if (!found) {
      replica.data[output] = made[i];
      continue;
    }
    replica.data[output] = *found;
    ++verdict_.tensors;
    judge(id, i, moment, *found, made, operands);
    if (verdict_.parting) return;
  }
}

void Follower::judge(OpId op, std::size_t output, const Moment& moment, const Tensor& found,
                     const std::vector<Datum>& made, const Operands& operands) {
  Replica& replica = replicas_[moment.replica];
  const ValueId id = graph_[op].outputs[output];
  const Tensor& expected = made[output].tensor;
  const Differences differ = differences(found, expected);
  verdict_.nans += differ.nans;
  if (!differ.any()) {
    if (replica.exact[id]) hold_against_plain(op, id, moment, found);
    return;
  }
  replica.exact[id] = false;
  const Explanation explanation = explain(op, output, moment, made, operands);
  if (!explanation.bound) return part(op, id, moment, found, expected, differ.worst);
  const std::int64_t beyond = first_beyond(found, expected, *explanation.bound);
  if (beyond < 0) return note(op, id, found, expected, explanation);
  part(op, id, moment, found, expected, beyond);
  verdict_.parting->bound = explanation.bound->data<double>()[beyond];
}

Follower::Explanation Follower::explain(OpId id, std::size_t output, const Moment& moment,
                                        const std::vector<Datum>& made, const Operands& operands) const {
  const Op& op = graph_[id];
  const Replica& replica = replicas_[moment.replica];
  const std::int64_t terms = summed_terms(ir::TypedOp(graph_, op));
  const auto of_sum = [&](std::int64_t parts, const Operands& magnitudes) {
    const Tensor sums = sums_of_magnitudes(ops_, op, magnitudes)[output].tensor;
    const auto* alpha = ir::attribute_if<float>(op, "alpha");
    return bound_of_sum(
        {.terms = terms + parts, .parts = parts, .factor = alpha == nullptr ? 1.0 : double{*alpha}}, sums);
  };
  switch (cut_of(id)) {
    case Cut::Summed:
      return {fmt::format("summed up over {} devices", watched_.devices),
              of_sum(watched_.devices, magnitudes_of(op, replica))};
    case Cut::Passed:
      return {fmt::format("added to a part of a sum over {} devices", watched_.devices),
              of_sum(watched_.devices, magnitudes_of(op, replica))};
    case Cut::InSteps:
      return {fmt::format("computed in steps over {} devices", watched_.devices),
              bounds_of_steps(ops_, op, operands, made, most_elements(graph_, op))[output], true};
    case Cut::Apart:
      // The order in which a kernel adds up depends on how much there is to compute.
      if (terms > 1)
        return {fmt::format("summed up in parts of its results over {} devices", watched_.devices),
                of_sum(1, magnitudes_of(op, replica))};
      if (has_hidden_sums(op))
        return {fmt::format("computed in parts over {} devices", watched_.devices),
                bounds_of_steps(ops_, op, operands, made, most_elements(graph_, op))[output], true};
      break;
    case Cut::Whole:
      break;
  }
  if (moment.in_update && course_.shares_state && terms > 1) {
    return {fmt::format("summed up over the parts of {} replicas", course_.replicas),
            of_sum(course_.replicas, magnitudes_of(op, replica))};
  }
  return {};
}

// Of what training appends, "Gradient___x" and "Mul:26", one processor may have something else under a name:
// which equal ops were merged decides what a gradient is of and how ops are numbered, and how many
// micro-batches and replicas there are by what a mean is divided.
bool Follower::is_of_model(const std::string& name) {
  const std::size_t colon = name.rfind(':');
  const bool is_numbered = colon != std::string::npos && colon + 1 < name.size() &&
                           std::all_of(name.begin() + static_cast<std::ptrdiff_t>(colon) + 1, name.end(),
                                       [](char c) { return '0' <= c && c <= '9'; });
  return !is_numbered && !name.starts_with(ir::kGradientOf);
}

void Follower::hold_against_plain(OpId op, ValueId id, const Moment& moment, const Tensor& found) {
  const std::string& name = graph_[id].name;
  if (moment.in_update || !is_of_model(name)) return;
  const auto plain = plain_->find(name);
  if (plain == plain_->end()) return;
  if (plain->second.type() != found.type() || plain->second.size() != found.size() * course_.micro_batches())
    return;
  const int turn = moment.batch * course_.accumulation + moment.micro_batch;
  const Tensor expected =
      part_of(plain->second, found.type_and_dims(), std::int64_t{turn} * course_.replicas + moment.replica);
  const Differences differ = differences(found, expected);
  if (differ.any()) part(op, id, moment, found, expected, differ.worst);
}

// ---- accumulation and reduction ---------------------------------------------------------------------------

// What an op makes of accumulators: of the replica's own, of the magnitudes of what it adds to them, and of
// an accumulator that takes the micro-batches of all replicas in turn.
void Follower::accumulate(OpId id, const Moment& moment) {
  Replica& replica = replicas_[moment.replica];
  const Op& op = graph_[id];
  const Operands operands = operands_of(op, replica);
  Operands magnitudes = operands;
  Operands in_turn = operands;
  bool is_exact = true;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const ValueId input = op.inputs[i];
    if (!input.valid()) continue;
    is_exact = is_exact && replica.exact[input];
    const auto known = replica.magnitudes.find(input);
    magnitudes[i] = known == replica.magnitudes.end() ? magnitude(operands[i]) : known->second;
    if (const auto sum = in_turn_.find(input); sum != in_turn_.end()) in_turn[i] = sum->second;
  }
  const kernels::Moment drawn = drawn_at(moment);
  const std::vector<Datum> made = ops_.run(id, operands, drawn);
  const std::vector<Datum> made_of_magnitudes = ops_.run(id, magnitudes, drawn);
  const std::vector<Datum> made_in_turn = ops_.run(id, in_turn, drawn);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const ValueId output = op.outputs[i];
    if (!output.valid()) continue;
    replica.data[output] = made[i];
    replica.exact[output] = is_exact;
    replica.magnitudes[output] = magnitude(made_of_magnitudes[i]);
    in_turn_[output] = made_in_turn[i];
  }
}

void Follower::apply_updates(const Moment& moment) {
  Replica& replica = replicas_[moment.replica];
  std::vector<std::pair<ir::ValueId, ValueId>> changes;
  for (const ir::Update& update : watched_.whole.updates) {
    if (update.outer == moment.in_update)
      changes.emplace_back(update.variable, graph_.outputs[update.output]);
  }
  // All read what was before.
  std::vector<std::pair<Datum, bool>> values;
  for (const auto& [variable, value] : changes)
    values.emplace_back(replica.data[value], replica.exact[value]);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto& [variable, value] = changes[i];
    replica.data[variable] = values[i].first;
    const bool is_own = !moment.in_update && !accumulated_[variable] && course_.replicas > 1;
    replica.exact[variable] = values[i].second && !is_own;
    if (moment.in_update) continue;
    if (const auto found = replica.magnitudes.find(value); found != replica.magnitudes.end())
      replica.magnitudes[variable] = found->second;
    if (const auto found = in_turn_.find(value); found != in_turn_.end()) in_turn_[variable] = found->second;
  }
}

void Follower::take_reduced(int batch) {
  for (ValueId id : watched_.whole.reduced) {
    judge_reduced(id, batch);
    if (verdict_.parting) return;
  }
}

// A reduced value is what an update reads of it: the replicas' own sums, put together.
void Follower::judge_reduced(ValueId id, int batch) {
  const ir::Type& type = graph_[id].type;
  const bool by_mean = watched_.whole.reduces_by_mean;
  const Moment moment{.batch = batch, .micro_batch = course_.accumulation - 1, .in_update = true};
  std::vector<Tensor> terms;
  std::vector<Tensor> sizes;
  bool is_exact = true;
  for (Replica& replica : replicas_) {
    terms.push_back(replica.data[id].tensor);
    const auto known = replica.magnitudes.find(id);
    sizes.push_back((known == replica.magnitudes.end() ? magnitude(replica.data[id]) : known->second).tensor);
    is_exact = is_exact && replica.exact[id];
  }
  const bool is_one = course_.replicas == 1;
  const Tensor expected_of_all = is_one ? terms[0] : reduced(terms, by_mean);
  const Tensor size_of_all = is_one ? sizes[0] : reduced(sizes, by_mean);
  // A state that gradients are added to starts with a share of itself on each replica, and a mean of replicas
  // is no running mean: then only the order of replicas is known.
  const bool has_own_accumulator =
      accumulated_[id] && in_turn_.contains(id) &&
      std::ranges::any_of(watched_.whole.variables, [&](const ir::Variable& variable) {
        return variable.value == id && variable.kind == ir::VariableKind::Accumulator;
      });
  const Tensor expected = has_own_accumulator ? in_turn_.at(id).tensor : expected_of_all;
  const bool is_order_known =
      is_one || (!course_.adds_to_state && (has_own_accumulator || (!accumulated_[id] && !by_mean)));
  const auto negative = watched_.negatives.find(id);
  for (int r = 0; r < course_.replicas; ++r) {
    Replica& replica = replicas_[r];
    Moment here = moment;
    here.replica = r;
    const std::optional<Tensor> turned =
        negative == watched_.negatives.end() ? std::nullopt : row(negative->second, here);
    const Tensor found = turned ? negated(*turned) : expected_of_all;
    replica.data[id] = found;
    replica.magnitudes[id] = size_of_all;
    ++verdict_.tensors;
    const Differences differ = differences(found, expected);
    verdict_.nans += differ.nans;
    replica.exact[id] = is_exact && is_order_known && !differ.any();
    if (!differ.any() && is_order_known) continue;
    const std::int64_t count = std::int64_t{course_.accumulation} * course_.replicas + 1;
    // A running mean rounds each term three times.
    Explanation explanation{
        fmt::format("{} micro-batches added up over {} replicas", course_.accumulation * course_.replicas,
                    course_.replicas),
        bound_of_sum({.terms = by_mean ? 4 * count : count,
                      .parts = course_.replicas * (type.element == ir::DataType::Float ? 1 : count)},
                     size_of_all)};
    const bool adds_up = count > 2;
    const bool may_differ = adds_up && explanation.bound.has_value();
    const std::int64_t beyond = may_differ ? first_beyond(found, expected, *explanation.bound) : differ.worst;
    if (beyond < 0) {
      if (may_differ) note(makers_[id], id, found, expected, explanation);
      continue;
    }
    part(makers_[id], id, here, found, expected, beyond);
    if (may_differ) verdict_.parting->bound = explanation.bound->data<double>()[beyond];
    return;
  }
}

// ---- what is told -----------------------------------------------------------------------------------------

std::string Follower::text_of(const Moment& moment) const {
  std::string text = fmt::format("step {}", step_);
  if (moment.in_update || course_.batches > 1)
    text += fmt::format(", {} {}", watched_.whole.updates.empty() ? "batch" : "update", moment.batch + 1);
  if (!moment.in_update && course_.accumulation > 1)
    text += fmt::format(", micro-batch {}", moment.micro_batch + 1);
  if (course_.replicas > 1) text += fmt::format(", replica {}", moment.replica);
  return text;
}

void Follower::note(OpId op, ValueId id, const Tensor& found, const Tensor& expected,
                    const Explanation& explanation) {
  if (found.size() == 0) return;
  const Differences differ = differences(found, expected);
  const std::int64_t worst = std::max<std::int64_t>(differ.worst, 0);
  report::Reassociation one{.op = op.valid() ? graph_.describe(graph_[op]) : "the accumulation",
                            .tensor = graph_[id].name,
                            .why = explanation.why,
                            .difference = differ.largest,
                            .bound = explanation.bound->data<double>()[worst],
                            .is_estimate = explanation.is_estimate,
                            .in_zeros_alone = differ.zeros > 0 && differ.numbers == 0};
  const auto known = std::ranges::find_if(verdict_.explained, [&](const report::Reassociation& other) {
    return other.tensor == one.tensor && other.why == one.why;
  });
  if (known == verdict_.explained.end()) return verdict_.explained.push_back(std::move(one));
  const bool is_larger = one.difference > known->difference || (known->in_zeros_alone && !one.in_zeros_alone);
  if (is_larger) *known = std::move(one);
}

void Follower::part(OpId op, ValueId id, const Moment& moment, const Tensor& found, const Tensor& expected,
                    std::int64_t element, std::string remark) {
  tell(graph_[id].name, found, expected, element, text_of(moment), std::move(remark));
  verdict_.parting->op = op.valid() ? graph_.describe(graph_[op]) : "";
}

void Follower::part_at(const std::string& name, const Tensor& found, const Tensor& expected, std::string when,
                       std::string remark) {
  tell(name, found, expected, differences(found, expected).worst, std::move(when), std::move(remark));
}

void Follower::tell(const std::string& name, const Tensor& found, const Tensor& expected,
                    std::int64_t element, std::string when, std::string remark) {
  verdict_.parting = report::Parting{.tensor = name,
                                     .when = std::move(when),
                                     .element = index_of(found.dims(), element),
                                     .type = found.type(),
                                     .found = cast(found, ir::DataType::Double).data<double>()[element],
                                     .expected = cast(expected, ir::DataType::Double).data<double>()[element],
                                     .remark = std::move(remark)};
}

const Tensor* Follower::variable(const std::string& name) const {
  for (ValueId id : variables_) {
    if (graph_[id].name == name) return &replicas_[0].data[id].tensor;
  }
  return nullptr;
}

bool Follower::is_exact(const std::string& name) const {
  return std::ranges::all_of(variables_, [&](ValueId id) {
    return graph_[id].name != name ||
           std::ranges::all_of(replicas_, [&](const Replica& replica) { return replica.exact[id]; });
  });
}

}  // namespace podium::compare
