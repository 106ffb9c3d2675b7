// Products of matrices: MatMul, Gemm, their quantized forms, Einsum, Det.
// Shapes follow NumPy: batch axes broadcast, a vector is a row on the left and a column on the right.
// Einsum's equation and sizes are those of einsum_equation.h, which the kernel reads too. Work counts a
// multiply-add as two operations; an Einsum counts as if all its inputs were multiplied at once.
#include <algorithm>
#include <initializer_list>

#include "ir/ops/common.h"
#include "ir/ops/einsum_equation.h"
#include "ir/ops/families.h"

namespace podium::ir {
namespace {

constexpr TypeSet kProducts =
    kFloats | TypeSet{DataType::Int32, DataType::Int64, DataType::Uint32, DataType::Uint64};
constexpr TypeSet kBytes{DataType::Int8, DataType::Uint8};
constexpr TypeSet kQuantizedFactors = kBytes | TypeSet{DataType::Float8E4M3FN, DataType::Float8E4M3FNUZ,
                                                       DataType::Float8E5M2, DataType::Float8E5M2FNUZ};
constexpr TypeSet kScales{DataType::Float, DataType::Float16, DataType::Bfloat16};

// NumPy's matmul: a 1-D operand is a row on the left, a column on the right, and leaves no axis behind.
Dims matmul_dims(const Dims& a, const Dims& b) {
  if (a.empty() || b.empty())
    throw Error("a matrix product of {} and {}: a scalar has no rows", to_string(a), to_string(b));
  const std::int64_t k = a.back();
  const std::int64_t needed = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (differ(k, needed))
    throw Error("cannot multiply {} by {}: {} columns meet {} rows", to_string(a), to_string(b), k, needed);
  const auto batch = [](const Dims& dims) {
    return Dims(dims.begin(), dims.end() - std::min<std::ptrdiff_t>(2, std::ssize(dims)));
  };
  Dims result = broadcast(batch(a), batch(b));
  if (a.size() > 1) result.push_back(a[a.size() - 2]);
  if (b.size() > 1) result.push_back(b.back());
  return result;
}

void infer_product(InferContext& context, std::size_t b, DataType element) {
  if (!context.has_rank(0) || !context.has_rank(b)) return context.set_output_element(0, element);
  context.set_output(0, element, matmul_dims(context.dims(0), context.dims(b)));
}

void infer_matmul(InferContext& context) { infer_product(context, 1, context.element(0)); }

// Whether a scale or zero point is one number, one for each row or column of the matrices, which is their
// axis `from_end`, or has these of each matrix of a stack.
bool fits_matrices(const Dims& numbers, const Dims& matrices, std::size_t from_end) {
  if (std::ranges::all_of(numbers, [](std::int64_t dim) { return dim == 1; })) return true;
  if (matrices.size() < from_end) return false;
  const std::size_t own = matrices.size() - from_end;
  if (numbers.size() == 1) return !differ(numbers[0], matrices[own]);
  if (numbers.size() != matrices.size()) return false;
  for (std::size_t axis = 0; axis < numbers.size(); ++axis) {
    const bool is_of_a_matrix = axis + 2 >= matrices.size();
    if (axis == own ? differ(numbers[axis], matrices[axis])
                    : differ(numbers[axis], 1) && (is_of_a_matrix || differ(numbers[axis], matrices[axis])))
      return false;
  }
  return true;
}

constexpr std::size_t kRowsFromEnd = 2;
constexpr std::size_t kColumnsFromEnd = 1;

void check_numbers(const InferContext& context, std::initializer_list<std::size_t> inputs,
                   const Type& matrices, std::size_t from_end) {
  for (std::size_t i : inputs) {
    if (!matrices.has_rank || !context.has_input(i) || !context.has_rank(i)) continue;
    if (!fits_matrices(context.dims(i), matrices.dims, from_end))
      throw Error("{} has shape {}: one number, or one for each {} of {} needed",
                  context.op.spec->inputs[i].name, to_string(context.dims(i)),
                  from_end == kRowsFromEnd ? "row" : "column", to_string(matrices.dims));
  }
}

void infer_matmul_integer(InferContext& context) {
  infer_product(context, 1, DataType::Int32);
  check_numbers(context, {2}, context.input(0), kRowsFromEnd);
  check_numbers(context, {3}, context.input(1), kColumnsFromEnd);
}

void infer_qlinear_matmul(InferContext& context) {
  infer_product(context, 3, context.element(7));
  check_numbers(context, {1, 2}, context.input(0), kRowsFromEnd);
  check_numbers(context, {4, 5}, context.input(3), kColumnsFromEnd);
  check_numbers(context, {6, 7}, context.output(0), kRowsFromEnd);
}

void infer_gemm(InferContext& context) {
  if (!context.has_rank(0) || !context.has_rank(1)) {
    return context.set_output(0, context.element(0), {kUnknown, kUnknown});
  }
  const Dims& a = context.dims(0);
  const Dims& b = context.dims(1);
  if (a.size() != 2 || b.size() != 2) {
    throw Error("operands {} and {} are not both matrices", to_string(a), to_string(b));
  }
  const std::size_t transpose_a = context.get_int("transA") != 0 ? 1 : 0;
  const std::size_t transpose_b = context.get_int("transB") != 0 ? 1 : 0;
  if (differ(a[1 - transpose_a], b[transpose_b])) {
    throw Error("cannot multiply {} by {}: {} columns meet {} rows", to_string(a), to_string(b),
                a[1 - transpose_a], b[transpose_b]);
  }
  Dims y{a[transpose_a], b[1 - transpose_b]};
  if (context.has_input(2) && context.has_rank(2)) {
    const Dims both = broadcast(y, context.dims(2));
    if (both.size() != 2 || differ(both[0], y[0]) || differ(both[1], y[1])) {
      throw Error("cannot broadcast C {} to {}", to_string(context.dims(2)), to_string(y));
    }
  }
  context.set_output(0, context.element(0), std::move(y));
}

void infer_einsum(InferContext& context) {
  std::vector<int> ranks;
  std::vector<Dims> inputs;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_rank(i)) return context.set_output_element(0, context.element(0));
    ranks.push_back(context.input(i).rank());
    inputs.push_back(context.dims(i));
  }
  const EinsumEquation equation = read_einsum(context.get_string("equation"), ranks);
  const Dims sizes = einsum_sizes(equation, inputs);
  Dims output;
  for (int label : equation.output) output.push_back(sizes[label]);
  context.set_output(0, context.element(0), std::move(output));
}

