// Products of quantized matrices: MatMulInteger and QLinearMatMul, on products of bytes less their zero
// points. Scales and zero points are one number, one per row of A or column of B, or one per row and matrix
// of the batch; shorter lists repeat. QLinearMatMul scales each sum by a b / y and rounds; with 8-bit floats
// all of it happens in float.
#include <algorithm>
#include <cmath>

#include "executor/kernels/byte_products.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"

namespace podium::kernels {
namespace {

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> values(tensor.size());
  to_float(tensor, 0, tensor.size(), values.data());
  if (values.empty()) throw Error("a scale or zero point is empty");
  return values;
}

Repeated<std::int32_t> zero_points(const Tensor& tensor) {
  const std::vector<float> values = floats_of(tensor);
  return {{values.begin(), values.end()}};
}

void check_parameter(const PrepareContext& context, std::size_t i, std::int64_t rows, std::int64_t batch) {
  if (!context.has_input(i)) return;
  const std::int64_t count = context.input(i).element_count();
  if (count != 1 && count != rows && count != rows * batch) {
    throw Error("input {} has {} elements, 1 or {} needed", i, count, rows);
  }
}

std::int64_t batch_count(const Dims& dims) {
  return dims.size() < 3 ? 1 : ir::element_count(Dims(dims.begin(), dims.end() - 2));
}

// Scales and zero points of A and y go by rows, those of B by columns.
void check_parameters(const PrepareContext& context, std::initializer_list<std::size_t> of_a, std::size_t b,
                      std::initializer_list<std::size_t> of_b) {
  const Dims& dims_a = context.dims(0);
  const Dims& dims_b = context.dims(b);
  const std::int64_t rows = dims_a.size() == 1 ? 1 : dims_a[dims_a.size() - 2];
  const std::int64_t columns = dims_b.size() == 1 ? 1 : dims_b.back();
  for (std::size_t i : of_a) check_parameter(context, i, rows, batch_count(dims_a));
  for (std::size_t i : of_b) check_parameter(context, i, columns, batch_count(dims_b));
}

struct Requantize {
  Repeated<float> a, b, y;  // scales
  Repeated<float> zero_y;
};

Requantize read_requantize(const RunContext& run) {
  return {{floats_of(run.input(1))},
          {floats_of(run.input(4))},
          {floats_of(run.input(6))},
          {floats_of(run.input(7))}};
}

// Scales product i by a * b / y, where b[j] is the scale of column j. `store(index, scaled, zero point)`.
template <class Sum, class Store>
void requantize(const BatchedProduct& plan, const Requantize& scales, const Sum* sums, const Store& store) {
  const Product& p = plan.product;
  for (std::int64_t i = 0; i < plan.count(); ++i) {
    const std::int64_t first_row = p.k == 0 ? 0 : plan.a[i] / p.k;
    const std::int64_t first_column = p.k == 0 ? 0 : plan.b[i] / p.k;
    const std::vector<float> of_columns = scales.b.stretch(first_column, p.n);
    for (std::int64_t r = 0; r < p.m; ++r) {
      const std::int64_t row_of_y = i * p.m + r;
      const float zero = scales.zero_y[row_of_y];
      const float of_row = scales.a[first_row + r];
      const float of_y = scales.y[row_of_y];
      for (std::int64_t j = 0; j < p.n; ++j) {
        const float scale = of_row * of_columns[j] / of_y;
        const std::int64_t at = row_of_y * p.n + j;
        store(at, static_cast<float>(sums[at]) * scale, zero);
      }
    }
  }
}

template <class T>
void store_integers(const BatchedProduct& plan, const Requantize& scales, const std::int32_t* sums, T* y) {
  constexpr float kLow = std::numeric_limits<T>::min();
  constexpr float kHigh = std::numeric_limits<T>::max();
  requantize(plan, scales, sums, [=](std::int64_t at, float scaled, float zero) {
    y[at] = static_cast<T>(std::min(kHigh, std::max(kLow, std::nearbyint(scaled) + zero)));
  });
}

PreparedKernel qlinear_of_integers(PrepareContext& context, BatchedProduct plan) {
  const std::int64_t sums = plan.count() * plan.product.m * plan.product.n;
  IntegerProducts products = prepare_integer_products(context, plan, 0, 3, sums * sizeof(std::int32_t));
  return [plan = std::move(plan), products = std::move(products)](const RunContext& run) {
    auto* c = run.scratch<std::int32_t>();
    products(run, run.input(0), run.input(3), zero_points(run.input(2)), zero_points(run.input(5)), c);
    const Requantize scales = read_requantize(run);
    if (run.output(0).type() == DataType::Int8) {
      store_integers(plan, scales, c, run.output(0).data<std::int8_t>());
    } else if (run.output(0).type() == DataType::Uint8) {
      store_integers(plan, scales, c, run.output(0).data<std::uint8_t>());
    } else {
      throw Error("a product of integers cannot be stored as {}", name_of(run.output(0).type()));
    }
  };
}

// The numbers of matrices [rows,columns] of small floats less their zero points.
void read_shifted(const Tensor& tensor, const Tensor& zero, bool by_rows, const Dims& matrix, float* to) {
  to_float(tensor, 0, tensor.size(), to);
  const Repeated<float> points{floats_of(zero)};
  if (points.is_zero()) return;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    to[i] -= points[by_rows ? i / matrix[1] : i / (matrix[0] * matrix[1]) * matrix[1] + i % matrix[1]];
  }
}

