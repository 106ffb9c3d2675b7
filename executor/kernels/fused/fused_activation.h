// The function that a fused op applies to its result.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "executor/kernels/tools/onednn.h"

namespace podium::kernels {

/// A Relu or a Clip: numbers outside of the bounds become the bounds, NaN stays NaN.
struct Clamp {
  float low = 0;
  float high = 0;

  void apply(Tensor& y) const;
  void apply(std::span<float> numbers) const;
  /// The same, and whether all numbers were finite before.
  bool apply_to_finite(std::span<float> numbers) const;
  /// oneDNN's own, which gives a bound for NaN.
  void append_to(dnnl::post_ops& post_ops) const;
};

/// Appends the function that the op's attributes "activation", "alpha" and "beta" describe; nothing for the
/// empty name and for what clamp_of gives.
void append_activation(dnnl::post_ops& post_ops, const ir::TypedOp& op);
/// The same function as a primitive of its own, from and to memory `of`; nothing where append_activation
/// appends nothing. Pointers: from, to, scratch.
std::shared_ptr<const onednn::Call> activation_call(const dnnl::memory::desc& of, PrepareContext& context);
/// The same attributes' clamp, if they describe one.
std::optional<Clamp> clamp_of(const ir::TypedOp& op);

}  // namespace podium::kernels