void infer_det(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  if (dims.size() < 2 || differ(dims[dims.size() - 1], dims[dims.size() - 2])) {
    throw Error("the last two dimensions of {} are not those of a square matrix", to_string(dims));
  }
  dims.resize(dims.size() - 2);
  context.set_output(0, context.element(0), std::move(dims));
}

double positive(std::int64_t count) { return count < 0 ? 0 : static_cast<double>(count); }

Work matmul_work(const TypedOp& op) {
  const double columns = op.dims(0).empty() ? 0 : positive(op.dims(0).back());
  return {.flop = 2 * columns * positive(op.output(0).element_count()), .bytes = io_bytes(op)};
}

Work gemm_work(const TypedOp& op) {
  const double columns = positive(op.dims(0)[op.get_int("transA") != 0 ? 0 : 1]);
  return {.flop = 2 * columns * positive(op.output(0).element_count()), .bytes = io_bytes(op)};
}

// Two operations for each combination of labels, as if all inputs were multiplied at once.
Work einsum_work(const TypedOp& op) {
  std::vector<int> ranks;
  std::vector<Dims> inputs;
  for (const Type& type : op.input_types) {
    ranks.push_back(type.rank());
    inputs.push_back(type.dims);
  }
  double flop = 2;
  for (std::int64_t size : einsum_sizes(read_einsum(op.get_string("equation"), ranks), inputs)) {
    if (size != kUnknown) flop *= static_cast<double>(size);
  }
  return {.flop = flop, .bytes = io_bytes(op)};
}

Work det_work(const TypedOp& op) {
  const double rows = op.dims(0).empty() ? 0 : positive(op.dims(0).back());
  return {.flop = 2.0 / 3 * rows * positive(op.input(0).element_count()), .bytes = io_bytes(op)};
}

