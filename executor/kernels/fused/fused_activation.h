// The function that a fused op applies to its result.
#pragma once

#include <limits>
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

inline constexpr Clamp kNoClamp{-std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::infinity()};

struct Activation {
  dnnl::algorithm algorithm;
  float alpha = 0;
  float beta = 0;
};

/// The function that the op's attributes "activation", "alpha" and "beta" describe; nothing for the empty
/// name and for what clamp_of gives.
std::optional<Activation> activation_of(const ir::TypedOp& op);
void append_activation(dnnl::post_ops& post_ops, const std::optional<Activation>& activation);
/// A primitive of its own, from and to memory `of`; nullptr for nothing. Raises `scratch` to the bytes that
/// it wants. Pointers: from, to, scratch.
std::shared_ptr<const onednn::Call> activation_call(const dnnl::memory::desc& of,
                                                    const std::optional<Activation>& activation,
                                                    std::size_t& scratch);
/// What such a call, if there is one, makes of the op's result.
void activate_result(const std::shared_ptr<const onednn::Call>& activation, const RunContext& run);
/// The same attributes' clamp, if they describe one.
std::optional<Clamp> clamp_of(const ir::TypedOp& op);

}  // namespace podium::kernels
