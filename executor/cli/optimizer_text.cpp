#include "executor/cli/optimizer_text.h"

#include <fmt/ranges.h>

#include <array>

#include "executor/cli/flag_values.h"
#include "ir/nearest.h"

namespace podium::cli {
namespace {

using ir::OptimizerKind;

struct NamedOptimizer {
  std::string_view name;
  OptimizerKind kind;
  ir::WeightDecayMode decay = ir::WeightDecayMode::L2Regularization;
};

constexpr std::array kOptimizers{NamedOptimizer{"sgd", OptimizerKind::Sgd},
                                 NamedOptimizer{"adam", OptimizerKind::Adam},
                                 NamedOptimizer{"adamw", OptimizerKind::Adam, ir::WeightDecayMode::Decay},
                                 NamedOptimizer{"adamax", OptimizerKind::AdaMax},
                                 NamedOptimizer{"lamb", OptimizerKind::Lamb, ir::WeightDecayMode::Decay},
                                 NamedOptimizer{"adagrad", OptimizerKind::AdaGrad},
                                 NamedOptimizer{"rmsprop", OptimizerKind::RmsProp},
                                 NamedOptimizer{"adadelta", OptimizerKind::AdaDelta}};

struct OptimizerKey {
  std::string_view name;   // as typed
  std::string_view value;  // PopART's
};

constexpr std::array kOptimizerKeys{OptimizerKey{"lr", "learningRate"},
                                    OptimizerKey{"weight-decay", "weightDecay"},
                                    OptimizerKey{"momentum", "momentum"},
                                    OptimizerKey{"dampening", "dampening"},
                                    OptimizerKey{"velocity-scaling", "velocityScaling"},
                                    OptimizerKey{"beta1", "beta1"},
                                    OptimizerKey{"beta2", "beta2"},
                                    OptimizerKey{"eps", "eps"},
                                    OptimizerKey{"alpha", "alpha"},
                                    OptimizerKey{"max-weight-norm", "maxWeightNorm"}};

// Words without a value.
struct Word {
  std::string_view name;
  bool (*set)(ir::Optimizer&);  // false: the kind has no such form
};

bool set_nesterov(ir::Optimizer& optimizer) {
  optimizer.nesterov = true;
  return optimizer.kind == OptimizerKind::Sgd;
}

bool set_separate(ir::Optimizer& optimizer) {
  optimizer.sgd_state = ir::SgdState::Separate;
  return optimizer.kind == OptimizerKind::Sgd;
}

bool set_centered(ir::Optimizer& optimizer) {
  const bool fits = optimizer.kind == OptimizerKind::RmsProp;
  optimizer.kind = OptimizerKind::CenteredRmsProp;
  return fits;
}

bool set_tensorflow(ir::Optimizer& optimizer) {
  optimizer.tensorflow_rms = true;
  return optimizer.kind == OptimizerKind::RmsProp || optimizer.kind == OptimizerKind::CenteredRmsProp;
}

bool set_float32_state(ir::Optimizer& optimizer) {
  optimizer.state_type = ir::DataType::Float;
  optimizer.accumulator_type = ir::DataType::Float;
  return true;
}

bool set_float16_state(ir::Optimizer& optimizer) {
  optimizer.state_type = ir::DataType::Float16;
  optimizer.accumulator_type = ir::DataType::Float16;
  return true;
}

bool set_scaled_state(ir::Optimizer& optimizer) {
  optimizer.scaled_state = true;
  return optimizer.defaults.contains("beta1");
}

bool set_decay(ir::Optimizer& optimizer) {
  optimizer.decay_mode = ir::WeightDecayMode::Decay;
  return optimizer.kind != OptimizerKind::Sgd;
}

bool set_l2(ir::Optimizer& optimizer) {
  optimizer.decay_mode = ir::WeightDecayMode::L2Regularization;
  return optimizer.kind != OptimizerKind::Sgd;
}

bool set_no_bias(ir::Optimizer& optimizer) {
  const bool is_lamb = optimizer.kind == OptimizerKind::Lamb;
  const bool fits = is_lamb || optimizer.kind == OptimizerKind::Adam;
  optimizer.kind = is_lamb ? OptimizerKind::LambNoBias : OptimizerKind::AdamNoBias;
  return fits;
}

constexpr std::array kWords{Word{"nesterov", set_nesterov},
                            Word{"separate", set_separate},
                            Word{"centered", set_centered},
                            Word{"tensorflow", set_tensorflow},
                            Word{"no-bias", set_no_bias},
                            Word{"float32-state", set_float32_state},
                            Word{"float16-state", set_float16_state},
                            Word{"scaled-state", set_scaled_state},
                            Word{"decay", set_decay},
                            Word{"l2", set_l2}};

void set_value(ir::Optimizer& optimizer, const NamedOptimizer& kind, const std::string& name,
               const std::string& text) {
  std::vector<std::string_view> known;
  for (const OptimizerKey& key : kOptimizerKeys) {
    const auto value = optimizer.defaults.find(key.value);
    if (value == optimizer.defaults.end()) continue;
    known.push_back(key.name);
    if (key.name != name) continue;
    value->second.value = number(fmt::format("--optimizer {}", name), text, 0.0);
    return;
  }
  throw UsageError("--optimizer: {} has no value '{}', the nearest is '{}'", kind.name, name,
                   ir::nearest(name, known));
}

void set_word(ir::Optimizer& optimizer, const NamedOptimizer& kind, const std::string& name) {
  const std::vector<std::string_view> words = names_of(kWords);
  const Word& word = kWords[index_of_word("optimizer", name, words)];
  if (!word.set(optimizer)) throw UsageError("--optimizer: {} has no form '{}'", kind.name, name);
}

}  // namespace

ir::Optimizer read_optimizer(const std::string& text) {
  const NameAndValues given = name_and_values("optimizer", text);
  const NamedOptimizer& kind = kOptimizers[index_of_word("optimizer", given.name, names_of(kOptimizers))];
  ir::Optimizer optimizer = ir::make_optimizer(kind.kind);
  optimizer.decay_mode = kind.decay;
  for (const auto& [name, value] : given.values) {
    if (value) {
      set_value(optimizer, kind, name, *value);
    } else {
      set_word(optimizer, kind, name);
    }
  }
  return optimizer;
}

std::string optimizer_help() {
  return fmt::format(
      "NAME[,KEY=VALUE or WORD...]: NAME is {}; keys are {}, as far as NAME has them; words are {}. "
      "Decay is taken from the weights by adamw, lamb and with decay; it is a part of the gradient elsewhere "
      "and with l2",
      fmt::join(names_of(kOptimizers), ", "), fmt::join(names_of(kOptimizerKeys), ", "),
      fmt::join(names_of(kWords), ", "));
}

}  // namespace podium::cli
