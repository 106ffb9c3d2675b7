// The table of ops: what is true of each op on paper. One row an op, in ir/ops/; its numbers are a
// kernel of the same name in executor/kernels/.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/attribute.h"
#include "ir/data_type.h"

namespace podium::ir {

class InferContext;
class TypedOp;
class GradientContext;

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
/// Appends ops that compute the gradients of the inputs.
using GradientFunction = void (*)(GradientContext&);

struct OpSpec {
  std::string_view name;
  std::string_view domain = "";  ///< "" is ai.onnx
  int since = 1;                 ///< the version that first had the meaning of this row
  std::vector<Parameter> inputs = {};
  std::vector<Parameter> outputs = {};
  std::vector<TypeConstraint> types = {};
  std::vector<AttributeSpec> attributes = {};
  InferFunction infer = nullptr;
  WorkFunction work = nullptr;
  GradientFunction gradient = nullptr;
  std::string_view no_gradient = {};  ///< why there is none, where there cannot be one
  bool random = false;                ///< a second run may give other numbers: never folded or merged
  /// Output 0 is input 0's memory under another shape.
  bool view = false;

  const AttributeSpec* find_attribute(std::string_view attribute) const;
};

/// Every row, in a fixed order: family by family.
std::span<const OpSpec* const> all_ops();
/// nullptr when there is no such op. Domain "ai.onnx" is the same as "".
const OpSpec* find_op(std::string_view domain, std::string_view name);

}  // namespace podium::ir
