// The families of gradients: one file each, one table each, of ops and the builders of their gradients.
#pragma once

#include <span>
#include <string_view>

#include "ir/gradients/gradient.h"

namespace podium::ir {

struct GradientRow {
  std::string_view op;
  GradientFunction builder;
  std::string_view domain = "";
};

using GradientFamily = std::span<const GradientRow> (*)();

std::span<const GradientRow> elementwise_gradients();
std::span<const GradientRow> activation_gradients();
std::span<const GradientRow> movement_gradients();
std::span<const GradientRow> selection_gradients();
std::span<const GradientRow> sequence_gradients();
std::span<const GradientRow> reduction_gradients();
std::span<const GradientRow> einsum_gradients();
std::span<const GradientRow> conv_gradients();
std::span<const GradientRow> deform_gradients();
std::span<const GradientRow> pool_gradients();
std::span<const GradientRow> norm_gradients();
std::span<const GradientRow> loss_gradients();
std::span<const GradientRow> resample_gradients();
std::span<const GradientRow> grid_gradients();
std::span<const GradientRow> recurrent_gradients();
std::span<const GradientRow> lstm_gradients();
std::span<const GradientRow> gru_gradients();
std::span<const GradientRow> rnn_gradients();
std::span<const GradientRow> attention_gradients();
std::span<const GradientRow> linear_attention_gradients();
std::span<const GradientRow> signal_gradients();
std::span<const GradientRow> branch_gradients();
std::span<const GradientRow> loop_gradients();
std::span<const GradientRow> ml_gradients();
std::span<const GradientRow> replicated_gradients();
std::span<const GradientRow> optimizer_gradients();
std::span<const GradientRow> late_gradients();

/// All of them.
std::span<const GradientFamily> gradient_families();

}  // namespace podium::ir
