#include "executor/numeric/fuse_gelu.h"

#include <cmath>
#include <numbers>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {

using ir::OpId;
using ir::ValueId;

namespace {

constexpr double kHalfRoot = std::numbers::sqrt2 / 2;                          // 1 / sqrt(2)
constexpr double kTanhScale = std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // sqrt(2 / pi)
constexpr double kCubeFactor = 0.044715;

// `value` is factor * x (or x divided by 1 / factor): x.
std::optional<ValueId> divided_by_factor(const Rewriter& rewriter, ValueId value, double factor) {
  if (const auto mul = rewriter.producer(value, "Mul")) return rewriter.other_than_number(*mul, factor);
  const auto div = rewriter.producer(value, "Div");
  if (!div) return std::nullopt;
  const auto number = rewriter.number(rewriter.op(*div).inputs[1]);
  if (!number || std::abs(*number * factor - 1) > 2e-6) return std::nullopt;
  return rewriter.op(*div).inputs[0];
}

// `value` is x * x * x: x.
std::optional<ValueId> cube_root(const Rewriter& rewriter, ValueId value) {
  if (const auto pow = rewriter.producer(value, "Pow")) {
    const auto exponent = rewriter.number(rewriter.op(*pow).inputs[1]);
    return exponent == 3.0 ? std::optional(rewriter.op(*pow).inputs[0]) : std::nullopt;
  }
  const auto outer = rewriter.producer(value, "Mul");
  if (!outer) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId x = rewriter.op(*outer).inputs[i];
    const auto inner = rewriter.producer(rewriter.op(*outer).inputs[1 - i], "Mul");
    if (inner && rewriter.op(*inner).inputs == std::vector<ValueId>{x, x}) return x;
  }
  return std::nullopt;
}

// `value` is x + 0.044715 x^3: x.
std::optional<ValueId> unbent(const Rewriter& rewriter, ValueId value) {
  const auto add = rewriter.producer(value, "Add");
  if (!add) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto cube = divided_by_factor(rewriter, rewriter.op(*add).inputs[i], kCubeFactor);
    const auto x = cube ? cube_root(rewriter, *cube) : std::nullopt;
    if (x && *x == rewriter.op(*add).inputs[1 - i]) return x;
  }
  return std::nullopt;
}

// `value` is 1 + 0.044715 x x.
bool is_bend(const Rewriter& rewriter, ValueId value, ValueId x) {
  const auto add = rewriter.producer(value, "Add");
  const auto term = add ? rewriter.other_than_number(*add, 1.0) : std::nullopt;
  const auto mul = term ? rewriter.producer(*term, "Mul") : std::nullopt;
  if (!mul) return false;
  const auto& factors = rewriter.op(*mul).inputs;
  for (std::size_t i = 0; i < 2; ++i) {
    if (factors[i] == x && divided_by_factor(rewriter, factors[1 - i], kCubeFactor) == x) return true;
  }
  return false;
}

// `value` is sqrt(2 / pi) * (x + 0.044715 x^3): x.
std::optional<ValueId> tanh_argument(const Rewriter& rewriter, ValueId value) {
  if (const auto inner = divided_by_factor(rewriter, value, kTanhScale)) return unbent(rewriter, *inner);
  const auto mul = rewriter.producer(value, "Mul");
  if (!mul) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto x = divided_by_factor(rewriter, rewriter.op(*mul).inputs[i], kTanhScale);
    if (x && is_bend(rewriter, rewriter.op(*mul).inputs[1 - i], *x)) return x;
  }
  return std::nullopt;
}

// The op that gives 0.5 * x * (1 + value), in any order of the products; not valid when there is none.
OpId half_times(const Rewriter& rewriter, ValueId value, ValueId x) {
  const auto add = rewriter.only_reader(value, "Add");
  if (!add || !rewriter.other_than_number(*add, 1.0)) return {};
  const ValueId one_more = rewriter.op(*add).outputs[0];
  const auto first = rewriter.only_reader(one_more, "Mul");
  if (!first) return {};
  const ValueId factor = rewriter.other_input(*first, one_more);
  if (divided_by_factor(rewriter, factor, 0.5) == x) return *first;
  const auto second = rewriter.only_reader(rewriter.op(*first).outputs[0], "Mul");
  if (!second) return {};
  const ValueId last = rewriter.other_input(*second, rewriter.op(*first).outputs[0]);
  const auto is_half = [&](ValueId id) {
    const auto number = rewriter.number(id);
    return number && *number == 0.5;
  };
  if ((factor == x && is_half(last)) || (is_half(factor) && last == x)) return *second;
  return {};
}

void put(Rewriter& rewriter, OpId at, std::string_view name, ValueId x,
         std::vector<ir::Attribute> attributes) {
  if (ir::find_op("", name) == nullptr) return;
  const ir::Op before = rewriter.op(at);
  ir::Op fused = make_op(name, "", {x}, before.outputs, std::move(attributes));
  fused.name = before.name;
  rewriter.replace(at, std::move(fused));
}

void fuse_gelu_at(Rewriter& rewriter, OpId id) {
  const ir::Op& op = rewriter.op(id);
  const bool is_erf = op.is("Erf");
  if (!is_erf && !op.is("Tanh")) return;
  const auto x =
      is_erf ? divided_by_factor(rewriter, op.inputs[0], kHalfRoot) : tanh_argument(rewriter, op.inputs[0]);
  if (!x) return;
  const OpId last = half_times(rewriter, op.outputs[0], *x);
  if (!last.valid()) return;
  put(rewriter, last, "Gelu", *x, {{"approximate", std::string(is_erf ? "none" : "tanh")}});
}

// x times a gate that reads x.
void fuse_gate(Rewriter& rewriter, OpId id) {
  const ir::Op& op = rewriter.op(id);
  const bool is_sigmoid = op.is("Sigmoid");
  if (!is_sigmoid && !op.is("HardSigmoid")) return;
  const ValueId x = op.inputs[0];
  const auto mul = rewriter.only_reader(op.outputs[0], "Mul");
  if (!mul || rewriter.other_input(*mul, op.outputs[0]) != x) return;
  if (is_sigmoid) return put(rewriter, *mul, "Swish", x, {{"alpha", 1.0F}});
  const bool is_sixth = std::abs(ir::attribute<float>(op, "alpha") - 1.0F / 6) < 1e-6F;
  if (is_sixth && ir::attribute<float>(op, "beta") == 0.5F) put(rewriter, *mul, "HardSwish", x, {});
}

}  // namespace

bool fuse_gelu(ir::Graph& graph) {
  return rewrite_ops(graph, [](Rewriter& rewriter, OpId id) {
    if (!is_static_float(rewriter.graph(), rewriter.op(id))) return;
    fuse_gelu_at(rewriter, id);
    fuse_gate(rewriter, id);
  });
}

}  // namespace podium::numeric