// 8-bit floats: everything happens in float and is rounded once, with saturation.
PreparedKernel qlinear_of_floats(PrepareContext& context, BatchedProduct plan) {
  const std::int64_t count_a = context.input(0).element_count();
  const std::int64_t count_b = context.input(3).element_count();
  const std::int64_t count_c = context.output(0).element_count();
  context.need_scratch(sizeof(float) * (count_a + count_b + count_c));
  return [=, plan = std::move(plan)](const RunContext& run) {
    auto* a = run.scratch<float>();
    float* b = a + count_a;
    float* c = b + count_b;
    read_shifted(run.input(0), run.input(2), true, {plan.product.m, plan.product.k}, a);
    read_shifted(run.input(3), run.input(5), false, {plan.product.k, plan.product.n}, b);
    run_products(plan, a, b, c,
                 [](const Product& p, const float* x, const float* y, float* z) { multiply(p, x, y, z); });
    requantize(plan, read_requantize(run), c,
               [c](std::int64_t at, float scaled, float zero) { c[at] = scaled + zero; });
    from_float(c, run.output(0), 0, count_c);
  };
}

}  // namespace

PreparedKernel prepare_matmul_integer(PrepareContext& context) {
  check_parameters(context, {2}, 1, {3});
  IntegerProducts products =
      prepare_integer_products(context, plan_matmul(context.dims(0), context.dims(1)), 0, 1, 0);
  return [products = std::move(products)](const RunContext& run) {
    const auto zero = [&](std::size_t i) {
      return run.has_input(i) ? zero_points(run.input(i)) : Repeated<std::int32_t>();
    };
    products(run, run.input(0), run.input(1), zero(2), zero(3), run.output(0).data<std::int32_t>());
  };
}

PreparedKernel prepare_qlinear_matmul(PrepareContext& context) {
  check_parameters(context, {1, 2, 6, 7}, 3, {4, 5});
  BatchedProduct plan = plan_matmul(context.dims(0), context.dims(3));
  if (ir::is_integer(context.element(0)) && ir::is_integer(context.element(3))) {
    return qlinear_of_integers(context, std::move(plan));
  }
  if (!ir::is_float(context.output(0).element))
    throw Error("a product of 8-bit floats cannot be stored as integers");
  return qlinear_of_floats(context, std::move(plan));
}

}  // namespace podium::kernels
