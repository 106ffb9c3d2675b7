// Types of values before the run, and what an op's row may ask about them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/datum.h"
#include "ir/graph.h"

namespace podium::ir {

/// An op with the types of its inputs and outputs and the inputs whose numbers are known.
/// Types are those of the moment: all static when a kernel is prepared, perhaps not when a graph is imported.
class TypedOp {
 public:
  const Op& op;
  std::vector<Type> input_types;         ///< a left-out input has an undefined type
  std::vector<const Tensor*> constants;  ///< per input, nullptr when not known
  std::vector<Type> output_types;

  TypedOp(const Op& of) : op(of) {}  // NOLINT: an op is a typed op whose types are not known yet
  /// From the values of the graph the op is in.
  TypedOp(const Graph& graph, const Op& of);

  std::size_t input_count() const { return input_types.size(); }
  std::size_t output_count() const { return op.outputs.size(); }
  bool has_input(std::size_t i) const { return i < op.inputs.size() && op.inputs[i].valid(); }
  bool has_output(std::size_t i) const { return i < op.outputs.size() && op.outputs[i].valid(); }
  const Type& input(std::size_t i) const {
    return input_types[checked_index(std::int64_t(i), input_types.size())];
  }
  const Type& output(std::size_t i) const {
    return output_types[checked_index(std::int64_t(i), output_types.size())];
  }
  /// Dimensions of a tensor input of known rank. IR_CHECK otherwise.
  const Dims& dims(std::size_t i) const;
  DataType element(std::size_t i) const { return input(i).element; }
  /// The numbers of input i when they are known, else nullptr.
  const Tensor* constant(std::size_t i) const { return i < constants.size() ? constants[i] : nullptr; }

  template <class T>
  const T& get(std::string_view name) const {
    return attribute<T>(op, name);
  }
  template <class T>
  const T* get_if(std::string_view name) const {
    return attribute_if<T>(op, name);
  }
  std::int64_t get_int(std::string_view name) const { return attribute<std::int64_t>(op, name); }
  float get_float(std::string_view name) const { return attribute<float>(op, name); }
  const std::string& get_string(std::string_view name) const { return attribute<std::string>(op, name); }
};

/// What an op's infer function is given: reads inputs and attributes, sets outputs.
/// An output it does not set keeps an undefined type. Throw Error for inputs that do not fit each other.
class InferContext : public TypedOp {
 public:
  /// Infers a body under the given input types (the captured ones come last and are added by the
  /// context) and gives the types of its outputs. Set when graphs are inferred, absent when the run asks.
  using InferBody =
      std::function<std::vector<Type>(std::string_view attribute, std::vector<Type> formal_inputs)>;

  InferContext(const Graph& graph, const Op& of) : TypedOp(graph, of) {
    output_types.resize(of.outputs.size());
  }
  explicit InferContext(const Op& of) : TypedOp(of) { output_types.resize(of.outputs.size()); }

  void set_output(std::size_t i, Type type);
  void set_output(std::size_t i, DataType element, Dims dims);
  /// A tensor of known element type and unknown rank.
  void set_output_element(std::size_t i, DataType element);
  /// The output is known without running: Shape of a static value.
  void set_constant(std::size_t i, Tensor tensor);

  /// True when input i is a tensor of known rank (dimensions may be unknown).
  bool has_rank(std::size_t i) const { return i < input_types.size() && input_types[i].has_rank; }
  std::vector<Type> infer_body(std::string_view attribute, std::vector<Type> formal_inputs);

  std::vector<std::optional<Tensor>> known_outputs;
  InferBody body_inference;
};

/// Runs one op on known tensors; used to fold constants. Given by whoever has kernels.
using Evaluate = std::function<std::vector<Datum>(const Op& op, std::span<const Datum> inputs)>;

struct InferOptions {
  /// Absent: types only, nothing is folded.
  Evaluate evaluate = {};
  /// A folded result larger than this many bytes is kept only when it is no larger than the op's inputs, or
  /// these dequantised.
  std::int64_t most_folded_bytes = std::int64_t{64} << 20;
};

/// Types of every value, in one pass; ops whose inputs are all constants become constants when
/// `options.evaluate` is there. Bodies are done too, under the types their op gives them.
/// Error names the node, what was found and what was needed.
void infer(Graph& graph, const InferOptions& options = {});

/// The types an op gives for these inputs, e.g. at run time when data-dependent shapes are known.
/// `inputs`: per input a datum, nullptr when left out.
std::vector<Type> infer_outputs(const Op& op, std::span<const Datum* const> inputs);

}  // namespace podium::ir
