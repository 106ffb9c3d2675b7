#include "executor/python/feeds.h"

#include "executor/cli/run_inputs.h"
#include "executor/python/arrays.h"
#include "executor/session/host_arrays.h"
#include "ir/nearest.h"

namespace podium::python {
namespace {

namespace py = pybind11;
using executor::HostTensor;

void refuse_unknown(const py::dict& feeds, const std::vector<HostTensor>& inputs) {
  for (const auto& [key, value] : feeds) {
    if (!py::isinstance<py::str>(key))
      throw Error("a key of the feeds is no string, the name of an input needed");
    const auto name = key.cast<std::string>();
    std::vector<std::string_view> names;
    for (const HostTensor& input : inputs) names.push_back(input.name);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (names.empty()) throw Error("input '{}' found, the session takes none", name);
    throw Error("'{}' is no input, the nearest is '{}'", name, ir::nearest(name, names));
  }
}

ir::Datum fitted(ir::Datum datum, const ir::Type& wanted, const cli::Options& options, Integers integers) {
  if (!datum.is_tensor()) return datum;
  const ir::DataType found = datum.tensor.type();
  if (integers == Integers::Cast && ir::is_integer(found) && ir::is_integer(wanted.element))
    return cast(datum.tensor, wanted.element);
  datum = cli::in_precision(datum, options);
  const std::string bits = wanted.is_tensor() ? bits_name(wanted.element) : "";
  if (datum.tensor.type() != wanted.element && !bits.empty()) {
    throw Error("an array of {} found, one of ml_dtypes.{} needed (pip install ml_dtypes), or its bits in {}",
                dtype_name(found), dtype_name(wanted.element), bits);
  }
  return datum;
}

ir::Type with_leading(ir::Type type, const ir::Dims& leading) {
  if (type.is_tensor() && type.has_rank) type.dims.insert(type.dims.begin(), leading.begin(), leading.end());
  return type;
}

}  // namespace

std::vector<ir::Datum> data_of(const py::dict& feeds, const std::vector<HostTensor>& inputs,
                               const cli::Options& options, Integers integers) {
  std::vector<ir::Datum> data;
  std::size_t found = 0;
  for (const HostTensor& input : inputs) {
    const py::str name(input.name);
    const ir::Type type = whole_type(input);
    if (feeds.contains(name)) {
      ++found;
    } else if (type.kind != ir::Kind::Optional) {
      refuse_unknown(feeds, inputs);
      throw Error("input '{}' is missing: {} needed", input.name, to_string(type));
    }
    const py::object given = feeds.contains(name) ? py::object(feeds[name]) : py::none();
    try {
      data.push_back(fitted(datum_of(given, type), type, options, integers));
    } catch (const Error& error) {
      throw error.at(fmt::format("input '{}'", input.name));
    }
  }
  if (found < feeds.size()) refuse_unknown(feeds, inputs);
  return data;
}

py::list objects_of(std::span<const ir::Datum> outputs, std::span<const ir::Datum> inputs) {
  py::list objects;
  for (const ir::Datum& output : outputs) objects.append(object_of(output, inputs));
  return objects;
}

TensorsByName tensors_of(const py::dict& arrays) {
  TensorsByName tensors;
  for (const auto& [name, array] : arrays) tensors[py::str(name).cast<std::string>()] = tensor_of(array);
  return tensors;
}

py::dict arrays_of(const TensorsByName& tensors) {
  py::dict arrays;
  for (const auto& [name, tensor] : tensors) arrays[py::str(name)] = object_of(tensor);
  return arrays;
}

std::vector<Port> input_ports(const std::vector<HostTensor>& inputs, int replicas) {
  std::vector<Port> ports;
  for (const HostTensor& input : inputs) {
    ir::Dims leading;
    if (input.micro_batches > 1) leading.push_back(input.micro_batches);
    if (replicas > 1 && !input.broadcast) leading.push_back(replicas);
    ports.push_back({input.name, with_leading(whole_type(input), leading)});
  }
  return ports;
}

std::vector<Port> output_ports(const executor::Program& program) {
  std::vector<Port> ports;
  for (const HostTensor& output : program.outputs) {
    ir::Dims leading = output.leading;
    if (program.replicas > 1) leading.push_back(program.replicas);
    std::erase(leading, 1);
    ports.push_back({output.name, with_leading(whole_type(output), leading)});
  }
  return ports;
}

}  // namespace podium::python
