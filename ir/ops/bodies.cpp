#include "ir/ops/bodies.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/op_spec.h"

namespace podium::ir {
namespace {

struct Counts {
  std::size_t inputs = 0;  // formal ones
  std::size_t outputs = 0;
};

std::optional<Counts> counts_of_bodies(const Op& op) {
  const std::size_t formal = op.formal_inputs();
  const std::size_t outputs = op.outputs.size();
  // A loop's number of trips and condition become the number of the iteration and the condition so far.
  if (op.is("Loop")) return Counts{std::max<std::size_t>(formal, 2), outputs + 1};
  if (op.is("If")) return Counts{0, outputs};
  if (op.is("Scan") || op.is("SequenceMap")) return Counts{formal, outputs};
  if (op.is("FlexAttention")) return Counts{1, 1};
  return std::nullopt;
}

}  // namespace

void check_bodies(const Op& op) {
  const std::optional<Counts> needed = counts_of_bodies(op);
  if (!needed) return;
  for (const Attribute& attribute : op.attributes) {
    const auto* body = std::get_if<Body>(&attribute.value);
    if (body == nullptr) continue;
    const std::size_t inputs = (*body)->inputs.size() - static_cast<std::size_t>(op.captures);
    if (inputs != needed->inputs)
      throw Error("{} takes {} inputs, {} needed", attribute.name, inputs, needed->inputs);
    const std::size_t outputs = (*body)->outputs.size();
    if (outputs != needed->outputs)
      throw Error("{} gives {} outputs, {} needed", attribute.name, outputs, needed->outputs);
  }
}

}  // namespace podium::ir
