#include "ir/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/error.h"
#include "ir/glob.h"
#include "ir/nearest.h"

namespace podium::ir {
namespace {

bool is_lamb(OptimizerKind kind) { return kind == OptimizerKind::Lamb || kind == OptimizerKind::LambNoBias; }

void check_names(const OptimizerValues& values, OptimizerKind kind) {
  const OptimizerValues& known = default_values(kind);
  for (const auto& [name, value] : values) {
    if (known.contains(name)) continue;
    std::vector<std::string_view> names;
    for (const auto& entry : known) names.push_back(entry.first);
    throw Error("{} has no value '{}'; nearest is '{}'", name_of(kind), name, nearest(name, names));
  }
}

struct Range {
  std::string_view name;
  double lowest;
  bool lowest_fits;
  double end;  // the first number that is too large
};

constexpr double kNoEnd = 1e300;
constexpr std::array kRanges{Range{"learningRate", 0, true, kNoEnd},
                             Range{"weightDecay", 0, true, kNoEnd},
                             Range{"momentum", 0, true, kNoEnd},
                             Range{"dampening", 0, true, kNoEnd},
                             Range{"velocityScaling", 0, false, kNoEnd},
                             Range{"beta1", 0, true, 1},
                             Range{"beta2", 0, true, 1},
                             Range{"eps", 0, true, kNoEnd},
                             Range{"alpha", 0, true, kNoEnd},
                             Range{"maxWeightNorm", 0, true, kNoEnd}};

void check_value(std::string_view name, const OptimizerValue& given) {
  const auto range =
      std::find_if(kRanges.begin(), kRanges.end(), [&](const Range& r) { return r.name == name; });
  IR_CHECK(range != kRanges.end());
  const bool is_high_enough = range->lowest_fits ? given.value >= range->lowest : given.value > range->lowest;
  if (is_high_enough && given.value < range->end) {
    if (name != "learningRate" || given.value != 0 || !given.constant) return;
    throw Error("learningRate is constant 0, so that no weight would change");
  }
  const std::string_view relation = range->lowest_fits ? "at least" : "above";
  if (range->end < kNoEnd || given.value >= range->end) {
    throw Error("{} is {}, it must be {} {} and below {}", name, given.value, relation, range->lowest,
                range->end);
  }
  throw Error("{} is {}, it must be {} {}", name, given.value, relation, range->lowest);
}

void check_dampening(const Optimizer& optimizer, const std::string& weight) {
  if (!optimizer.nesterov) return;
  const OptimizerValue dampening = value_of(optimizer, "dampening", weight);
  if (dampening.value == 0 && dampening.constant) return;
  throw Error("nesterov momentum: dampening is {}{}, it must be constant 0", dampening.value,
              dampening.constant ? "" : " and can change");
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_is_weight(const std::string& name, const std::vector<std::string>& weights) {
  if (contains(weights, name)) return;
  const std::vector<std::string_view> names(weights.begin(), weights.end());
  throw Error("there is no weight '{}' that is trained; nearest is '{}'", name, nearest(name, names));
}

void check_clip_norms(const Optimizer& optimizer, const std::vector<std::string>& weights) {
  std::vector<std::string_view> seen;
  for (const ClipNorm& group : optimizer.clip_norms) {
    if (!(group.max_norm > 0)) throw Error("clip norm is {}, it must be above 0", group.max_norm);
    if (group.weights.empty() && optimizer.clip_norms.size() > 1) {
      throw Error("clip norm over all weights: {} groups found, it must be the only one",
                  optimizer.clip_norms.size());
    }
    for (const std::string& weight : group.weights) {
      check_is_weight(weight, weights);
      seen.push_back(weight);
    }
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice != seen.end()) throw Error("weight '{}' is in two groups of clip norms", *twice);
}

bool is_glob(const std::string& name, const std::vector<std::string>& weights) {
  return has_wildcard(name) && !contains(weights, name);
}

// The weights that a glob fits; a name, be it of a weight or not, stands for itself.
std::vector<std::string> written_out(const std::string& name, const std::vector<std::string>& weights) {
  if (!is_glob(name, weights)) return {name};
  std::vector<std::string> fitting;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(fitting),
               [&](const std::string& weight) { return matches(name, weight); });
  if (fitting.empty()) {
    throw Error("'{}' fits no weight that is trained; nearest is '{}'", name,
                nearest(name, {weights.begin(), weights.end()}));
  }
  return fitting;
}

void give_by_glob(const std::string& glob, const OptimizerValues& values, const std::string& weight,
                  std::map<std::pair<std::string, std::string>, std::string>& givers,
                  std::map<std::string, OptimizerValues>& specific) {
  for (const auto& [value, given] : values) {
    const auto [giver, is_first] = givers.emplace(std::pair(weight, value), glob);
    if (!is_first) {
      throw Error("weight '{}' gets {} from '{}' and from '{}', one needed", weight, value, giver->second,
                  glob);
    }
    specific[weight].emplace(value, given);
  }
}

void check_options(const Optimizer& optimizer) {
  const bool is_rms =
      optimizer.kind == OptimizerKind::RmsProp || optimizer.kind == OptimizerKind::CenteredRmsProp;
  if (optimizer.nesterov && optimizer.kind != OptimizerKind::Sgd) {
    throw Error("{} has no nesterov momentum, only SGD has", name_of(optimizer.kind));
  }
  if (optimizer.tensorflow_rms && !is_rms)
    throw Error("{} has no TensorFlow variant, only RMSProp has", name_of(optimizer.kind));
  const bool is_adam = optimizer.defaults.contains("beta1");
  if (optimizer.scaled_state && !is_adam) {
    throw Error("{} cannot keep scaled states, only Adam's family can", name_of(optimizer.kind));
  }
  for (const auto& type : {optimizer.accumulator_type, optimizer.state_type}) {
    if (!type || *type == DataType::Float || *type == DataType::Float16) continue;
    throw Error("optimizer state of type {}, float or float16 needed", name_of(*type));
  }
}

}  // namespace

DataType state_type_of(const Optimizer& optimizer, DataType weight) {
  const bool is_narrow = weight == DataType::Float16 || weight == DataType::Bfloat16;
  const bool keeps_squares = optimizer.kind != OptimizerKind::Sgd;
  return optimizer.state_type.value_or(is_narrow && keeps_squares ? DataType::Float : weight);
}

const OptimizerValues& default_values(OptimizerKind kind) {
  static const OptimizerValues kSgd{{"learningRate", {0.1}},
                                    {"weightDecay", {0}},
                                    {"momentum", {0}},
                                    {"dampening", {0}},
                                    {"velocityScaling", {1}}};
  static const OptimizerValues kAdam{
      {"learningRate", {0.1}}, {"weightDecay", {0}}, {"beta1", {0.9}}, {"beta2", {0.999}}, {"eps", {1e-6}}};
  static const OptimizerValues kLamb{{"learningRate", {0.1}}, {"weightDecay", {0}}, {"beta1", {0.9}},
                                     {"beta2", {0.999}},      {"eps", {1e-6}},      {"maxWeightNorm", {10}}};
  static const OptimizerValues kAdaptive{
      {"learningRate", {0.1}}, {"weightDecay", {0}}, {"alpha", {0.99}}, {"momentum", {0}}, {"eps", {1e-6}}};
  if (kind == OptimizerKind::Sgd) return kSgd;
  if (is_lamb(kind)) return kLamb;
  const bool is_adam =
      kind == OptimizerKind::Adam || kind == OptimizerKind::AdaMax || kind == OptimizerKind::AdamNoBias;
  return is_adam ? kAdam : kAdaptive;
}

Optimizer make_optimizer(OptimizerKind kind, const OptimizerValues& values) {
  check_names(values, kind);
  Optimizer optimizer{.kind = kind, .defaults = values};
  optimizer.defaults.insert(default_values(kind).begin(), default_values(kind).end());
  return optimizer;
}

std::string_view name_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::Sgd:
      return "SGD";
    case OptimizerKind::Adam:
      return "Adam";
    case OptimizerKind::AdaMax:
      return "AdaMax";
    case OptimizerKind::Lamb:
      return "LAMB";
    case OptimizerKind::AdamNoBias:
      return "AdamNoBias";
    case OptimizerKind::LambNoBias:
      return "LambNoBias";
    case OptimizerKind::AdaGrad:
      return "AdaGrad";
    case OptimizerKind::RmsProp:
      return "RMSProp";
    case OptimizerKind::CenteredRmsProp:
      return "CenteredRMSProp";
    case OptimizerKind::AdaDelta:
      return "AdaDelta";
  }
  IR_CHECK(false, "an optimizer of kind {}", static_cast<int>(kind));
}

