// The table of ops: what is true of each op on paper. One row an op, in ir/ops/; its numbers are a
// kernel of the same name in executor/kernels/, its gradient a builder in ir/gradients/.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/attribute.h"
#include "ir/data_type.h"

namespace podium::ir {

class InferContext;
class TypedOp;
struct SampledOp;

enum class Formal : std::uint8_t { Required, Optional, Variadic };

/// One formal input or output. A variadic one is the last.
struct Parameter {
  std::string_view name;
  /// Letter of a constraint in OpSpec::types: parameters of one letter share an element type.
  char constraint = 'T';
  Formal formal = Formal::Required;
  /// A variadic parameter whose members may differ in type.
  bool heterogeneous = false;
};

/// The element types of a tensor parameter. With `any_kind`, sequences, optionals and maps are allowed too,
/// and their element types are not checked.
struct TypeConstraint {
  char letter = 'T';
  TypeSet types = {};
  bool any_kind = false;
};

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind = AttributeKind::Int;
  bool required = false;
  std::optional<AttributeValue> fallback = {};  ///< the default ONNX gives, if any
};

/// An attribute with a default: with_default("axis", 0).
AttributeSpec with_default(std::string_view name, AttributeValue value);
/// An attribute that may be absent and has no default.
inline AttributeSpec may_have(std::string_view name, AttributeKind kind) { return {name, kind}; }
inline AttributeSpec must_have(std::string_view name, AttributeKind kind) { return {name, kind, true}; }

/// What one run of an op costs on any machine.
struct Work {
  double flop = 0;   ///< floating point operations; a multiply-add counts two
  double bytes = 0;  ///< bytes of its inputs read and outputs written, each once
};

/// Types (and constants) of the outputs from those of the inputs.
using InferFunction = void (*)(InferContext&);
using WorkFunction = Work (*)(const TypedOp&);
/// Whether each sample of the outputs depends on the same sample of the inputs alone. Asked of an op whose
/// outputs all have an axis of samples (ir/ops/samples.h).
using SampleRule = bool (*)(const SampledOp&);
/// Whether output 0 is a sum or a mean over the samples of the inputs (ir/ops/totals.h).
using TotalRule = int (*)(const SampledOp&);

/// Whether output 0 is input 0 bit by bit.
using HandsOnRule = bool (*)(const TypedOp&);

/// A number as an operand that changes no bit of the other one.
struct Neutral {
  float value = 0;
  bool on_either_side = false;  ///< else as the second operand only
};

/// How the work of an op lies on a processor: what a model of its cost goes by.
enum class Category : std::uint8_t {
  None,            ///< of no row: each has one of those below
  Elementwise,     ///< its operands lie where its result will be
  Normalizing,     ///< statistics of every row, then each element once more
  MatrixProduct,   ///< of two inputs, see OpSpec::factors
  Convolution,     ///< a product of the first input's windows with the second factor
  WeightGradient,  ///< a product of the first input's windows with what flows back
  Recurrent,       ///< a product for all steps, then one after the other
  Attention,       ///< two products of every head, with a softmax between
  Control,         ///< what its bodies do
  Plain,           ///< a reduction, a stretching or, where it has no operations, a movement
};

/// The inputs that a product multiplies.
struct Factors {
  std::size_t left = 0;
  std::size_t right = 0;
};

/// Sets of inputs as bits, bit i for input i: OpSpec::in_place.
inline constexpr unsigned kFirstInput = 1;
inline constexpr unsigned kFirstTwoInputs = 3;
/// False for inputs behind those that have a bit.
constexpr bool has_input(unsigned set, std::size_t input) {
  return input < std::numeric_limits<unsigned>::digits && (set >> input & 1U) != 0;
}

struct OpSpec {
  std::string_view name;
  std::string_view domain = "";  ///< "" is ai.onnx
  int since = 1;                 ///< the version that first had the meaning of this row
  int gained = 1;                ///< the version in which its domain gained an op of the name
  std::vector<Parameter> inputs = {};
  std::vector<Parameter> outputs = {};
  std::vector<TypeConstraint> types = {};
  std::vector<AttributeSpec> attributes = {};
  InferFunction infer = nullptr;
  WorkFunction work = nullptr;
  Category category = Category::None;
  std::optional<Factors> factors = {};  ///< of a matrix product and a convolution
  /// Each element of output 0 comes from the elements of the inputs at its place, stretched as ONNX
  /// broadcasts.
  bool elementwise = false;
  bool norm = false;  ///< a normalisation
  /// Inputs whose memory output 0 may take when it is as large: bit i is input i. A kernel may take fewer.
  unsigned in_place = 0;
  /// Output 0 is input 0's memory under another shape.
  bool view = false;
  HandsOnRule hands_on = nullptr;  ///< nullptr: never
  std::optional<Neutral> neutral = {};
  bool random = false;  ///< a second run may give other numbers: never folded or merged
  /// Elementwise ops need none. An op with neither is run on whole batches: `no_samples` says why.
  SampleRule samples = nullptr;
  std::string_view no_samples = {};
  TotalRule total = nullptr;  ///< nullptr: never, as far as is known
  /// Why no gradient flows through it. The gradients of all others are in ir/gradients/.
  std::string_view no_gradient = {};
  bool refuses_gradient = false;  ///< a gradient that flows into it is an Error, it does not end there

  const AttributeSpec* find_attribute(std::string_view attribute) const;
};

/// What the row says of the input or output at this place, the last one's for all behind it; nullptr where it
/// has none.
const Parameter* parameter_at(const std::vector<Parameter>& formal, std::size_t place);

/// Every row, in a fixed order: family by family.
std::span<const OpSpec* const> all_ops();
/// nullptr when there is no such op. Domain "ai.onnx" is the same as "".
const OpSpec* find_op(std::string_view domain, std::string_view name);

}  // namespace podium::ir
