#include "executor/session/optimizer_change.h"

#include <algorithm>

#include "ir/error.h"

namespace podium {
namespace {

void check_value(const std::string& name, const ir::OptimizerValue& now, const ir::OptimizerValue& next) {
  if (now.constant != next.constant) {
    throw Error("optimizer: {} {} be constant, as it was when the session began", name,
                now.constant ? "must" : "must not");
  }
  if (now.constant && now.value != next.value) {
    throw Error("optimizer: {} is constant {}, {} found: only values that are not constant can change", name,
                now.value, next.value);
  }
}

void check_values(const std::string& where, const ir::OptimizerValues& now, const ir::OptimizerValues& next) {
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (!std::equal(now.begin(), now.end(), next.begin(), next.end(), same_name)) {
    throw Error("optimizer: other values{} found than the session began with", where);
  }
  for (const auto& [name, value] : now) check_value(name + where, value, next.at(name));
}

bool same_groups(const std::vector<ir::ClipNorm>& now, const std::vector<ir::ClipNorm>& next) {
  return std::equal(now.begin(), now.end(), next.begin(), next.end(),
                    [](const ir::ClipNorm& a, const ir::ClipNorm& b) {
                      return a.max_norm == b.max_norm && a.weights == b.weights;
                    });
}

}  // namespace

void check_replaceable(const ir::Optimizer& now, const ir::Optimizer& next) {
  if (now.spec != next.spec) {
    throw Error("optimizer: {} found, {} needed as the session began with", name_of(next), name_of(now));
  }
  const bool same_form = now.nesterov == next.nesterov && now.sgd_state == next.sgd_state &&
                         now.decay_mode == next.decay_mode && now.tensorflow_rms == next.tensorflow_rms &&
                         now.scaled_state == next.scaled_state &&
                         now.accumulator_type == next.accumulator_type && now.state_type == next.state_type &&
                         now.specific.size() == next.specific.size();
  if (!same_form) throw Error("optimizer: only values that are not constant can change");
  if (!same_groups(now.clip_norms, next.clip_norms)) throw Error("optimizer: clip norms cannot change");
  check_value("lossScaling", now.loss_scaling, next.loss_scaling);
  check_values("", now.defaults, next.defaults);
  for (const auto& [weight, values] : now.specific) {
    const auto found = next.specific.find(weight);
    if (found == next.specific.end()) throw Error("optimizer: weight '{}' has lost its own values", weight);
    check_values(fmt::format(" of weight '{}'", weight), values, found->second);
  }
}

}  // namespace podium
