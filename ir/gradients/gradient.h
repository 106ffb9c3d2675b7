// What an op's gradient builder is given.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/builder.h"

namespace podium::ir {

/// A tensor of floats that are all `value`. Error for an element type without gradients.
Tensor filled(DataType element, Dims dims, double value);
/// A tensor of floats times a number, as another type of floats.
Tensor multiplied(const Tensor& tensor, double factor, DataType element);

/// A builder needs a shape or numbers that only the run knows.
class NeedsRun : public Error {
 public:
  using Error::Error;
};

class GradientContext;
/// Appends ops that compute the gradients of the inputs.
using GradientFunction = void (*)(GradientContext&);

/// What builds the gradient of an op; nullptr for an op that has none. Its row says why in `no_gradient`.
GradientFunction find_gradient(const OpSpec& spec);
inline bool is_differentiable(const OpSpec& spec) { return find_gradient(spec) != nullptr; }

/// An input that a derivative exists by and is not taken by: what it says is not trained.
struct GivenInput {
  std::string_view op;
  std::size_t input = 0;
};
std::span<const GivenInput> inputs_taken_as_given();
bool is_taken_as_given(const OpSpec& spec, std::size_t input);

/// Chain rule for one op: from the gradients of its outputs to those of its inputs. Builders append ops that
/// are differentiable themselves, so that gradients of gradients need nothing more.
class GradientContext {
 public:
  Builder& builder;
  const Op op;                            ///< a copy: the builder appends to the ops it came from
  std::vector<ValueId> output_gradients;  ///< kNoValue: nothing flows into that output
  std::vector<ValueId> input_gradients;   ///< to fill; kNoValue: none
  std::vector<bool> wanted;               ///< per input: somebody needs its gradient
  OpId id = {};                           ///< where the builder's graph has the op

  GradientContext(Builder& with, Op of, std::vector<ValueId> flowing, std::vector<bool> needed)
      : builder(with),
        op(std::move(of)),
        output_gradients(std::move(flowing)),
        input_gradients(op.inputs.size()),
        wanted(std::move(needed)) {}

  ValueId input(std::size_t i) const { return op.inputs[i]; }
  ValueId output(std::size_t i = 0) const { return op.outputs[i]; }
  ValueId output_gradient(std::size_t i = 0) const { return output_gradients[i]; }
  bool has_input(std::size_t i) const { return i < op.inputs.size() && op.inputs[i].valid(); }
  /// Look before building what only this input's gradient needs.
  bool wants(std::size_t i) const { return i < wanted.size() && wanted[i]; }
  void set(std::size_t input_index, ValueId gradient) { input_gradients[input_index] = gradient; }

  const Type& type(ValueId value) const { return builder.type(value); }
  /// The known dimensions of a value. NeedsRun when one is not known.
  Dims static_dims(ValueId value) const;
  /// Rank of a value. NeedsRun when it is not known.
  std::int64_t rank(ValueId value) const;
  /// The numbers of an input. NeedsRun when they are not known.
  const Tensor& known(std::size_t input) const;
  ValueId call(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return builder.op(type, std::move(inputs), std::move(attributes));
  }
  ValueId ints(const std::vector<std::int64_t>& values) { return builder.constant(Tensor::ints(values)); }
  /// A scalar constant of the element type of `like`.
  ValueId number(double value, ValueId like);
  /// A constant where the shape is known, else filled when it runs. Of a sequence, item by item.
  ValueId filled_like(ValueId like, double value);
  /// The shape of a value: a constant where it is known.
  ValueId shape_of(ValueId value);
  ValueId reshape_like(ValueId value, ValueId like);
  /// Of tensors of one shape, in this order; of sequences item by item, of optionals of what they hold.
  ValueId sum(const std::vector<ValueId>& values);
  /// Sums `gradient` over the dimensions along which `like` was broadcast, so that it has like's shape.
  ValueId sum_to_shape_of(ValueId gradient, ValueId like);
};

}  // namespace podium::ir
