#include "executor/kernels/fused/stretched_chain.h"

#include <algorithm>

#include "executor/kernels/tools/elementwise.h"

namespace podium::kernels {
namespace {

using ir::Graph;
using ir::Type;
using ir::ValueId;

constexpr std::int64_t kLeastRow = 32;

bool is_stretched(const Graph& body, ValueId id) {
  const std::int64_t elements = body[id].type.element_count();
  return elements > 1 && elements < body[body.outputs[0]].type.element_count();
}

}  // namespace

bool StretchedChain::has_stretched_input(const Graph& body) {
  return std::ranges::any_of(body.inputs, [&](ValueId id) { return is_stretched(body, id); });
}

std::shared_ptr<const StretchedChain> StretchedChain::of(const Graph& body) {
  std::shared_ptr<StretchedChain> chain(new StretchedChain);
  std::vector<const Dims*> stretched;
  const auto add = [&](ValueId id) {
    const Type& type = body[id].type;
    Operand operand{.bytes = static_cast<std::int64_t>(ir::storage_bytes(type.element))};
    if (is_stretched(body, id)) {
      operand.place = Place::Stretched;
      operand.stretched = stretched.size();
      stretched.push_back(&type.dims);
    } else if (type.element_count() == 1) {
      operand.place = Place::Number;
    }
    chain->operands_.push_back(operand);
  };
  for (ValueId id : body.inputs) add(id);
  for (ValueId id : body.outputs) add(id);
  if (stretched.size() > kMostOperands) return nullptr;
  chain->inputs_ = body.inputs.size();
  chain->plan_ = plan_broadcast(body[body.outputs[0]].type.dims, stretched);
  if (chain->plan_.row < kLeastRow) return nullptr;
  chain->cost_ = chain->plan_.row * kElementCost * std::ssize(body.ops);
  ir::IdMap<ValueId, bool> goes_along(std::ssize(body.values), true);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const Operand& operand = chain->operands_[i];
    if (operand.place == Place::Number ||
        (operand.place == Place::Stretched && chain->plan_.steps[operand.stretched] == 0))
      goes_along[body.inputs[i]] = false;
  }
  chain->code_ = ChainCode::of(body, goes_along);
  return chain->code_ ? chain : nullptr;
}

void StretchedChain::operator()(const RunContext& run) const {
  parallel_ranges(plan_.rows, cost_,
                  [&](std::int64_t begin, std::int64_t end) { compute_rows(run, begin, end); });
}

// Whole rows: in parts of rows, as for_each_row walks, a network of many short ones takes 3 % longer.
void StretchedChain::compute_rows(const RunContext& run, std::int64_t begin, std::int64_t end) const {
  std::vector<std::byte*> first;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Tensor& whole = i < inputs_ ? run.input(i) : run.output(i - inputs_);
    first.push_back(static_cast<std::byte*>(const_cast<void*>(whole.raw())));
  }
  std::vector<void*> here(operands_.size());
  BroadcastPosition position(plan_, begin);
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      const std::int64_t skipped = operand.place == Place::Full        ? row * plan_.row
                                   : operand.place == Place::Stretched ? position.offsets()[operand.stretched]
                                                                       : 0;
      here[i] = first[i] + skipped * operand.bytes;
    }
    code_->run(here, plan_.row);
    if (row + 1 < end) position.next_row();
  }
}

}  // namespace podium::kernels
