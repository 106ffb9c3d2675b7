#include "tests/support/run_op.h"

#include "executor/kernels/tools/kernel.h"
#include "ir/graph.h"

namespace podium::testing {

std::vector<ir::Datum> run_op_outputs(std::string_view domain, std::string_view name,
                                      const std::vector<ir::Datum>& inputs,
                                      std::vector<ir::Attribute> attributes, std::size_t outputs) {
  ir::Graph graph;
  ir::Op op{.spec = ir::find_op(domain, name), .attributes = std::move(attributes)};
  IR_CHECK(op.spec != nullptr, "there is no op {}", name);
  for (const ir::Datum& input : inputs) {
    const bool left_out = input.is_nothing() || (input.is_tensor() && !input.tensor.defined());
    op.inputs.push_back(left_out ? ir::kNoValue : graph.add_value("input", type_of(input)));
  }
  for (std::size_t i = 0; i < outputs; ++i) op.outputs.push_back(graph.add_value("output"));
  graph.ops.push_back(op);
  ir::infer(graph);  // checks the types, as every graph's are before it runs
  std::vector<ir::Datum> given;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    given.push_back(op.inputs[i].valid() ? inputs[i] : ir::Datum());
  return kernels::evaluate(op, given);
}

}  // namespace podium::testing
