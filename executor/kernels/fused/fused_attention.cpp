// Products of computed values read where they lie, softmax with its mask, and both together: attention by
// blocks of rows of one head. The scores of a block stay in a second-level cache between the two products;
// their exponentials are multiplied with V before they are divided by their sum. A block ends at the last
// position that the mask leaves to any of its rows, so that a causal mask halves the work.
#include <array>

#include "executor/kernels/attention_head.h"
#include "executor/kernels/fused/fused.h"
#include "executor/kernels/softmax.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strip_products.h"
#include "ir/permutation.h"

namespace podium::kernels {
namespace {

dnnl::memory::desc transposed(const Dims& dims, const ir::IntList& permutation) {
  return onednn::strided(ir::permuted(dims, permutation), ir::permuted(onednn::row_major(dims), permutation));
}

// The product before its own transposition, in the memory of the transposed one.
dnnl::memory::desc before_transposition(const Dims& dims, const ir::IntList& permutation) {
  return transposed(dims, ir::inverse_order(permutation));
}

// For each index of the axes but for the last `inner` ones, where it begins in memory of these strides.
std::vector<std::int64_t> starts(const Dims& dims, const Dims& strides, std::size_t inner) {
  const std::size_t outer = dims.size() - inner;
  std::vector<std::int64_t> starts(count_of(dims, 0, outer), 0);
  for (std::int64_t i = 0; i < std::ssize(starts); ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = outer; axis-- > 0; rest /= dims[axis])
      starts[i] += rest % dims[axis] * strides[axis];
  }
  return starts;
}

// Strides of a mask that stretches over x.
Dims mask_strides(const Dims& x, const Dims& mask) {
  Dims aligned(x.size() - mask.size(), 1);
  aligned.insert(aligned.end(), mask.begin(), mask.end());
  Dims strides = onednn::row_major(aligned);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (aligned[i] == 1) strides[i] = 0;
  }
  return strides;
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

// A batch of matrices, one behind a start each.
struct Matrices {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  MatrixSteps steps;
  std::vector<std::int64_t> starts;
};

Matrices matrices(const Dims& memory, const ir::IntList& permutation) {
  const Dims dims = ir::permuted(memory, permutation);
  const Dims strides = ir::permuted(onednn::row_major(memory), permutation);
  const std::size_t columns = dims.size() - 1;
  return {.rows = dims[columns - 1],
          .columns = dims[columns],
          .steps = {strides[columns - 1], strides[columns]},
          .starts = starts(dims, strides, 2)};
}

// A mask of the scores of each head.
struct HeadMasks {
  std::int64_t row_step = 0;
  std::vector<std::int64_t> starts = {};  // empty: there is none
};

HeadMasks masks_of(const Dims& scores, const Dims& mask) {
  const Dims strides = mask_strides(scores, mask);
  return {.row_step = strides[strides.size() - 2], .starts = starts(scores, strides, 2)};
}

struct AttentionPlan {
  Matrices q;
  Matrices k;  // [head, positions]
  Matrices v;
  Matrices y;
  HeadMasks masks;
  float scale;
  HeadProducts products;
  HeadBlocks blocks;
};

AttentionPlan attention_plan(const PrepareContext& context) {
  Matrices q = matrices(context.dims(0), context.get<ir::IntList>("perm_q"));
  Matrices k = matrices(context.dims(1), context.get<ir::IntList>("perm_k"));
  Matrices v = matrices(context.dims(2), context.get<ir::IntList>("perm_v"));
  Matrices y = matrices(context.output(0).dims, ir::inverse_order(context.get<ir::IntList>("perm_y")));
  HeadMasks masks;
  if (context.has_input(3)) {
    Dims scores = ir::permuted(context.dims(0), context.get<ir::IntList>("perm_q"));
    scores.back() = k.columns;
    masks = masks_of(scores, context.dims(3));
  }
  const HeadShape shape{.positions = k.columns, .head = k.rows, .v_head = v.columns};
  const HeadProducts products(shape, {k.steps.column, k.steps.row}, v.steps);
  const HeadBlocks blocks(std::ssize(q.starts), 1, q.rows, shape);
  return {.q = std::move(q),
          .k = std::move(k),
          .v = std::move(v),
          .y = std::move(y),
          .masks = std::move(masks),
          .scale = context.get_float("scale"),
          .products = products,
          .blocks = blocks};
}

// Numbers below this hide a position: its exponential is 0 beside any that is not hidden.
constexpr float kHidden = -1e30F;

// The positions up to the last one that is not hidden, in whole steps: so sums over them are the same
// whatever rows are in the block. All of them where all are hidden.
std::int64_t seen_positions(const float* mask, std::int64_t count) {
  constexpr std::int64_t kStep = 64;
  for (std::int64_t last = count; last > 0; last = (last - 1) / kStep * kStep) {
    const std::int64_t first = (last - 1) / kStep * kStep;
    bool shows = false;  // no way out of the loop, which so works on vectors
    for (std::int64_t i = first; i < last; ++i) shows |= !(mask[i] <= kHidden);
    if (shows) return last;
  }
  return count;
}

// row = exp(scale * row + mask - the largest of these), and their sum.
float masked_exponentials(float scale, const float* mask, std::int64_t count, float* row) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) {
    row[i] = row[i] * scale + mask[i];
    largest = row[i] > largest ? row[i] : largest;
  }
  return exponentials_of_row(row, row, count, largest);
}