Optimizer for_weights(Optimizer optimizer, const std::vector<std::string>& weights) {
  std::map<std::string, OptimizerValues> specific;
  for (const auto& [name, values] : optimizer.specific) {
    if (!is_glob(name, weights)) specific.emplace(name, values);
  }
  std::map<std::pair<std::string, std::string>, std::string> givers;  // of a weight and a value, the glob
  for (const auto& [glob, values] : optimizer.specific) {
    if (!is_glob(glob, weights)) continue;
    for (const std::string& weight : written_out(glob, weights))
      give_by_glob(glob, values, weight, givers, specific);
  }
  optimizer.specific = std::move(specific);
  for (ClipNorm& group : optimizer.clip_norms) {
    std::vector<std::string> members;
    for (const std::string& name : group.weights) {
      for (const std::string& weight : written_out(name, weights)) {
        if (weight == name || !contains(members, weight)) members.push_back(weight);
      }
    }
    group.weights = std::move(members);
  }
  return optimizer;
}

OptimizerValue value_of(const Optimizer& optimizer, std::string_view value, std::string_view weight) {
  if (const auto own = optimizer.specific.find(std::string(weight)); own != optimizer.specific.end()) {
    if (const auto found = own->second.find(value); found != own->second.end()) return found->second;
  }
  const auto found = optimizer.defaults.find(value);
  IR_CHECK(found != optimizer.defaults.end(), "{} has no value '{}'", name_of(optimizer.kind), value);
  return found->second;
}

void check_optimizer(const Optimizer& optimizer, const std::vector<std::string>& weights) {
  check_names(optimizer.defaults, optimizer.kind);
  check_options(optimizer);
  for (const auto& [name, value] : optimizer.defaults) check_value(name, value);
  check_dampening(optimizer, "");
  for (const auto& [weight, values] : optimizer.specific) {
    check_is_weight(weight, weights);
    try {
      check_names(values, optimizer.kind);
      for (const auto& [name, value] : values) check_value(name, value);
      check_dampening(optimizer, weight);
    } catch (const Error& error) {
      throw error.at(fmt::format("values of weight '{}'", weight));
    }
  }
  if (optimizer.loss_scaling.value == 0 || !std::isfinite(optimizer.loss_scaling.value))
    throw Error("loss scaling is {}, it must be another number", optimizer.loss_scaling.value);
  check_clip_norms(optimizer, weights);
}

}  // namespace podium::ir
