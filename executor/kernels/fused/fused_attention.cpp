// Products of computed values read where they lie, and softmax with its mask.
#include <array>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/softmax.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strip_products.h"

namespace podium::kernels {
namespace {

Dims permuted(const Dims& values, const ir::IntList& permutation) {
  Dims result;
  for (std::int64_t axis : permutation) result.push_back(values[axis]);
  return result;
}

dnnl::memory::desc transposed(const Dims& dims, const ir::IntList& permutation) {
  return onednn::strided(permuted(dims, permutation), permuted(onednn::row_major(dims), permutation));
}

// The product before its own transposition, in the memory of the transposed one.
dnnl::memory::desc before_transposition(const Dims& dims, const ir::IntList& permutation) {
  ir::IntList inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse[permutation[i]] = static_cast<std::int64_t>(i);
  }
  return transposed(dims, inverse);
}

// For each row of x, where the mask's row for it begins.
std::vector<std::int64_t> mask_rows(const Dims& x, const Dims& mask) {
  Dims aligned(x.size() - mask.size(), 1);
  aligned.insert(aligned.end(), mask.begin(), mask.end());
  Dims strides = onednn::row_major(aligned);
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    if (aligned[i] == 1) strides[i] = 0;
    rows *= x[i];
  }
  std::vector<std::int64_t> begins(rows, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t rest = row;
    for (std::size_t i = x.size() - 1; i-- > 0; rest /= x[i]) {
      begins[row] += rest % x[i] * strides[i];
    }
  }
  return begins;
}

// Two matrices, each of which may lie transposed: one row times a transposed one, and all without AVX-512,
// where the library's products over strides are slow for some lengths of rows, and gemm.h's are not.
PreparedKernel of_two_matrices(const PrepareContext& context) {
  const Dims& a = context.dims(0);
  const Dims& b = context.dims(1);
  const ir::IntList as_it_is{0, 1};
  if (a.size() != 2 || b.size() != 2 || context.get<ir::IntList>("perm_y") != as_it_is) return {};
  const bool transpose_a = context.get<ir::IntList>("perm_a") != as_it_is;
  const bool transpose_b = context.get<ir::IntList>("perm_b") != as_it_is;
  const bool is_row_by_transposed = a[0] == 1 && !transpose_a && transpose_b;
  if (kLibraryPacksProducts && !is_row_by_transposed) return {};
  const Product product{.m = a[transpose_a ? 1 : 0],
                        .n = b[transpose_b ? 0 : 1],
                        .k = a[transpose_a ? 0 : 1],
                        .transpose_a = transpose_a,
                        .transpose_b = transpose_b};
  return [product, scale = context.get_float("scale")](const RunContext& run) {
    multiply(product, run.input(0).data<float>(), run.input(1).data<float>(), run.output(0).data<float>(),
             scale);
  };
}

}  // namespace

PreparedKernel prepare_strided_matmul(PrepareContext& context) {
  if (PreparedKernel kernel = of_two_matrices(context)) return kernel;
  const auto b = transposed(context.dims(1), context.get<ir::IntList>("perm_b"));
  auto a = transposed(context.dims(0), context.get<ir::IntList>("perm_a"));
  auto y = before_transposition(context.output(0).dims, context.get<ir::IntList>("perm_y"));
  if (context.dims(0).size() > context.dims(1).size()) {  // one matrix for all rows of a batch
    const std::int64_t rows = context.input(0).element_count() / context.dims(0).back();
    a = onednn::plain({rows, context.dims(0).back()});
    y = onednn::plain({rows, context.output(0).dims.back()});
  }
  dnnl::primitive_attr attributes = onednn::attributes();
  const float scale = context.get_float("scale");
  if (scale != 1.0F) attributes.set_output_scales(0, {scale});
  const dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(a, b, y), attributes, onednn::cpu());
  context.need_scratch(primitive.scratchpad_desc().get_size());
  return [call = onednn::make_call(dnnl::matmul(primitive), primitive,
                                   {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, y}})](
             const RunContext& run) {
    (*call)(std::array<const void*, 4>{run.input(0).raw(), run.input(1).raw(), run.output(0).raw(),
                                       run.scratch_memory});
  };
}

PreparedKernel prepare_masked_softmax(PrepareContext& context) {
  const std::int64_t count = context.dims(0).back();
  return [count, begins = mask_rows(context.dims(0), context.dims(1))](const RunContext& run) {
    const float* x = run.input(0).data<float>();
    const float* mask = run.input(1).data<float>();
    float* y = run.output(0).data<float>();
    constexpr std::int64_t kCostOfExp = 8;
    parallel_ranges(std::ssize(begins), count * kCostOfExp, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* added = mask + begins[row];
        const float* from = x + row * count;
        float* to = y + row * count;
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] + added[i];
        softmax_row(to, to, count);
      }
    });
  };
}

}  // namespace podium::kernels
