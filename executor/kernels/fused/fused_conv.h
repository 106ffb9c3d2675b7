// The description of a fused convolution, which all ways of computing it share.
#pragma once

#include <functional>
#include <optional>

#include "executor/kernels/fused/fused_activation.h"
#include "executor/kernels/fused/packed_call.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/onednn.h"

namespace podium::kernels {

/// Window parameters as oneDNN counts them: a dilation of 0 is dense.
struct ConvolutionWindow {
  Dims strides;
  Dims dilations;
  Dims pads_begin;
  Dims pads_end;
};

/// A product as a convolution: its rows are the elements of an image's line, which a window of one element
/// takes one by one.
struct ProductConvolution {
  Dims x;
  Dims y;
  dnnl::memory::desc weights;  ///< as the product has them
  ConvolutionWindow window = {
      .strides = {1, 1}, .dilations = {0, 0}, .pads_begin = {0, 0}, .pads_end = {0, 0}};

  ProductConvolution(const Product& product, onednn::Element element);
};

/// The attributes of a Convolution or a Pool.
ConvolutionWindow window_of(const ir::TypedOp& op);

/// [N, spatial..., C] as oneDNN's logical [N, C, spatial...].
Dims logical_dims(const Dims& channels_last);

struct ConvolutionPlan {
  Dims x;  ///< logical: [N, C, spatial...], channels-last in memory
  Dims y;
  Dims weights;  ///< [M, C, kernel...] or [groups, M, C, kernel...]
  ConvolutionWindow window;
  dnnl::memory::desc bias = {};  ///< empty: none
  bool has_residual = false;
  std::optional<Activation> activation = {};
  std::shared_ptr<const ChainCode> behind = {};  ///< the activation, if it is a pass behind the result
  dnnl::post_ops post_ops = {};                  ///< sum of the residual, and the activation, if it is none
  std::optional<Clamp> clamp = {};               ///< of the result: oneDNN's own makes a number of NaN
  dnnl::post_ops with_clamp = {};                ///< the post-ops and oneDNN's clamp

  /// Sets all that comes behind the sum: of the residual, if there is one, and of the op's attributes.
  void set_ending(const ir::TypedOp& op);
};

/// The weights of a convolution of several groups: [groups, M, C, kernel...].
Dims grouped(const Dims& weights, std::int64_t group);

/// Of an op Convolution.
ConvolutionPlan plan_of(const ir::TypedOp& op);

/// The direct algorithm. Error where there is no room for its code.
dnnl::convolution_forward::primitive_desc direct_primitive(const ConvolutionPlan& plan,
                                                           const dnnl::memory::desc& weights,
                                                           const dnnl::post_ops& post_ops);
/// Pointers: x, weights as the primitive wants them, bias, y, scratch.
std::shared_ptr<const onednn::Call> direct_call(const ConvolutionPlan& plan,
                                                const dnnl::convolution_forward::primitive_desc& primitive);

/// A run by the direct algorithm, and the bytes of scratch memory that it wants.
struct DirectConvolution {
  PackedCall run;
  std::size_t scratch = 0;
};

/// Gives the weights in the layout that the fastest kernel wants.
using Pack = std::function<Tensor(const dnnl::memory::desc&)>;

DirectConvolution direct_convolution(const ConvolutionPlan& plan, const Pack& pack);

/// Whether Winograd's algorithm is faster for a convolution, and gives what its sum gives but for rounding.
bool suits_winograd(const PrepareContext& context, const ConvolutionPlan& plan);

/// Prepares Winograd's algorithm, through oneDNN's blocked layout, where it is faster in spite of two
/// reorders; nullopt elsewhere. Rounding differs from the direct sum by about as much as between two orders
/// of adding. Its transforms make NaN of what lies beside an infinity, so a result that is not all finite is
/// computed once more, directly.
std::optional<PreparedKernel> prepare_winograd(PrepareContext& context, const ConvolutionPlan& plan);

/// Prepares the same algorithm as products with strips of weights, where these are faster than oneDNN's
/// convolutions; nullopt elsewhere.
std::optional<PreparedKernel> prepare_strip_winograd(PrepareContext& context, const ConvolutionPlan& plan);

/// Prepares a convolution of lines as a sum of products where that is faster: of so many channels that
/// windows lie multiples of a page apart. nullopt for any other.
std::optional<PreparedKernel> prepare_line_products(PrepareContext& context, const ConvolutionPlan& plan);

/// Prepares a convolution of one group as products with strips of weights, where these are faster than
/// oneDNN's convolutions; nullopt for any other.
std::optional<PreparedKernel> prepare_strip_convolution(PrepareContext& context, const ConvolutionPlan& plan);

}  // namespace podium::kernels
