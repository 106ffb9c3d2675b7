// A kernel: the numbers of one op. Prepared once for known types, then run any number of times.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/infer.h"

namespace podium::kernels {

using ir::DataType;
using ir::Datum;
using ir::Dims;
using ir::Tensor;

/// The view of a prepared kernel on one run. The tensors have the types that the kernel was prepared for.
class RunContext {
 public:
  std::span<const Datum* const> inputs;  ///< nullptr: left out
  std::span<Datum* const> outputs;       ///< nullptr: left out
  std::byte* scratch_memory = nullptr;

  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i] != nullptr; }
  const Tensor& input(std::size_t i) const { return datum(i).tensor; }
  const Datum& datum(std::size_t i) const {
    if (!has_input(i)) [[unlikely]]
      ir::fail_id(i, inputs.size());
    return *inputs[i];
  }
  /// Memory of the type and shape that the op's infer function gave; its numbers are undefined.
  Tensor& output(std::size_t i) const { return outputs[i]->tensor; }
  /// Sets an output: one whose shape only the data decides, a sequence, an optional or a result of a body.
  void set(std::size_t i, Datum value) const { *outputs[i] = std::move(value); }
  /// The bytes asked for with need_scratch, 64-byte aligned.
  template <class T>
  T* scratch() const {
    return reinterpret_cast<T*>(scratch_memory);
  }
};

/// Runs the op once. It must not change anything that it has captured: replicas run it at the same time.
using PreparedKernel = std::function<void(const RunContext&)>;
/// Runs a body: inputs (captured ones last) to outputs. An output has memory of its own or, where the body
/// returns an input unchanged, the memory of the input.
using BodyRunner = std::function<std::vector<Datum>(std::span<const Datum>)>;

class PackedStore;   // packed_store.h
class PackedBefore;  // the same

/// The information from which a kernel is prepared. Types of tensor inputs are static: when a shape is known
/// only at run time, the engine prepares then. Output types are static unless only data decides them.
class PrepareContext : public ir::TypedOp {
 public:
  using TypedOp::TypedOp;

  /// Asks for bytes of memory, uninitialised in each run, which the prepared kernel finds in
  /// RunContext::scratch.
  void need_scratch(std::size_t bytes) { scratch_bytes = bytes; }
  /// Prepares a body. Errors of the body's nodes follow the attribute's name. An op with bodies is prepared
  /// once, not again for other shapes: its kernel takes what its types leave open from the data.
  BodyRunner prepare_body(std::string_view attribute) const;

  std::size_t scratch_bytes = 0;
  std::function<BodyRunner(const ir::Graph&)> body_preparer;
  std::uint64_t seed = 0;                 ///< for random ops without a seed of their own
  PackedStore* packed_store = nullptr;    ///< outlives the preparation; absent: packed weights are not kept
  PackedBefore* packed_before = nullptr;  ///< of the same block; absent: none are shared
};

struct KernelSpec {
  std::string_view name;
  /// Throws Error for types or attribute values that the op's definition excludes.
  PreparedKernel (*prepare)(PrepareContext&) = nullptr;
  std::string_view domain = "";
  /// The inputs whose memory output 0 may take when its shape and type are the same: the kernel reads every
  /// element before it writes the element of the same index. Bit i stands for input i.
  unsigned in_place = 0;
};

/// nullptr when there is none.
const KernelSpec* find_kernel(std::string_view domain, std::string_view name);

/// Runs one op on known tensors, e.g. to fold constants: infers, prepares, runs.
std::vector<Datum> evaluate(const ir::Op& op, std::span<const Datum> inputs);

}  // namespace podium::kernels
