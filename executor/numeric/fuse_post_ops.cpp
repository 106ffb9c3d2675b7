#include "executor/numeric/fuse_post_ops.h"

#include <array>
#include <limits>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {

using ir::Op;
using ir::OpId;
using ir::ValueId;

namespace {

std::optional<float> bound(const Rewriter& rewriter, const Op& clip, std::size_t i, float without) {
  if (!has_input(clip, i)) return without;
  const auto number = rewriter.number(clip.inputs[i]);
  if (!number) return std::nullopt;
  return static_cast<float>(*number);
}

}  // namespace

std::optional<Activation> activation_of(const Rewriter& rewriter, const Op& op) {
  constexpr std::array<std::string_view, 5> kPlain{"Relu", "Sigmoid", "Tanh", "HardSwish", "Mish"};
  for (std::string_view name : kPlain) {
    if (op.is(name)) return Activation{std::string(name)};
  }
  if (op.is("LeakyRelu") || op.is("Elu") || op.is("Swish")) {
    return Activation{std::string(op.spec->name), ir::attribute<float>(op, "alpha")};
  }
  if (op.is("Gelu")) {
    return Activation{ir::attribute<std::string>(op, "approximate") == "tanh" ? "GeluTanh" : "GeluErf"};
  }
  if (!op.is("Clip")) return std::nullopt;
  const auto low = bound(rewriter, op, 1, -std::numeric_limits<float>::infinity());
  const auto high = bound(rewriter, op, 2, std::numeric_limits<float>::infinity());
  if (!low || !high || *low > *high) return std::nullopt;
  return Activation{"Clip", *low, *high};
}

void set_activation(Op& fused, const Activation& activation) {
  ir::set_attribute(fused, "activation", activation.name);
  ir::set_attribute(fused, "alpha", activation.alpha);
  ir::set_attribute(fused, "beta", activation.beta);
}

namespace {

bool is_product(const Op& op) { return op.is("Convolution", "podium") || op.is("MatMul", "podium"); }

// The product with the Add that reads it; nullopt when the other addend fits neither as bias nor as residual.
std::optional<Op> with_addend(Rewriter& rewriter, const Op& product, OpId add) {
  const ValueId y = product.outputs[0];
  const ValueId addend = rewriter.other_input(add, y);
  const ir::Type& type = rewriter.type(y);
  if (has_input(product, 3) || !(rewriter.type(rewriter.op(add).outputs[0]) == type)) return std::nullopt;
  Op fused = product;
  fused.inputs.resize(4);
  if (!has_input(product, 2) && is_vector(rewriter, addend, type.dims.back())) {
    fused.inputs[2] = as_vector(rewriter.graph(), addend);
  } else if (rewriter.type(addend) == type && rewriter.constant(addend) == nullptr) {
    fused.inputs[3] = addend;
  } else {
    return std::nullopt;
  }
  if (!fused.inputs[3].valid()) fused.inputs.resize(3);
  return fused;
}

void absorb_reader(Rewriter& rewriter, OpId id) {
  const Op product = rewriter.op(id);
  const OpId reader = rewriter.only_reader(product.outputs[0]);
  if (!reader.valid() || !ir::attribute<std::string>(product, "activation").empty()) return;
  const Op& next = rewriter.op(reader);
  if (next.outputs.size() != 1) return;
  std::optional<Op> fused;
  if (next.is("Add") && is_product(product)) {
    fused = with_addend(rewriter, product, reader);
  } else if (const auto activation = activation_of(rewriter, next)) {
    fused = product;
    set_activation(*fused, *activation);
  }
  if (!fused) return;
  fused->outputs = rewriter.op(reader).outputs;
  rewriter.erase(id);
  rewriter.replace(reader, std::move(*fused));
}

}  // namespace

bool fuse_post_ops(ir::Graph& graph) {
  // A fused op stands where its reader stood, so that it is met again.
  return rewrite_ops(graph, [](Rewriter& rewriter, OpId id) {
    if (is_product(rewriter.op(id)) || rewriter.op(id).is("GroupNormalization", "podium"))
      absorb_reader(rewriter, id);
  });
}

}  // namespace podium::numeric
