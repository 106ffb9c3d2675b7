// What an optimizer says of the weights is looked up in this order: the weight's own values, by its name, then
// the defaults. Globs are written out over the names of the weights beforehand (for_weights): a weight's name
// comes before globs, and two globs may not give one weight the same value. Everything that a kind of optimizer
// has or allows (values and their ranges, forms, states) is read from its row.
#include "ir/optimizer.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "ir/glob.h"
#include "ir/nearest.h"
#include "ir/optimizer_spec.h"

namespace podium::ir {
namespace {

void check_names(const OptimizerValues& values, const Optimizer& optimizer) {
  const OptimizerSpec& spec = *optimizer.spec;
  for (const auto& [name, value] : values) {
    if (spec.find_value(name) != nullptr) continue;
    std::vector<std::string_view> names;
    for (const ValueSpec& known : spec.values) names.push_back(known.name);
    std::sort(names.begin(), names.end());
    throw Error("{} has no value '{}'; nearest is '{}'", spec.name, name, nearest(name, names));
  }
}

void check_value(const OptimizerSpec& spec, std::string_view name, const OptimizerValue& given) {
  const ValueSpec* range = spec.find_value(name);
  IR_CHECK(range != nullptr);
  const bool is_high_enough =
      range->above_lowest ? given.value > range->lowest : given.value >= range->lowest;
  if (is_high_enough && given.value < range->end) {
    if (name != kLearningRate.name || given.value != 0 || !given.constant) return;
    throw Error("learningRate is constant 0, so that no weight would change");
  }
  const std::string_view relation = range->above_lowest ? "above" : "at least";
  if (range->end < kNoEnd || given.value >= range->end) {
    throw Error("{} is {}, it must be {} {} and below {}", name, given.value, relation, range->lowest,
                range->end);
  }
  throw Error("{} is {}, it must be {} {}", name, given.value, relation, range->lowest);
}

// Of the defaults where no weight is named.
void check_together(const Optimizer& optimizer, std::string_view weight) {
  if (optimizer.spec->check != nullptr) optimizer.spec->check({optimizer, weight, {}});
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

void check_forms(const Optimizer& optimizer) {
  for (const FormSpec& form : all_forms()) {
    if (form.is_set == nullptr || !form.is_set(optimizer) || optimizer.spec->has_form(form.word)) continue;
    throw Error("{} {}", name_of(optimizer), form.refusal);
  }
  for (const auto& type : {optimizer.accumulator_type, optimizer.state_type}) {
    if (!type || *type == DataType::Float || *type == DataType::Float16) continue;
    throw Error("optimizer state of type {}, float or float16 needed", name_of(*type));
  }
}

}  // namespace

DataType state_type_of(const Optimizer& optimizer, DataType weight) {
  const DataType fallback = optimizer.spec->has_wide_states ? computed_type(weight) : weight;
  return optimizer.state_type.value_or(fallback);
}

Optimizer make_optimizer(std::string_view name, const OptimizerValues& values) {
  if (const OptimizerSpec* spec = find_optimizer(name)) return make_optimizer(*spec, values);
  std::vector<std::string_view> names;
  for (const OptimizerSpec* spec : all_optimizers()) names.push_back(spec->name);
  throw Error("there is no optimizer '{}'; nearest is '{}'", name, nearest(name, names));
}

Optimizer make_optimizer(const OptimizerSpec& spec, const OptimizerValues& values) {
  Optimizer optimizer{.spec = &spec, .defaults = values};
  check_names(values, optimizer);
  for (const ValueSpec& value : spec.values)
    optimizer.defaults.emplace(value.name, OptimizerValue{value.fallback});
  return optimizer;
}

std::string_view name_of(const Optimizer& optimizer) { return optimizer.spec->name; }

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
  IR_CHECK(found != optimizer.defaults.end(), "{} has no value '{}'", name_of(optimizer), value);
  return found->second;
}

void check_optimizer(const Optimizer& optimizer, const std::vector<std::string>& weights) {
  check_names(optimizer.defaults, optimizer);
  check_forms(optimizer);
  for (const auto& [name, value] : optimizer.defaults) check_value(*optimizer.spec, name, value);
  check_together(optimizer, "");
  for (const auto& [weight, values] : optimizer.specific) {
    check_is_weight(weight, weights);
    try {
      check_names(values, optimizer);
      for (const auto& [name, value] : values) check_value(*optimizer.spec, name, value);
      check_together(optimizer, weight);
    } catch (const Error& error) {
      throw error.at(fmt::format("values of weight '{}'", weight));
    }
  }
  if (optimizer.loss_scaling.value == 0 || !std::isfinite(optimizer.loss_scaling.value))
    throw Error("loss scaling is {}, it must be another number", optimizer.loss_scaling.value);
  check_clip_norms(optimizer, weights);
}

}  // namespace podium::ir
