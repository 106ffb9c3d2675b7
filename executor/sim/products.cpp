#include "executor/sim/products.h"

#include <algorithm>
#include <string_view>

#include "executor/sim/op_family.h"
#include "ir/work.h"

namespace podium::sim {
namespace {

using ir::TypedOp;

double elements(const ir::Type& type) { return static_cast<double>(type.element_count()); }

// The place of the input that the row calls by one of these names.
std::size_t place_of(const TypedOp& op, std::initializer_list<std::string_view> names) {
  const std::vector<ir::Parameter>& inputs = op.op.spec->inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (std::find(names.begin(), names.end(), inputs[i].name) != names.end()) return i;
  }
  return inputs.size();
}

// The sizes follow from the elements of both operands and the result and the number of multiply-adds alone,
// also of batches and of operands that are broadcast: rows x inner x columns x count = multiply-adds, and
// each of the three tensors lacks one of the sizes.
std::vector<RepeatedProduct> product_of_two(const TypedOp& op, const ir::Type& left, const ir::Type& right) {
  const double multiply_adds = ir::work_of(op).flop / 2;
  const double a = elements(left);
  const double b = elements(right);
  const double y = elements(op.output(0));
  if (a * b * y * multiply_adds == 0) return {};
  const double count = a / multiply_adds * b / multiply_adds * y;
  if (count < 0.999) return {};             // more labels than a product has
  return {{{.count = std::max(1.0, count),  // which rounding may have left below
            .rows = multiply_adds / b,
            .inner = multiply_adds / y,
            .columns = multiply_adds / a}}};
}

std::vector<RepeatedProduct> matmul_products(const TypedOp& op) {
  if (op.op.is("Einsum") && op.input_count() == 2) return product_of_two(op, op.input(0), op.input(1));
  const std::size_t second = place_of(op, {"B", "b"});
  if (second >= op.input_count()) return {};
  return product_of_two(op, op.input(0), op.input(second));
}

// The channels of X on one side of the product and of the window on the other; transposed, the window's
// elements are results that are added up afterwards.
std::vector<RepeatedProduct> conv_products(const TypedOp& op) {
  const std::size_t place = place_of(op, {"W", "w", "weight"});
  const ir::Dims& weights = op.dims(place);
  const double multiply_adds = ir::work_of(op).flop / 2;
  if (multiply_adds == 0) return {};
  const auto* group = op.get_if<std::int64_t>("group");
  const double count = static_cast<double>(group != nullptr ? *group : weights[0]);
  Product product{.count = count,
                  .inner = elements(op.input(place)) / static_cast<double>(weights[0]),
                  .columns = static_cast<double>(weights[0]) / count};
  if (op.op.is("ConvTranspose")) std::swap(product.inner, product.columns);
  product.rows = multiply_adds / count / product.inner / product.columns;
  product.stored_share = std::min(1.0, elements(op.input(0)) / (count * product.rows * product.inner));
  return {{product}};
}

// The windows of X on one side, what flows back on the other; the sum goes over the places of all images.
std::vector<RepeatedProduct> weight_gradient_products(const TypedOp& op) {
  const ir::Dims& weights = op.output(0).dims;
  const double multiply_adds = ir::work_of(op).flop / 2;
  if (multiply_adds == 0) return {};
  Product product{.count = static_cast<double>(op.get_int("group")),
                  .rows = elements(op.output(0)) / static_cast<double>(weights[0])};
  product.columns = static_cast<double>(weights[0]) / product.count;
  product.inner = multiply_adds / product.count / product.rows / product.columns;
  product.stored_share =
      std::min(1.0, elements(op.input(0)) / (product.count * product.rows * product.inner));
  return {{product}};
}

// X is projected in one product for all steps; the state's products follow each other.
std::vector<RepeatedProduct> recurrent_products(const TypedOp& op) {
  const ir::Dims& x = op.dims(0);
  const ir::Dims& r = op.dims(2);
  const bool batch_first = op.get_int("layout") != 0;
  const auto steps = static_cast<double>(x[batch_first ? 1 : 0]);
  Product projection{.count = static_cast<double>(r[0]),
                     .rows = static_cast<double>(x[0] * x[1]),
                     .inner = static_cast<double>(x[2]),
                     .columns = static_cast<double>(r[1])};
  Product state = projection;
  state.rows = static_cast<double>(x[batch_first ? 0 : 1]);
  state.inner = static_cast<double>(r[2]);
  return {{projection}, {state, steps}};
}

// Scores, then their product with V, of every head. Q is [batch, heads, rows, size] or [batch, rows, heads x
// size].
std::vector<RepeatedProduct> attention_products(const TypedOp& op) {
  const ir::Dims& q = op.dims(0);
  const auto* heads = op.get_if<std::int64_t>("q_num_heads");
  if (q.size() != 4 && heads == nullptr) return {};
  const double queries = elements(op.input(0));
  const double results = elements(op.output(0));
  if (queries + results == 0) return {};
  const double positions = ir::work_of(op).flop / 2 / (queries + results);
  Product scores{.count = static_cast<double>(q[0] * (q.size() == 4 ? q[1] : *heads)),
                 .rows = static_cast<double>(q[q.size() == 4 ? 2 : 1]),
                 .columns = positions};
  scores.inner = queries / scores.count / scores.rows;
  Product values = scores;
  values.inner = positions;
  values.columns = results / scores.count / scores.rows;
  return {{scores}, {values}};
}

}  // namespace

std::vector<RepeatedProduct> products_of(const TypedOp& op) {
  if (is_of(ir::matmul_ops, op.op.spec)) return matmul_products(op);
  if (is_of(ir::conv_ops, op.op.spec)) return conv_products(op);
  if (op.op.is("ConvWeightGradient", "podium")) return weight_gradient_products(op);
  if (is_of(ir::recurrent_ops, op.op.spec)) return recurrent_products(op);
  if (op.op.is("Attention") || op.op.is("FlexAttention", "ai.onnx.preview")) return attention_products(op);
  return {};
}

bool has_matrix_unit(ir::DataType type) {
  return bit_width(type) <= (is_float(type) ? 32 : 8) && (is_float(type) || is_integer(type));
}

}  // namespace podium::sim
