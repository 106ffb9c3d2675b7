#include "executor/session/host_arrays.h"

#include <algorithm>
#include <cmath>

#include "executor/kernels/tools/kernel.h"
#include "ir/passes/split_batch.h"

namespace podium {

using executor::HostTensor;

namespace {

bool dims_fit(const ir::Type& wanted, const ir::Dims& found) {
  if (!wanted.has_rank) return true;
  return std::equal(wanted.dims.begin(), wanted.dims.end(), found.begin(), found.end(),
                    [](std::int64_t a, std::int64_t b) { return a == ir::kUnknown || a == b; });
}

// What is prepared for a type must never see another, so the items of sequences are looked at too.
bool fits(const ir::Type& wanted, const ir::Datum& found) {
  switch (wanted.kind) {
    case ir::Kind::Optional:
      return found.is_nothing() || fits(*wanted.inner, found);
    case ir::Kind::Sequence:
      return found.holds == ir::Datum::Holds::Sequence &&
             std::all_of(found.items->begin(), found.items->end(),
                         [&](const ir::Datum& item) { return fits(*wanted.inner, item); });
    case ir::Kind::Map:
      return found.holds == ir::Datum::Holds::Map;
    case ir::Kind::Tensor:
      break;
  }
  const bool any_element = wanted.element == ir::DataType::Undefined;
  return found.is_tensor() && (any_element || wanted.element == found.tensor.type()) &&
         dims_fit(wanted, found.tensor.dims());
}

// Micro-batches that are no tensors are the items of a sequence.
void check_sequence(const HostTensor& input, const ir::Datum& given, int replicas) {
  const ir::Type one = whole_type(input);
  const auto needed = static_cast<std::size_t>(input.micro_batches) * static_cast<std::size_t>(replicas);
  const bool is_sequence = given.holds == ir::Datum::Holds::Sequence && given.items->size() == needed &&
                           std::all_of(given.items->begin(), given.items->end(),
                                       [&](const ir::Datum& item) { return fits(one, item); });
  if (is_sequence) return;
  throw Error("input '{}': {} found, a sequence of {} micro-batches needed, each {}", input.name,
              to_string(type_of(given)), needed, to_string(one));
}

// What to type where an array has other micro-batches than a step takes: " (--batches-per-step 5)".
std::string flag_for(const ir::Datum& given, const ir::Type& one, int replicas) {
  if (!given.is_tensor() || !one.is_tensor() || !one.is_static() || given.tensor.type() != one.element)
    return "";
  const std::int64_t of_batch = one.element_count() * replicas;
  const bool are_whole = of_batch > 0 && given.tensor.size() > 0 && given.tensor.size() % of_batch == 0;
  return are_whole ? fmt::format(" (--batches-per-step {})", given.tensor.size() / of_batch) : "";
}

// An array of several micro-batches: only the number of its elements counts.
void check_array(const HostTensor& input, const ir::Datum& given, int replicas) {
  const ir::Type one = whole_type(input);
  if (!one.is_tensor()) return check_sequence(input, given, replicas);
  if (!given.is_tensor() || given.tensor.type() != one.element) {
    throw Error("input '{}': {} found, elements of type {} needed", input.name, to_string(type_of(given)),
                name_of(one.element));
  }
  const std::int64_t needed = one.element_count() * input.micro_batches * replicas;
  if (given.tensor.size() == needed) return;
  throw Error(
      "input '{}': {} elements found, {} needed: {} of a micro-batch x {} micro-batches x {} replicas{}",
      input.name, given.tensor.size(), needed, one.element_count(), input.micro_batches, replicas,
      input.broadcast ? " (broadcast)" : flag_for(given, one, replicas));
}

}  // namespace

ir::Tensor cast(const ir::Tensor& tensor, ir::DataType type) {
  if (tensor.type() == type) return tensor;
  ir::Op op{.spec = ir::find_op("", "Cast"), .inputs = {ir::ValueId{0}}, .outputs = {ir::ValueId{1}}};
  ir::set_attribute(op, "to", static_cast<std::int64_t>(type));
  const ir::Datum given = tensor;
  return kernels::evaluate(op, {&given, 1})[0].tensor;
}

bool is_finite(const ir::Tensor& tensor) {
  const ir::Tensor numbers = cast(tensor, ir::DataType::Double);
  const auto values = numbers.values<double>();
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

void check_data(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values) {
    if (value.data_left_out) {
      throw Error("weight '{}' was written without its data, which a run needs (weights=seeded)", value.name);
    }
  }
}

void check_host_tensors(const executor::Program& program) {
  const auto check = [&](const HostTensor& tensor, const char* what, bool comes) {
    if (tensor.micro_batches * program.replicas == 1) return;
    const ir::Type type = whole_type(tensor);
    const bool is_apart = !type.is_tensor() && tensor.slices == 1;
    if (is_apart || (type.is_tensor() && (!comes || type.is_static()))) return;
    throw Error("{} '{}': {} found, a tensor{} needed for several micro-batches in one array", what,
                tensor.name, to_string(type), comes ? " of known size" : "");
  };
  for (const HostTensor& input : program.inputs) check(input, "input", true);
  for (const HostTensor& output : program.outputs) check(output, "output", false);
}

void check_input(const HostTensor& input, const ir::Datum& given, int all_replicas) {
  const int replicas = input.broadcast ? 1 : all_replicas;
  if (input.micro_batches * replicas > 1) return check_array(input, given, replicas);
  const ir::Type type = whole_type(input);
  if (fits(type, given)) return;
  throw Error("input '{}': {} found, {} needed{}", input.name, to_string(type_of(given)), to_string(type),
              flag_for(given, type, replicas));
}

ir::Datum first_if_apart(const HostTensor& input, const ir::Datum& given, int replicas) {
  const bool are_several = input.micro_batches * (input.broadcast ? 1 : replicas) > 1;
  return are_several && !whole_type(input).is_tensor() ? given.items->front() : given;
}

int axis_of(const SampleAxes& axes, const std::string& input) {
  const auto found = axes.find(input);
  return found == axes.end() ? 0 : found->second;
}

std::int64_t samples_of(const ir::Graph& graph, const SampleAxes& axes) {
  if (graph.inputs.empty()) return 1;
  const ir::Value& input = graph[graph.inputs[0]];
  const int axis = axes.contains(input.name) ? axes.at(input.name) : ir::sample_axes(graph)[graph.inputs[0]];
  return input.type.rank() > axis && input.type.dims[axis] > 0 ? input.type.dims[axis] : 1;
}

}  // namespace podium
