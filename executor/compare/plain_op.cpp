#include "executor/compare/plain_op.h"

namespace podium::compare {

using ir::Datum;
using ir::ValueId;

PlainOps::Prepared PlainOps::prepare(const ir::Op& op, Constants constants) const {
  ir::Graph alone;
  std::map<ValueId, ValueId> ids;
  std::vector<std::size_t> operands;
  const auto own = [&](ValueId id) {
    const auto [found, is_new] = ids.try_emplace(id);
    if (is_new) {
      found->second = alone.add_value(graph_[id].name, graph_[id].type);
      const bool is_given = constants == Constants::WithoutFloats && is_float(graph_[id].type.element);
      if (!is_given) alone[found->second].constant = graph_[id].constant;
    }
    return std::pair(found->second, is_new);
  };
  ir::Op copy = op;
  for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) continue;
    const auto [id, is_new] = own(op.inputs[i]);
    copy.inputs[i] = id;
    if (!is_new || alone.is_constant(id)) continue;
    alone.inputs.push_back(id);
    operands.push_back(i);
  }
  for (ValueId& id : copy.outputs) {
    if (!id.valid()) continue;
    id = own(id).first;
    alone.outputs.push_back(id);
  }
  alone.ops.push_back(std::move(copy));
  return {numeric::PreparedBlock(std::move(alone), options_), std::move(operands)};
}

std::vector<Datum> PlainOps::run(Prepared& prepared, const ir::Op& op, const Operands& operands) {
  std::vector<const Datum*> inputs;
  for (std::size_t i : prepared.operands) inputs.push_back(&operands[i]);
  const auto made = prepared.block.run(inputs);
  std::vector<Datum> results(op.outputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (op.outputs[i].valid()) results[i] = *made[next++];
  }
  return results;
}

std::vector<Datum> PlainOps::run(ir::OpId op, const Operands& operands, const kernels::Moment& moment) {
  auto found = prepared_.find(op);
  if (found == prepared_.end()) found = prepared_.emplace(op, prepare(graph_[op], Constants::Known)).first;
  const kernels::MomentScope scope(moment);
  return run(found->second, graph_[op], operands);
}

std::vector<Datum> PlainOps::run_once(const ir::Op& op, const Operands& operands) const {
  Prepared prepared = prepare(op, Constants::WithoutFloats);
  return run(prepared, op, operands);
}

}  // namespace podium::compare
