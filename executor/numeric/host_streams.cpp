// Streams are counters: the n-th load of an input by a replica is slice n mod slices of micro-batch n /
// slices. Where a piece lies in the host's array follows from chunk (micro-batch x replicas + replica) and
// slice: `rows` runs of `row` elements, `stride` apart. A piece in one run is handed out as a view. An output
// whose slices add up keeps its sum in the array; one of EveryN drops all groups of micro-batches but each
// N-th. A part is a box of a micro-batch: its runs are copied one after the other.
#include "executor/numeric/host_streams.h"

#include <algorithm>
#include <array>

#include "executor/kernels/tools/add_up.h"
#include "executor/kernels/tools/strides.h"
#include "ir/copy_elements.h"

namespace podium::numeric {

using executor::HostTensor;
using executor::Program;
using ir::Datum;
using ir::Dims;
using ir::Tensor;

namespace {

std::vector<std::vector<int>> counters(const std::vector<HostTensor>& tensors, int replicas) {
  std::vector<std::vector<int>> counts;
  for (const HostTensor& tensor : tensors)
    counts.emplace_back(static_cast<std::size_t>(count_moves(tensor)) * replicas, 0);
  return counts;
}

void reset(std::vector<std::vector<int>>& counts) {
  for (std::vector<int>& of_tensor : counts) std::ranges::fill(of_tensor, 0);
}

// Micro-batches in the host's array.
int chunks_of_input(const HostTensor& input, int replicas) {
  return input.micro_batches * (input.broadcast ? 1 : replicas);
}

bool comes_whole(const HostTensor& tensor, int chunks) {
  return chunks == 1 && tensor.slices == 1 && tensor.parts.empty();
}

// Where a slice lies in an array of micro-batches: `rows` pieces of `row` elements, `stride` elements apart.
struct Piece {
  std::int64_t first;
  std::int64_t rows;
  std::int64_t row;
  std::int64_t stride;
};

bool adds_up(const HostTensor& tensor) {
  return tensor.slices > 1 && tensor.slice_axis == executor::kAddedUp;
}

// `dims` are the dimensions of one slice.
Piece piece_of(const HostTensor& tensor, const Dims& dims, int chunk, int slice) {
  if (adds_up(tensor)) {
    const std::int64_t elements = ir::element_count(dims);
    return {chunk * elements, 1, elements, elements};
  }
  const auto axis = tensor.slice_axis;
  const std::int64_t rows = tensor.slices == 1 ? 1 : kernels::count_of(dims, 0, axis);
  const std::int64_t row =
      tensor.slices == 1 ? ir::element_count(dims) : kernels::count_of(dims, axis, dims.size());
  const std::int64_t stride = row * tensor.slices;
  return {chunk * rows * stride + slice * row, rows, row, stride};
}

void check_input(const HostTensor& input, const Datum& given, int replicas) {
  const int chunks = chunks_of_input(input, replicas);
  if (comes_whole(input, chunks)) return;
  const ir::Type whole = whole_type(input);
  if (!whole.is_tensor()) {
    const bool is_sequence = given.holds == Datum::Holds::Sequence && std::ssize(*given.items) == chunks;
    if (is_sequence && input.slices == 1) return;
    throw Error("input '{}': {} found, a sequence of {} micro-batches needed", input.name,
                to_string(type_of(given)), chunks);
  }
  if (!whole.is_static()) {
    throw Error("input '{}': {} found, a known shape needed to take {} micro-batches from one array",
                input.name, to_string(whole), chunks);
  }
  if (!given.is_tensor() || given.tensor.type() != whole.element) {
    throw Error("input '{}': {} found, {} needed", input.name, to_string(type_of(given)),
                name_of(whole.element));
  }
  const std::int64_t needed = whole.element_count() * chunks;
  if (given.tensor.size() == needed) return;
  throw Error("input '{}': {} elements found, {} needed ({} micro-batches of {} for {} replicas)", input.name,
              given.tensor.size(), needed, input.micro_batches, to_string(whole),
              input.broadcast ? 1 : replicas);
}

}  // namespace

HostInputs::HostInputs(const Program& program)
    : program_(&program), loads_(counters(program.inputs, program.replicas)) {}

void HostInputs::start(std::span<const Datum> given) {
  IR_CHECK(given.size() == program_->inputs.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    check_input(program_->inputs[i], given[i], program_->replicas);
  given_ = given;
  reset(loads_);
}

const Datum& HostInputs::next(int input, int part, int replica) {
  const HostTensor& tensor = program_->inputs[input];
  const int load = loads_[input][part * program_->replicas + replica]++;
  const int micro_batch = load / tensor.slices;
  IR_CHECK(micro_batch < tensor.micro_batches, "input {} is loaded more than {} times", tensor.name,
           tensor.micro_batches * tensor.slices);
  const Datum& given = given_[input];
  if (comes_whole(tensor, chunks_of_input(tensor, program_->replicas))) return given;
  const int chunk = tensor.broadcast ? micro_batch : micro_batch * program_->replicas + replica;
  if (!given.is_tensor()) return (*given.items)[chunk];
  const ir::DataType element = tensor.type.element;
  const auto view = [&](const Dims& dims, std::int64_t first) -> const Datum& {
    void* memory = const_cast<void*>(given.tensor.raw());
    return next_ = Tensor::view(element, dims,
                                static_cast<std::byte*>(kernels::element_at(memory, element, first)));
  };
  if (!tensor.parts.empty()) {
    const Dims& whole = tensor.type.dims;
    const ir::Box& box = tensor.parts[part];
    const std::int64_t first = chunk * ir::element_count(whole);
    if (const auto run = ir::only_run(whole, box)) return view(dims_of(box), first + *run);
    Tensor moved = pool_.take(element, dims_of(box));
    ir::copy_out_of_box(given.tensor, {whole, first}, box, moved);
    return next_ = std::move(moved);
  }
  const Piece piece = piece_of(tensor, tensor.type.dims, chunk, load % tensor.slices);
  if (piece.rows == 1) return view(tensor.type.dims, piece.first);
  Tensor slice = pool_.take(element, tensor.type.dims);
  const kernels::StridedCopy rows(element, {{piece.rows, piece.stride, piece.row}, {piece.row, 1, 1}});
  rows.run(kernels::element_at(given.tensor.raw(), element, piece.first), slice.raw());
  return next_ = std::move(slice);
}

HostOutputs::HostOutputs(const Program& program)
    : program_(&program),
      stores_(counters(program.outputs, program.replicas)),
      dims_(program.outputs.size()),
      results_(program.outputs.size()),
      items_(program.outputs.size()) {}

void HostOutputs::start() {
  reset(stores_);
  begun_.assign(results_.size(), false);
  items_.assign(results_.size(), {});
}

void HostOutputs::offer(int output, int part, int replica, const Datum& value) {
  const HostTensor& tensor = program_->outputs[output];
  const int store = stores_[output][part * program_->replicas + replica]++;
  const int micro_batch = store / tensor.slices;
  const int batch = micro_batch / tensor.group;
  if ((batch + 1) % tensor.every != 0) return;
  const int kept = tensor.micro_batches / tensor.every * program_->replicas;
  Datum& result = results_[output];
  if (comes_whole(tensor, kept)) {
    result = value;
    return;
  }
  const int place = batch / tensor.every * tensor.group + micro_batch % tensor.group;
  const int chunk = place * program_->replicas + replica;
  if (!tensor.parts.empty()) return put_part(output, part, chunk, value);
  if (!begun_[output]) begin(output, value);
  put(output, chunk, store % tensor.slices, value);
}

void HostOutputs::begin(int output, const Datum& first) {
  const HostTensor& tensor = program_->outputs[output];
  if (first.is_tensor()) return begin(output, first.tensor.type(), first.tensor.dims());
  begun_[output] = true;
  const int kept = tensor.micro_batches / tensor.every * program_->replicas;
  items_[output].assign(kept, Datum());
  dims_[output].clear();
}

void HostOutputs::begin(int output, ir::DataType type, const Dims& dims) {
  const HostTensor& tensor = program_->outputs[output];
  begun_[output] = true;
  Dims whole;
  for (std::int64_t dim : tensor.leading) {
    if (dim != 1) whole.push_back(dim);
  }
  if (program_->replicas != 1) whole.push_back(program_->replicas);
  IR_CHECK(ir::element_count(whole) == tensor.micro_batches / tensor.every * program_->replicas,
           "output {}: {} for {} micro-batches, one in {} kept", tensor.name, ir::to_string(whole),
           tensor.micro_batches, tensor.every);
  whole.insert(whole.end(), dims.begin(), dims.end());
  if (tensor.slices > 1 && !adds_up(tensor))
    whole[whole.size() - dims.size() + tensor.slice_axis] *= tensor.slices;
  results_[output] = {};  // so that its memory can be taken again
  results_[output] = pool_.take(type, whole);
  dims_[output] = dims;
}

void HostOutputs::put(int output, int chunk, int slice, const Datum& value) {
  const HostTensor& tensor = program_->outputs[output];
  const Dims& needed = dims_[output];
  if (!items_[output].empty() && !value.is_tensor()) {
    items_[output][chunk] = value;
    results_[output] = Datum::sequence(items_[output]);
    return;
  }
  if (!value.is_tensor() || value.tensor.dims() != needed) {
    throw Error(
        "output '{}': a micro-batch of {} found after one of {}, one shape needed to put them into one array",
        tensor.name, to_string(type_of(value)), ir::to_string(needed));
  }
  Tensor& result = results_[output].tensor;
  const Piece piece = piece_of(tensor, needed, chunk, slice);
  if (adds_up(tensor) && slice > 0) {
    void* there = kernels::element_at(result.raw(), result.type(), piece.first);
    Tensor sum = Tensor::view(result.type(), needed, static_cast<std::byte*>(there));
    const std::array<const Tensor*, 2> terms{&sum, &value.tensor};
    kernels::add_up(terms, kernels::Combine::Sum, {.count = sum.size()}, sum);
    return;
  }
  const kernels::StridedCopy rows(result.type(), {{piece.rows, piece.row, piece.stride}, {piece.row, 1, 1}});
  rows.run(value.tensor.raw(), kernels::element_at(result.raw(), result.type(), piece.first));
}

void HostOutputs::put_part(int output, int part, int chunk, const Datum& value) {
  const HostTensor& tensor = program_->outputs[output];
  if (!begun_[output]) begin(output, tensor.type.element, tensor.type.dims);
  const Dims& whole = tensor.type.dims;
  ir::copy_into_box(value.tensor, results_[output].tensor, {whole, chunk * ir::element_count(whole)},
                    tensor.parts[part]);
}

std::span<const Datum> HostOutputs::results() const {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const HostTensor& tensor = program_->outputs[i];
    for (int stores : stores_[i]) {
      IR_CHECK(stores == tensor.micro_batches * tensor.slices, "output {} was stored {} times, {} needed",
               tensor.name, stores, tensor.micro_batches * tensor.slices);
    }
  }
  return results_;
}

}  // namespace podium::numeric
