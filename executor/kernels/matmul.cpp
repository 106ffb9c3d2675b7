// Products of float and integer matrices: MatMul and Gemm.
// A MatMul is one BatchedProduct: the product of one matrix pair, and where each pair of the broadcast batch
// starts in A and B. Where B has no batch, all matrices of A are one tall matrix. Half types are widened to
// float for the whole op. Gemm spreads C over the output first and lets the product add to it; integers wrap,
// and factors other than 1 are applied in double.
#include <algorithm>

#include "executor/kernels/families.h"
#include "executor/kernels/matmul_parts.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/elementwise.h"
#include "executor/kernels/tools/gemm.h"

namespace podium::kernels {
namespace {

Dims batch_of(const Dims& dims) { return dims.size() < 2 ? Dims{} : Dims(dims.begin(), dims.end() - 2); }

// The offset of the matrix of each batch index, in an operand whose batch axes are `own`.
std::vector<std::int64_t> batch_offsets(const Dims& own, const Dims& batch, std::int64_t matrix) {
  std::vector<std::int64_t> offsets{0};
  std::int64_t stride = matrix;
  for (std::size_t back = 1; back <= batch.size(); ++back) {
    const std::int64_t size = batch[batch.size() - back];
    const std::int64_t own_size = back <= own.size() ? own[own.size() - back] : 1;
    const std::int64_t step = own_size == 1 ? 0 : stride;
    std::vector<std::int64_t> longer;
    longer.reserve(offsets.size() * size);
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t offset : offsets) longer.push_back(i * step + offset);
    }
    offsets = std::move(longer);
    stride *= own_size;
  }
  return offsets;
}

void widen(const Tensor& from, float* to) {
  parallel_ranges(from.size(), kElementCost, [&](std::int64_t begin, std::int64_t end) {
    to_float(from, begin, end - begin, to + begin);
  });
}

void narrow(const float* from, Tensor& to) {
  parallel_ranges(to.size(), kElementCost, [&](std::int64_t begin, std::int64_t end) {
    from_float(from + begin, to, begin, end - begin);
  });
}

bool computes_in_float(DataType type) { return type == DataType::Float16 || type == DataType::Bfloat16; }

template <class T>
PreparedKernel matmul_of(BatchedProduct plan) {
  return [plan = std::move(plan)](const RunContext& run) {
    const auto* a = static_cast<const T*>(run.input(0).raw());
    const auto* b = static_cast<const T*>(run.input(1).raw());
    auto* c = static_cast<T*>(run.output(0).raw());
    run_products(plan, a, b, c, [](const Product& p, const T* x, const T* y, T* z) { multiply(p, x, y, z); });
  };
}

PreparedKernel matmul_in_float(PrepareContext& context, BatchedProduct plan) {
  const std::int64_t count_a = context.input(0).element_count();
  const std::int64_t count_b = context.input(1).element_count();
  const std::int64_t count_c = context.output(0).element_count();
  context.need_scratch(sizeof(float) * (count_a + count_b + count_c));
  return [=, plan = std::move(plan)](const RunContext& run) {
    auto* a = run.scratch<float>();
    float* b = a + count_a;
    float* c = b + count_b;
    widen(run.input(0), a);
    widen(run.input(1), b);
    run_products(plan, a, b, c,
                 [](const Product& p, const float* x, const float* y, float* z) { multiply(p, x, y, z); });
    narrow(c, run.output(0));
  };
}

PreparedKernel matmul(PrepareContext& context) {
  BatchedProduct plan = plan_matmul(context.dims(0), context.dims(1));
  const DataType type = context.element(0);
  if (computes_in_float(type)) return matmul_in_float(context, std::move(plan));
  if (type == DataType::Float) return matmul_of<float>(std::move(plan));
  if (type == DataType::Double) return matmul_of<double>(std::move(plan));
  return ir::storage_bytes(type) == 8 ? matmul_of<std::uint64_t>(std::move(plan))
                                      : matmul_of<std::uint32_t>(std::move(plan));
}

// C of a Gemm, seen as [m,n]: a step of 0 repeats.
struct Addend {
  std::int64_t row_step = 0;
  std::int64_t column_step = 0;
};

Addend addend_of(const Dims& dims) {
  Addend addend;
  if (!dims.empty() && dims.back() != 1) addend.column_step = 1;
  if (dims.size() > 1 && dims[dims.size() - 2] != 1) addend.row_step = dims.back();
  return addend;
}

template <class T>
void spread(const Addend& addend, const T* from, std::int64_t m, std::int64_t n, T* to) {
  for (std::int64_t i = 0; i < m; ++i) {
    const T* row = from + i * addend.row_step;
    T* out = to + i * n;
    if (addend.column_step == 1) {
      std::copy_n(row, n, out);
    } else {
      std::fill_n(out, n, *row);
    }
  }
}

struct GemmPlan {
  Product product = {};
  double alpha = 1;
  double beta = 0;  // 0 when there is no C
  Addend addend = {};
};

