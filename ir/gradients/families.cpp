#include "ir/gradients/families.h"

#include <array>
#include <unordered_map>

namespace podium::ir {
namespace {

std::unordered_map<const OpSpec*, GradientFunction> builders_by_op() {
  std::unordered_map<const OpSpec*, GradientFunction> builders;
  for (const GradientFamily family : gradient_families()) {
    for (const GradientRow& row : family()) {
      const OpSpec* spec = find_op(row.domain, row.op);
      IR_CHECK(spec != nullptr, "a gradient of {} {}, which is no op", row.domain, row.op);
      const bool is_new = builders.emplace(spec, row.builder).second;
      IR_CHECK(is_new, "two gradients of {} {}", row.domain, row.op);
    }
  }
  return builders;
}

}  // namespace

std::span<const GradientFamily> gradient_families() {
  static constexpr std::array kFamilies{
      elementwise_gradients, activation_gradients, movement_gradients,  selection_gradients,
      sequence_gradients,    reduction_gradients,  einsum_gradients,    conv_gradients,
      deform_gradients,      pool_gradients,       norm_gradients,      loss_gradients,
      resample_gradients,    grid_gradients,       recurrent_gradients, lstm_gradients,
      gru_gradients,         rnn_gradients,        attention_gradients, linear_attention_gradients,
      signal_gradients,      branch_gradients,     loop_gradients,      ml_gradients,
      replicated_gradients,  optimizer_gradients,  late_gradients,
  };
  return kFamilies;
}

GradientFunction find_gradient(const OpSpec& spec) {
  static const std::unordered_map<const OpSpec*, GradientFunction> kBuilders = builders_by_op();
  const auto found = kBuilders.find(&spec);
  return found == kBuilders.end() ? nullptr : found->second;
}

}  // namespace podium::ir
