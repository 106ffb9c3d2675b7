// Samples lie along the leading dimension, whatever axis the model has them on: a micro-batch is gathered row
// by row and turned to that axis. What nobody has data for is drawn, as many samples as the others have.
#include "executor/session/samples.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "executor/kernels/tools/kernel.h"
#include "executor/session/random_input.h"
#include "ir/copy_elements.h"
#include "ir/shell_word.h"

namespace podium {

using executor::HostTensor;

namespace {

// Integers become anything, floats other floats.
bool can_cast(ir::DataType from, ir::DataType to) {
  if (from == to) return true;
  return (ir::is_integer(from) && (ir::is_integer(to) || ir::is_float(to))) ||
         (ir::is_float(from) && ir::is_float(to));
}

// Row `from` of one array to row `to` of another.
void copy_row(const ir::Tensor& array, std::int64_t from, ir::Tensor& part, std::int64_t to) {
  const std::int64_t elements = elements_of_sample(array);
  copy_elements(array, from * elements, part, to * elements, elements);
}

ir::Tensor transposed(const ir::Tensor& tensor, ir::IntList order) {
  ir::Op op{.spec = ir::find_op("", "Transpose"), .inputs = {ir::ValueId{0}}, .outputs = {ir::ValueId{1}}};
  ir::set_attribute(op, "perm", std::move(order));
  const ir::Datum given = tensor;
  return kernels::evaluate(op, {&given, 1})[0].tensor;
}

// The inverse of samples_first: rows as micro-batches of `type`, whose samples lie on `axis`.
ir::Tensor micro_batches(const ir::Tensor& rows, const ir::Type& type, int axis) {
  const std::int64_t batch = std::max<std::int64_t>(type.dims[axis], 1);
  ir::Dims dims{rows.dim(0) / batch, batch};
  for (int i = 0; i < type.rank(); ++i) {
    if (i != axis) dims.push_back(type.dims[i]);
  }
  ir::IntList order{0};
  for (int i = 0; i < axis; ++i) order.push_back(2 + i);
  order.push_back(1);
  for (int i = axis + 1; i < type.rank(); ++i) order.push_back(1 + i);
  return transposed(rows.reshaped(std::move(dims)), std::move(order));
}

}  // namespace

ir::Tensor samples_first(const ir::Tensor& array, int axis, int ready) {
  ir::IntList order;
  for (int i = 0; i < ready; ++i) order.push_back(i);
  order.push_back(ready + axis);
  for (int i = ready; i < array.rank(); ++i) {
    if (i != ready + axis) order.push_back(i);
  }
  ir::Tensor moved = axis == 0 ? array : transposed(array, std::move(order));
  ir::Dims dims(moved.dims().begin() + ready, moved.dims().end());
  for (int i = 0; i < ready; ++i) dims[0] *= array.dim(i);
  return moved.reshaped(std::move(dims));
}

std::int64_t samples_of_micro_batch(const HostTensor& input, const SampleAxes& axes) {
  const ir::Type type = whole_type(input);
  const int axis = axis_of(axes, input.name);
  if (type.rank() > axis) return type.dims[axis];
  throw Error("input '{}': {} found, a dimension of samples needed{}", input.name, to_string(type),
              axis == 0 ? "" : fmt::format(" on axis {}", axis));
}

std::int64_t elements_of_sample(const ir::Tensor& array) {
  return array.size() / std::max<std::int64_t>(array.dim(0), 1);
}

void draw_missing(Samples& samples, const std::vector<HostTensor>& inputs, const IdCounts& ids,
                  std::int64_t count, std::uint64_t seed) {
  if (samples.arrays.empty()) samples.count = count;
  for (const HostTensor& input : inputs) {
    if (samples.arrays.contains(input.name)) continue;
    ir::Type type = whole_type(input);
    const int axis = axis_of(samples.axes, input.name);
    if (type.rank() <= axis) continue;  // check_samples says so
    type.dims.erase(type.dims.begin() + axis);
    type.dims.insert(type.dims.begin(), samples.count);
    samples.arrays[input.name] = random_input(input.name, type, ids, seed).tensor;
    samples.files[input.name] = "random values of " + input.name;
  }
  check_samples(samples, inputs);
}

namespace {

void check_has_all(const Samples& samples, const std::vector<HostTensor>& inputs) {
  std::vector<std::string> names;
  std::vector<std::string> flags;
  for (const HostTensor& input : inputs) {
    if (samples.arrays.contains(input.name)) continue;
    names.push_back(fmt::format("'{}'", input.name));
    flags.push_back(fmt::format("{} {} ({})", samples.flag, ir::shell_word(input.name + "=FILE"),
                                to_string(whole_type(input))));
  }
  if (names.empty()) return;
  throw Error("input{} {}: no data found, {} needed with {} samples", names.size() > 1 ? "s" : "",
              fmt::join(names, ", "), fmt::join(flags, " "), samples.count);
}

}  // namespace

void check_samples(const Samples& samples, const std::vector<HostTensor>& inputs) {
  check_has_all(samples, inputs);
  for (const HostTensor& input : inputs) {
    const auto found = samples.arrays.find(input.name);
    const ir::Type type = whole_type(input);
    const std::int64_t batch = samples_of_micro_batch(input, samples.axes);
    const std::int64_t needed = type.element_count() / std::max<std::int64_t>(batch, 1);
    const ir::Tensor& array = found->second;
    if (elements_of_sample(array) != needed) {
      throw Error("{}: {} elements a sample found ({}), {} needed by the input's {}",
                  samples.files.at(input.name), elements_of_sample(array), to_string(array.type_and_dims()),
                  needed, to_string(type));
    }
    if (!can_cast(array.type(), type.element)) {
      throw Error("{}: elements of type {} found, {} needed", samples.files.at(input.name),
                  name_of(array.type()), name_of(type.element));
    }
  }
  for (const auto& [name, where] : samples.files) {
    const auto same = [&name = name](const HostTensor& input) { return input.name == name; };
    if (std::none_of(inputs.begin(), inputs.end(), same))
      throw Error("{}: the model has no such input", where);
  }
}

std::vector<ir::Datum> take_rows(const Samples& samples, std::span<const std::int64_t> rows,
                                 const std::vector<HostTensor>& inputs) {
  std::vector<ir::Datum> taken;
  for (const HostTensor& input : inputs) {
    const ir::Tensor& array = samples.arrays.at(input.name);
    const std::int64_t elements = elements_of_sample(array);
    ir::Tensor part(array.type(), {std::ssize(rows), elements});
    for (std::size_t i = 0; i < rows.size(); ++i) copy_row(array, rows[i], part, i);
    const ir::Type type = whole_type(input);
    part = cast(part, type.element);
    if (const int axis = axis_of(samples.axes, input.name); axis > 0) part = micro_batches(part, type, axis);
    taken.emplace_back(part.size() == type.element_count() ? part.reshaped(type.dims) : part);
  }
  return taken;
}

std::vector<std::int64_t> order_of_rows(std::int64_t count, const std::optional<std::uint64_t>& seed,
                                        int epoch) {
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (!seed) return order;
  // By hand: std::shuffle differs between libraries.
  std::seed_seq sequence{static_cast<std::uint32_t>(*seed), static_cast<std::uint32_t>(*seed >> 32),
                         static_cast<std::uint32_t>(epoch)};
  std::mt19937_64 random(sequence);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace podium