GemmPlan plan_gemm(const PrepareContext& context) {
  GemmPlan plan{.alpha = context.get_float("alpha")};
  const bool transpose_a = context.get_int("transA") != 0;
  plan.product = {.m = context.output(0).dims[0],
                  .n = context.output(0).dims[1],
                  .k = context.dims(0)[transpose_a ? 0 : 1],
                  .transpose_a = transpose_a,
                  .transpose_b = context.get_int("transB") != 0};
  if (context.has_input(2)) {
    plan.beta = context.get_float("beta");
    plan.addend = addend_of(context.dims(2));
  }
  return plan;
}

template <class T>
PreparedKernel gemm_of_floats(const GemmPlan& plan) {
  return [plan](const RunContext& run) {
    T* y = run.output(0).data<T>();
    if (plan.beta != 0) spread(plan.addend, run.input(2).data<T>(), plan.product.m, plan.product.n, y);
    multiply(plan.product, run.input(0).data<T>(), run.input(1).data<T>(), y, static_cast<T>(plan.alpha),
             static_cast<T>(plan.beta));
  };
}

PreparedKernel gemm_in_float(PrepareContext& context, const GemmPlan& plan) {
  std::vector<std::int64_t> counts;
  std::int64_t total = context.output(0).element_count();
  for (const ir::Type& type : context.input_types) {
    counts.push_back(type.is_static() ? type.element_count() : 0);
    total += counts.back();
  }
  context.need_scratch(sizeof(float) * total);
  return [plan, counts](const RunContext& run) {
    std::vector<float*> inputs;
    auto* next = run.scratch<float>();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (run.has_input(i)) widen(run.input(i), next);
      inputs.push_back(next);
      next += counts[i];
    }
    if (plan.beta != 0) spread(plan.addend, inputs[2], plan.product.m, plan.product.n, next);
    multiply(plan.product, inputs[0], inputs[1], next, static_cast<float>(plan.alpha),
             static_cast<float>(plan.beta));
    narrow(next, run.output(0));
  };
}

// The product wraps in the type. Factors other than 1 are applied in double, and the fraction is cut off.
template <class T>
PreparedKernel gemm_of_integers(const GemmPlan& plan) {
  using Unsigned = std::make_unsigned_t<T>;
  return [plan](const RunContext& run) {
    const Product& p = plan.product;
    T* y = run.output(0).data<T>();
    multiply(p, reinterpret_cast<const Unsigned*>(run.input(0).data<T>()),
             reinterpret_cast<const Unsigned*>(run.input(1).data<T>()), reinterpret_cast<Unsigned*>(y));
    const T none{0};
    const T* addends = plan.beta == 0 ? &none : run.input(2).data<T>();
    const bool is_plain = plan.alpha == 1 && (plan.beta == 0 || plan.beta == 1);
    for (std::int64_t i = 0; i < p.m * p.n; ++i) {
      const T c = addends[i / p.n * plan.addend.row_step + i % p.n * plan.addend.column_step];
      y[i] =
          is_plain
              ? static_cast<T>(static_cast<Unsigned>(y[i]) + static_cast<Unsigned>(c))
              : static_cast<T>(plan.alpha * static_cast<double>(y[i]) + plan.beta * static_cast<double>(c));
    }
  };
}

PreparedKernel gemm(PrepareContext& context) {
  const GemmPlan plan = plan_gemm(context);
  switch (context.element(0)) {
    case DataType::Float:
      return gemm_of_floats<float>(plan);
    case DataType::Double:
      return gemm_of_floats<double>(plan);
    case DataType::Int32:
      return gemm_of_integers<std::int32_t>(plan);
    case DataType::Uint32:
      return gemm_of_integers<std::uint32_t>(plan);
    case DataType::Int64:
      return gemm_of_integers<std::int64_t>(plan);
    case DataType::Uint64:
      return gemm_of_integers<std::uint64_t>(plan);
    default:
      return gemm_in_float(context, plan);
  }
}

}  // namespace

BatchedProduct plan_matmul(const Dims& a, const Dims& b) {
  BatchedProduct plan;
  Product& product = plan.product;
  product.m = a.size() == 1 ? 1 : a[a.size() - 2];
  product.k = a.back();
  product.n = b.size() == 1 ? 1 : b.back();
  const Dims batch_a = batch_of(a);
  const Dims batch_b = batch_of(b);
  if (std::all_of(batch_b.begin(), batch_b.end(), [](std::int64_t size) { return size == 1; })) {
    product.m *= ir::element_count(batch_a);
    plan.a = plan.b = {0};
    return plan;
  }
  const Dims batch = ir::broadcast(batch_a, batch_b);
  plan.a = batch_offsets(batch_a, batch, product.m * product.k);
  plan.b = batch_offsets(batch_b, batch, product.k * product.n);
  return plan;
}

std::span<const KernelSpec> matmul_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "MatMul", .prepare = matmul},
      {.name = "Gemm", .prepare = gemm},
      {.name = "MatMulInteger", .prepare = prepare_matmul_integer},
      {.name = "QLinearMatMul", .prepare = prepare_qlinear_matmul},
      {.name = "Einsum", .prepare = prepare_einsum},
      {.name = "Det", .prepare = prepare_det},
  };
  return kKernels;
}

}  // namespace podium::kernels
