#include "executor/sim/products.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/attention.h"
#include "ir/ops/gru_gradient.h"
#include "ir/ops/lstm_gradient.h"
#include "ir/ops/recurrent.h"
#include "ir/ops/rnn_gradient.h"
#include "ir/work.h"

namespace podium::sim {
namespace {

using ir::TypedOp;

double elements(const ir::Type& type) { return static_cast<double>(type.element_count()); }

// The sizes follow from the elements of both operands and the result and the number of multiply-adds alone,
// also of batches and of operands that are broadcast: rows x inner x columns x count = multiply-adds, and
// each of the three tensors lacks one of the sizes.
std::vector<RepeatedProduct> product_of_two(const TypedOp& op, const ir::Type& left, const ir::Type& right) {
  const double multiply_adds = ir::work_of(op).flop / 2;
  const double a = elements(left);
  const double b = elements(right);
  const double y = elements(op.output(0));
  if (a * b * y * multiply_adds == 0) return {};
  // The division leaves a rounding error, and a count is whole.
  const double count = std::round(a / multiply_adds * b / multiply_adds * y);
  if (count < 1) return {};  // more labels than a product has
  return {{{.count = count,
            .rows = multiply_adds / b,
            .inner = multiply_adds / y,
            .columns = multiply_adds / a}}};
}

std::vector<RepeatedProduct> matmul_products(const TypedOp& op) {
  const ir::OpSpec& spec = *op.op.spec;
  const bool has_more = spec.inputs.back().formal == ir::Formal::Variadic && op.input_count() > 2;
  if (has_more || spec.factors->right >= op.input_count()) return {};
  return product_of_two(op, op.input(spec.factors->left), op.input(spec.factors->right));
}

// The channels of X on one side of the product and of the window on the other; transposed, the window's
// elements are results that are added up afterwards.
std::vector<RepeatedProduct> conv_products(const TypedOp& op) {
  const std::size_t place = op.op.spec->factors->right;
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

// The gradients of a step's gates give those of the state before it.
std::vector<RepeatedProduct> products_of_steps(const ir::Dims& gates, const ir::Dims& r) {
  const Product state{.rows = static_cast<double>(gates[1]),
                      .inner = static_cast<double>(gates[2]),
                      .columns = static_cast<double>(r[1])};
  return {{state, static_cast<double>(gates[0])}};
}

// X is projected in one product for all steps; the state's products follow each other.
std::vector<RepeatedProduct> recurrent_products(const TypedOp& op) {
  if (op.op.is("LSTMGradient", "podium"))
    return products_of_steps(op.dims(ir::LstmGradientInput::kGates), op.dims(ir::LstmGradientInput::kR));
  if (op.op.is("GRUGradient", "podium"))
    return products_of_steps(op.dims(ir::GruGradientInput::kGates), op.dims(ir::GruGradientInput::kR));
  if (op.op.is("RNNGradient", "podium"))
    return products_of_steps(op.dims(ir::RnnGradientInput::kStates), op.dims(ir::RnnGradientInput::kR));
  const ir::RecurrentShape shape = ir::recurrent_shape(op);
  const double gates = static_cast<double>(op.dims(ir::RecurrentInput::kR)[1]);
  Product projection{.count = static_cast<double>(shape.directions),
                     .rows = static_cast<double>(shape.steps * shape.batch),
                     .inner = static_cast<double>(shape.input),
                     .columns = gates};
  Product state = projection;
  state.rows = static_cast<double>(shape.batch);
  state.inner = static_cast<double>(shape.hidden);
  return {{projection}, {state, static_cast<double>(shape.steps)}};
}

// Scores, then their product with V, of every head.
std::vector<RepeatedProduct> attention_products(const TypedOp& op) {
  const ir::AttentionShape shape = ir::attention_shape(op);
  if (elements(op.input(ir::AttentionInput::kQ)) + elements(op.output(ir::AttentionOutput::kY)) == 0)
    return {};
  Product scores{.count = static_cast<double>(shape.batch * shape.q_heads),
                 .rows = static_cast<double>(shape.rows),
                 .inner = static_cast<double>(shape.head),
                 .columns = static_cast<double>(shape.positions())};
  Product values = scores;
  values.inner = scores.columns;
  values.columns = static_cast<double>(shape.v_head);
  return {{scores}, {values}};
}

}  // namespace

std::vector<RepeatedProduct> products_of(const TypedOp& op) {
  switch (op.op.spec->category) {
    case ir::Category::MatrixProduct:
      return matmul_products(op);
    case ir::Category::Convolution:
      return conv_products(op);
    case ir::Category::WeightGradient:
      return weight_gradient_products(op);
    case ir::Category::Recurrent:
      return recurrent_products(op);
    case ir::Category::Attention:
      return attention_products(op);
    case ir::Category::None:
    case ir::Category::Elementwise:
    case ir::Category::Normalizing:
    case ir::Category::Control:
    case ir::Category::Plain:
      return {};
  }
  IR_CHECK(false);
}

bool has_matrix_unit(ir::DataType type) {
  return bit_width(type) <= (is_float(type) ? 32 : 8) && (is_float(type) || is_integer(type));
}

}  // namespace podium::sim
