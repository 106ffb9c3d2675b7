// The function that a fused op applies to its result.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "executor/kernels/fused/chain_code.h"
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
/// Machine code for it that takes half as long as oneDNN's, by which a pass over a result that the cache still
/// has is worth it: of Sigmoid and Swish. (Of Tanh and Gelu oneDNN's is the faster one.) nullptr for others,
/// for nothing, and where ChainCode has none.
std::shared_ptr<const ChainCode> activation_code(const std::optional<Activation>& activation);
/// What the code makes of numbers, by the calling thread, or of a tensor's by all.
void apply(const ChainCode& code, std::span<float> numbers);
void apply(const ChainCode& code, Tensor& y);

/// A pass over an op's result, in our code or oneDNN's; nothing for no activation.
class ActivationPass {
 public:
  ActivationPass() = default;
  /// `of`: the result's memory. Raises `scratch` to the bytes that the pass wants.
  ActivationPass(const dnnl::memory::desc& of, const std::optional<Activation>& activation,
                 std::size_t& scratch);
  void operator()(const RunContext& run) const;

 private:
  std::shared_ptr<const ChainCode> code_;
  std::shared_ptr<const onednn::Call> call_;
};
/// The same attributes' clamp, if they describe one.
std::optional<Clamp> clamp_of(const ir::TypedOp& op);

}  // namespace podium::kernels
