#include "annotate/op_steps.h"

#include <algorithm>
#include <numeric>

#include "annotate/partition.h"
#include "ir/ops/loops.h"

namespace podium::annotate {
namespace {

const StepsRow* find_row(const ir::Op& op) {
  if (!op.spec->domain.empty()) return nullptr;
  for (const auto rows : {normalisation_rows(), reduction_rows(), quantized_rows()}) {
    const auto found = std::ranges::find(rows, op.spec->name, &StepsRow::op);
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::vector<InputAxis> axes_of_steps(const ir::Graph& graph, const ir::Op& op) {
  const StepsRow* row = find_row(op);
  if (row == nullptr) return {};
  const ir::TypedOp typed(graph, op);
  return has_static_operands(typed) ? row->axes(typed) : std::vector<InputAxis>{};
}

std::vector<ir::Op> steps_of(ir::Graph& graph, const ir::Op& op) {
  const std::size_t first = graph.ops.size();
  ir::Builder appends(graph);
  ir::TermBuilder builder(appends);
  const std::vector<ir::ValueId> results = find_row(op)->results(builder, ir::TypedOp(graph, op));
  std::vector<ir::Op> steps(std::move_iterator(graph.ops.begin() + static_cast<std::ptrdiff_t>(first)),
                            std::move_iterator(graph.ops.end()));
  graph.ops.resize(first);
  // The op's own value for a result of the steps that is an output.
  const auto own = [&](ir::ValueId value) {
    const std::size_t i = std::ranges::find(results, value) - results.begin();
    const bool is_output = value.valid() && i < results.size() && i < op.outputs.size();
    return is_output && op.outputs[i].valid() ? op.outputs[i] : value;
  };
  for (ir::Op& step : steps) {
    step.name = op.name;
    for (const ir::Attribute& attribute : op.attributes) {
      const bool is_kept = attribute.name.starts_with("__") && attribute.name != kShardingPlace;
      if (is_kept) step.attributes.push_back(attribute);
    }
    for (ir::ValueId& value : step.inputs) value = own(value);
    step.outputs[0] = own(step.outputs[0]);
  }
  return steps;
}

ir::Term widened(ir::TermBuilder& builder, ir::ValueId value) {
  const ir::DataType element = builder.type(value).element;
  const bool is_narrow = element == ir::DataType::Float16 || element == ir::DataType::Bfloat16;
  const ir::Term given = term(builder, value);
  return is_narrow ? given.cast(ir::DataType::Float) : given;
}

std::vector<InputAxis> axes_of_input(std::size_t input, const std::vector<std::int64_t>& axes) {
  std::vector<InputAxis> all;
  for (std::int64_t axis : axes) all.push_back({input, axis});
  return all;
}

ir::Term counted_along(ir::TermBuilder& builder, std::int64_t count, std::int64_t axis, std::int64_t rank) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  ir::Dims shape(rank, 1);
  shape[axis] = count;
  return term(builder, builder.ints(numbers)).with("Reshape", builder.ints(shape));
}

}  // namespace podium::annotate
