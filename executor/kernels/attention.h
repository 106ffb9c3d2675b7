// What the kinds of attention share. They compute in float, or in double when an operand is double.
#pragma once

#include <cmath>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

/// The tensor with elements of type C (float or double); shares its memory when it has them already.
template <class C>
Tensor as_computed(const Tensor& tensor);

/// A tensor of C to write results to: `output` itself when it holds elements of C.
template <class C>
Tensor room_for(const Tensor& output);
/// Rounds what was computed into `output`, unless it is there already.
template <class C>
void store_computed(const Tensor& computed, Tensor& output);

/// Matrices [rows, columns] in a tensor, one a head of each batch element.
template <class C>
struct Heads {
  C* data = nullptr;
  std::int64_t batch_step = 0;
  std::int64_t head_step = 0;
  std::int64_t row_step = 0;
  C* at(std::int64_t batch, std::int64_t head) const { return data + batch * batch_step + head * head_step; }
};

/// [batch, heads, length, size], or [batch, length, heads * size] for three axes.
template <class C>
Heads<C> heads_of(C* data, const Dims& dims, std::int64_t heads) {
  if (dims.size() == 4) return {data, dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3]};
  return {data, dims[1] * dims[2], dims[2] / heads, dims[2]};
}

/// The attribute `scale`, or what heads of this size need to keep the variance of products.
double score_scale(const PrepareContext& context, std::int64_t head_size);

PreparedKernel prepare_flex_attention(PrepareContext& context);
PreparedKernel prepare_linear_attention(PrepareContext& context);
PreparedKernel prepare_rotary_embedding(PrepareContext& context);

}  // namespace podium::kernels