// Rows of A, columns of B, or a stack of matrices on both sides.
bool matrix_product_samples(const SampledOp& op) {
  constexpr int kColumns = 0;
  constexpr int kRows = 1;
  const bool both = op.has(0) && op.has(1);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.has(i)) continue;
    if (i > 1 || op.input_from_last(i) != op.output_from_last(0)) return false;
    if (both && op.input_from_last(i) <= kRows) return false;
    if (op.input_from_last(i) == (i == 0 ? kColumns : kRows)) return false;
  }
  return true;
}

bool gemm_samples(const SampledOp& op) {
  const bool first = op.has(0) && op.inputs[0] == (op.typed.get_int("transA") != 0 ? 1 : 0);
  return first && !op.has(1) && op.outputs[0] == 0 && (!op.has(2) || op.input_from_last(2) == 1);
}

// All samples carry one letter.
bool einsum_samples(const SampledOp& op) {
  std::vector<int> ranks;
  for (const Type& type : op.typed.input_types) ranks.push_back(type.rank());
  const EinsumEquation equation = read_einsum(op.typed.get_string("equation"), ranks);
  const int letter = equation.output[op.outputs[0]];
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.has(i) && equation.inputs[i][op.inputs[i]] != letter) return false;
  }
  return true;
}

}  // namespace

std::span<const OpSpec> matmul_ops() {
  static const std::vector<OpSpec> kRows = family(
      {.category = Category::MatrixProduct},
      {
          {.name = "MatMul",
           .since = 13,
           .inputs = {{"A"}, {"B"}},
           .outputs = {{"Y"}},
           .types = {{'T', kProducts}},
           .infer = infer_matmul,
           .work = matmul_work,
           .factors = Factors{0, 1},
           .samples = matrix_product_samples},
          {.name = "Gemm",
           .since = 13,
           .inputs = {{"A"}, {"B"}, {"C", 'T', Formal::Optional}},
           .outputs = {{"Y"}},
           .types = {{'T', kProducts}},
           .attributes = {with_default("alpha", 1.0F), with_default("beta", 1.0F),
                          with_default("transA", std::int64_t{0}), with_default("transB", std::int64_t{0})},
           .infer = infer_gemm,
           .work = gemm_work,
           .factors = Factors{0, 1},
           .samples = gemm_samples},
          {.name = "MatMulInteger",
           .since = 10,
           .gained = 10,
           .inputs = {{"A", 'A'},
                      {"B", 'B'},
                      {"a_zero_point", 'A', Formal::Optional},
                      {"b_zero_point", 'B', Formal::Optional}},
           .outputs = {{"Y", 'C'}},
           .types = {{'A', kBytes}, {'B', kBytes}, {'C', {DataType::Int32}}},
           .infer = infer_matmul_integer,
           .work = matmul_work,
           .factors = Factors{0, 1},
           .samples = matrix_product_samples,
           .no_gradient = "its output is not a floating point number"},
          {.name = "QLinearMatMul",
           .since = 21,
           .gained = 10,
           .inputs = {{"a", 'A'},
                      {"a_scale", 'S'},
                      {"a_zero_point", 'A'},
                      {"b", 'B'},
                      {"b_scale", 'S'},
                      {"b_zero_point", 'B'},
                      {"y_scale", 'S'},
                      {"y_zero_point", 'C'}},
           .outputs = {{"y", 'C'}},
           .types =
               {{'A', kQuantizedFactors}, {'B', kQuantizedFactors}, {'C', kQuantizedFactors}, {'S', kScales}},
           .infer = infer_qlinear_matmul,
           .work = matmul_work,
           .factors = Factors{0, 3},
           .no_samples = kNotWorkedOut,
           .no_gradient = "its derivative is 0 wherever it has one"},
          {.name = "Einsum",
           .since = 12,
           .gained = 12,
           .inputs = {{"Inputs", 'T', Formal::Variadic}},
           .outputs = {{"Output"}},
           .types = {{'T', kNumeric}},
           .attributes = {must_have("equation", AttributeKind::String)},
           .infer = infer_einsum,
           .work = einsum_work,
           .factors = Factors{0, 1},
           .samples = einsum_samples},
          {.name = "Det",
           .since = 22,
           .gained = 11,
           .inputs = {{"X"}},
           .outputs = {{"Y"}},
           .types = {{'T', kFloats}},
           .infer = infer_det,
           .work = det_work,
           .category = Category::Plain,
           .samples = first_axis},
      });
  return kRows;
}

}  // namespace podium::ir
