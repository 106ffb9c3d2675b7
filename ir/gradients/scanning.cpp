#include "ir/gradients/scanning.h"

#include <algorithm>

namespace podium::ir {
namespace {

std::int64_t entry(const Op& op, std::string_view name, std::size_t i) {
  const IntList* given = attribute_if<IntList>(op, name);
  return given == nullptr ? 0 : given->at(i);
}

Port entry_port(const GradientContext& context, const std::string& kind, std::size_t i, ValueId inner,
                ValueId outer) {
  return {inner, outer, entry(context.op, kind + "_axes", i), 1 - entry(context.op, kind + "_directions", i)};
}

}  // namespace

Scanning read_scan(GradientContext& context) {
  Scanning scan{.body = *attribute<Body>(context.op, "body")};
  const Graph& body = scan.body;
  const std::size_t formal = context.op.formal_inputs();
  scan.states = formal - attribute<std::int64_t>(context.op, "num_scan_inputs");
  for (std::size_t i = scan.states; i < formal; ++i) {
    scan.slices.push_back(
        entry_port(context, "scan_input", i - scan.states, body.inputs[i], context.input(i)));
  }
  for (std::size_t i = scan.states; i < body.outputs.size(); ++i) {
    scan.stacks.push_back(
        entry_port(context, "scan_output", i - scan.states, body.outputs[i], context.output_gradient(i)));
  }
  for (std::size_t i = formal; i < body.inputs.size(); ++i)
    scan.captured.push_back({body.inputs[i], context.input(i)});
  return scan;
}

// Where an iteration begins, the condition is true.
Scanning read_loop(GradientContext& context) {
  Scanning scan{.body = *attribute<Body>(context.op, "body"), .first_state = 2};
  Graph& body = scan.body;
  const std::size_t formal = std::max<std::size_t>(context.op.formal_inputs(), 2);
  scan.states = formal - 2;
  scan.number = body.inputs[0];
  Tensor truth(DataType::Bool, body[body.inputs[1]].type.dims);
  std::fill_n(truth.data<bool>(), truth.size(), true);
  body[body.inputs[1]].constant = std::move(truth);
  for (std::size_t i = 1 + scan.states; i < body.outputs.size(); ++i) {
    scan.stacks.push_back({body.outputs[i], context.output_gradient(i - 1)});
  }
  for (std::size_t i = formal; i < body.inputs.size(); ++i) {
    scan.captured.push_back({body.inputs[i], context.input(context.op.formal_inputs() + i - formal)});
  }
  body.inputs.erase(body.inputs.begin(), body.inputs.begin() + 2);
  body.outputs.erase(body.outputs.begin());
  return scan;
}

}  // namespace podium::ir
