// The kinds of tensors that have location settings, each with its name in files, flags and descriptions.
#pragma once

#include <array>
#include <string_view>

#include "executor/session/json_rows.h"
#include "executor/strategy.h"

namespace podium {

struct TensorKind {
  std::string_view option;
  std::string_view flag;  ///< in the lists of --off-chip and --shard
  std::string_view noun;
  LocationSettings Strategy::*settings;
  bool can_be_sharded = true;  ///< over replicas
  UsedBy used_by = UsedBy::All;
};

inline constexpr std::array kTensorKinds{
    TensorKind{"weightTensorLocationSettings", "weights", "weights", &Strategy::weights},
    TensorKind{.option = "optimizerStateTensorLocationSettings",
               .flag = "optimizer",
               .noun = "optimizer state",
               .settings = &Strategy::optimizer_state,
               .used_by = UsedBy::TrainingAlone},
    TensorKind{.option = "accumulatorTensorLocationSettings",
               .flag = "accumulators",
               .noun = "accumulators",
               .settings = &Strategy::accumulators,
               .used_by = UsedBy::TrainingAlone},
    TensorKind{.option = "activationTensorLocationSettings",
               .flag = "activations",
               .noun = "activations",
               .settings = &Strategy::activations,
               .can_be_sharded = false},
};

}  // namespace podium