// Rows of a block of one head.
void attend_block(const AttentionPlan& plan, const RunContext& run, std::int64_t head, std::int64_t first,
                  std::int64_t rows, const float* packed, float* scores_memory) {
  const float* mask = nullptr;
  std::int64_t seen = plan.k.columns;
  if (run.has_input(3)) {
    mask = run.input(3).data<float>() + plan.masks.starts[head] + first * plan.masks.row_step;
    const std::int64_t masks = plan.masks.row_step == 0 ? 1 : rows;
    seen = 0;
    for (std::int64_t i = 0; i < masks; ++i)
      seen = std::max(seen, seen_positions(mask + i * plan.masks.row_step, plan.k.columns));
  }
  const HeadRows<float> scores{scores_memory, plan.blocks.score_step()};
  const HeadRows<const float> q{run.input(0).data<float>() + plan.q.starts[head] + first * plan.q.steps.row,
                                plan.q.steps.row};
  const HeadRows<float> y{run.output(0).data<float>() + plan.y.starts[head] + first * plan.y.steps.row,
                          plan.y.steps.row};
  plan.products.scores(packed, q, rows, {0, seen}, scores);
  std::array<float, HeadBlocks::kMostRows> sums;
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = scores.data + i * scores.step;
    sums[i] = mask == nullptr ? exponentials_of_row(row, row, seen, largest_of_row(row, seen), plan.scale)
                              : masked_exponentials(plan.scale, mask + i * plan.masks.row_step, seen, row);
  }
  plan.products.values(packed, {scores.data, scores.step}, rows, {0, seen}, y);
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = y.data + i * y.step;
    const float share = 1 / sums[i];
    for (std::int64_t j = 0; j < plan.v.columns; ++j) row[j] *= share;
  }
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
  const Dims& x_dims = context.dims(0);
  return [count, begins = starts(x_dims, mask_strides(x_dims, context.dims(1)), 1)](const RunContext& run) {
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

PreparedKernel prepare_strided_attention(PrepareContext& context) {
  const auto plan = std::make_shared<const AttentionPlan>(attention_plan(context));
  context.need_scratch(plan->blocks.bytes());
  return [plan](const RunContext& run) {
    const auto pack = [&](std::int64_t head, float* packed) {
      plan->products.pack(run.input(1).data<float>() + plan->k.starts[head],
                          run.input(2).data<float>() + plan->v.starts[head], packed);
    };
    const auto attend = [&](std::int64_t head, std::int64_t first, std::int64_t rows, const float* packed,
                            float* scores) { attend_block(*plan, run, head, first, rows, packed, scores); };
    plan->blocks.run(plan->products, run.scratch<float>(), pack, attend);
  };
}

}  // namespace podium::kernels
