#include "executor/kernels/fused/fused_activation.h"

#include <algorithm>
#include <array>

namespace podium::kernels {
namespace {

struct Known {
  std::string_view name;
  dnnl::algorithm algorithm;
};

constexpr std::array<Known, 11> kKnown{{
    {"Relu", dnnl::algorithm::eltwise_relu},
    {"LeakyRelu", dnnl::algorithm::eltwise_relu},
    {"Elu", dnnl::algorithm::eltwise_elu},
    {"Sigmoid", dnnl::algorithm::eltwise_logistic},
    {"Tanh", dnnl::algorithm::eltwise_tanh},
    {"Clip", dnnl::algorithm::eltwise_clip},
    {"HardSwish", dnnl::algorithm::eltwise_hardswish},
    {"Swish", dnnl::algorithm::eltwise_swish},
    {"Mish", dnnl::algorithm::eltwise_mish},
    {"GeluErf", dnnl::algorithm::eltwise_gelu_erf},
    {"GeluTanh", dnnl::algorithm::eltwise_gelu_tanh},
}};

}  // namespace

void append_activation(dnnl::post_ops& post_ops, const ir::TypedOp& op) {
  const std::string& name = op.get_string("activation");
  if (name.empty()) return;
  const auto* found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) { return known.name == name; });
  IR_CHECK(found != kKnown.end(), "activation {} is not known", name);
  post_ops.append_eltwise(1.0F, found->algorithm, op.get_float("alpha"), op.get_float("beta"));
}

}  // namespace podium::kernels
