// What an op's gradient builder is given.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/filled.h"
#include "ir/term.h"

namespace podium::ir {

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
class GradientContext : public TermBuilder {
 public:
  const Op op;                            ///< a copy: the builder appends to the ops it came from
  std::vector<ValueId> output_gradients;  ///< kNoValue: nothing flows into that output
  std::vector<ValueId> input_gradients;   ///< to fill; kNoValue: none
  std::vector<bool> wanted;               ///< per input: somebody needs its gradient
  OpId id = {};                           ///< where the builder's graph has the op

  GradientContext(Builder& with, Op of, std::vector<ValueId> flowing, std::vector<bool> needed)
      : TermBuilder(with),
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

  /// The numbers of an input. NeedsRun when they are not known.
  const Tensor& known(std::size_t input) const;
};

}  // namespace podium::ir
