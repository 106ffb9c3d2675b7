#include "executor/numeric/fuse_layer_norm.h"

#include "executor/numeric/rewriter.h"
#include "ir/filled.h"

namespace podium::numeric {

using ir::OpId;
using ir::ValueId;

namespace {

// `id` is the square of a value: that value.
std::optional<ValueId> squared(const Rewriter& rewriter, ValueId id) {
  if (const auto pow = rewriter.producer(id, "Pow")) {
    const auto exponent = rewriter.number(rewriter.op(*pow).inputs[1]);
    return exponent == 2.0 ? std::optional(rewriter.op(*pow).inputs[0]) : std::nullopt;
  }
  const auto mul = rewriter.producer(id, "Mul");
  if (!mul || rewriter.op(*mul).inputs[0] != rewriter.op(*mul).inputs[1]) return std::nullopt;
  return rewriter.op(*mul).inputs[0];
}

struct Variance {
  ValueId of;  // the centered value whose squares it averages
  double epsilon = 0;
};

// `id` is sqrt(mean(d * d) + epsilon).
std::optional<Variance> deviation(const Rewriter& rewriter, ValueId id, const ir::Dims& axes) {
  const auto root = rewriter.producer(id, "Sqrt");
  const auto add = root ? rewriter.producer(rewriter.op(*root).inputs[0], "Add") : std::nullopt;
  if (!add) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto epsilon = rewriter.number(rewriter.op(*add).inputs[i]);
    const auto squares = averaged(rewriter, rewriter.op(*add).inputs[1 - i], axes);
    const auto base = epsilon && squares ? squared(rewriter, *squares) : std::nullopt;
    if (base) return Variance{*base, *epsilon};
  }
  return std::nullopt;
}

// A constant of one number for each element of the last axis.
bool is_parameter(const Rewriter& rewriter, ValueId id, std::int64_t count) {
  const ir::Tensor* tensor = rewriter.constant(id);
  return tensor != nullptr && tensor->rank() == 1 && tensor->size() == count;
}

void fuse_layer_norm_at(Rewriter& rewriter, OpId div_id) {
  const ir::Op& div = rewriter.op(div_id);
  if (!div.is("Div")) return;
  const ir::Dims last_axis{rewriter.type(div.inputs[0]).rank() - 1};
  const auto variance = deviation(rewriter, div.inputs[1], last_axis);
  const auto x = centered(rewriter, div.inputs[0], last_axis);
  if (!x || !variance) return;
  // Exporters subtract the mean once or twice.
  if (variance->of != div.inputs[0] && centered(rewriter, variance->of, last_axis) != x) return;
  const std::int64_t count = rewriter.type(*x).dims.back();
  OpId last = div_id;
  std::vector<ValueId> inputs{*x};
  if (const auto scaling = rewriter.only_reader(div.outputs[0], "Mul")) {
    const ValueId scale = rewriter.other_input(*scaling, div.outputs[0]);
    if (is_parameter(rewriter, scale, count)) {
      inputs.push_back(scale);
      last = *scaling;
    }
  }
  if (inputs.size() == 1) {
    ir::Graph& graph = rewriter.graph();
    inputs.push_back(
        graph.add_constant(graph.fresh_name("ones"), ir::filled(ir::DataType::Float, {count}, 1)));
  }
  const ValueId scaled = rewriter.op(last).outputs[0];
  if (const auto shifting = rewriter.only_reader(scaled, "Add")) {
    const ValueId bias = rewriter.other_input(*shifting, scaled);
    if (is_parameter(rewriter, bias, count)) {
      inputs.push_back(bias);
      last = *shifting;
    }
  }
  ir::Op fused = make_op("LayerNormalization", "", std::move(inputs), rewriter.op(last).outputs,
                         {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(variance->epsilon)}});
  fused.name = rewriter.op(last).name;
  rewriter.replace(last, std::move(fused));
}

}  // namespace

bool fuse_layer_norm(ir::Graph& graph) {
  if (ir::find_op("", "LayerNormalization") == nullptr) return false;
  return rewrite_ops(graph, [](Rewriter& rewriter, OpId id) {
    if (is_static_float(rewriter.graph(), rewriter.op(id))) fuse_layer_norm_at(rewriter, id);
  });
}

}  // namespace podium::numeric
