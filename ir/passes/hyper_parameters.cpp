#include "ir/passes/hyper_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/gradients/gradient.h"

namespace podium::ir {
namespace {

constexpr std::string_view kLossScaling = "lossScaling";

// The values of one weight.
struct Values {
  const Optimizer& optimizer;
  std::string_view weight;
  const Contributions& contributions;

  OptimizerValue find(std::string_view name) const {
    return name == kLossScaling ? optimizer.loss_scaling : value_of(optimizer, name, weight);
  }
  double operator()(std::string_view name) const { return find(name).value; }

  bool is_mean() const { return contributions.reduction != GradientReduction::Sum; }
  bool reduces_by_mean() const { return contributions.reduction == GradientReduction::MeanRunning; }
  bool accumulates() const { return contributions.accumulates(); }
  // Of the gradients' sum, so that it becomes what the reduction asks for.
  double divisor() const {
    if (contributions.reduction != GradientReduction::MeanPost) return 1;
    return static_cast<double>(contributions.accumulation) * replicas();
  }
  int replicas() const { return contributions.replicas_of(weight); }
  // Replicas that accumulate into the velocity add it up with the gradients in it.
  double copies_of_velocity() const { return accumulates() && !reduces_by_mean() ? replicas() : 1; }
  double combined_factor() const {
    if (reduces_by_mean()) return 1.0 / contributions.accumulation;
    if (!is_mean()) return copies_of_velocity();
    return 1.0 / (accumulates() ? contributions.accumulation : replicas());
  }
};

struct Row {
  std::string_view name;
  std::vector<std::string_view> reads;
  double (*value)(const Values&);
};

// The rows of one form of SGD, numbered as PopART numbers them.
const std::vector<Row>& sgd_rows() {
  static const std::vector<Row> kRows{
      {"scaledLearningRate0",
       {"learningRate", "dampening", kLossScaling},
       [](const Values& v) {
         return v("learningRate") * (1 - v("dampening")) / (v(kLossScaling) * v.divisor());
       }},
      {"weightDecayScaleFactor0",
       {"learningRate", "dampening", "weightDecay"},
       [](const Values& v) { return 1 - v("learningRate") * (1 - v("dampening")) * v("weightDecay"); }},
      {"scaledLearningRate1",
       {"learningRate", "velocityScaling"},
       [](const Values& v) { return v("learningRate") / (v("velocityScaling") * v.copies_of_velocity()); }},
      {"dampeningScaleFactor1",
       {"dampening", "velocityScaling", kLossScaling},
       [](const Values& v) {
         return (1 - v("dampening")) * v("velocityScaling") * v.combined_factor() / v(kLossScaling);
       }},
      {"weightDecayScaleFactor1",
       {"dampening", "velocityScaling", "weightDecay"},
       [](const Values& v) { return (1 - v("dampening")) * v("velocityScaling") * v("weightDecay"); }},
      {"scaledMomentum1",
       {"momentum"},
       [](const Values& v) { return v("momentum") / v.copies_of_velocity(); }},
      {"scaledLearningRate2",
       {"learningRate", "velocityScaling"},
       [](const Values& v) { return v("learningRate") / v("velocityScaling"); }},
      {"dampeningScaleFactor2",
       {"dampening", "velocityScaling", kLossScaling},
       [](const Values& v) {
         return (1 - v("dampening")) * v("velocityScaling") / (v(kLossScaling) * v.divisor());
       }},
      {"weightDecayScaleFactor2",
       {"dampening", "velocityScaling", "weightDecay"},
       [](const Values& v) { return (1 - v("dampening")) * v("velocityScaling") * v("weightDecay"); }},
      {"scaledMomentum2", {"momentum"}, [](const Values& v) { return v("momentum"); }},
  };
  return kRows;
}

double gradient_scaling(const Values& v) {
  return 1 / ((v.optimizer.scaled_state ? 1 : v(kLossScaling)) * v.divisor());
}

const std::vector<Row>& adam_rows() {
  static const std::vector<Row> kRows{
      {"adamLearningRate", {"learningRate"}, [](const Values& v) { return v("learningRate"); }},
      {"adamWeightDecay", {"weightDecay"}, [](const Values& v) { return v("weightDecay"); }},
      {"adamBeta1", {"beta1"}, [](const Values& v) { return v("beta1"); }},
      {"adamBeta2", {"beta2"}, [](const Values& v) { return v("beta2"); }},
      {"adamOneMinusBeta1", {"beta1"}, [](const Values& v) { return 1 - v("beta1"); }},
      {"adamOneMinusBeta2", {"beta2"}, [](const Values& v) { return 1 - v("beta2"); }},
      {"adamEps", {"eps"}, [](const Values& v) { return v("eps"); }},
      {"adamScaledEps", {"eps", kLossScaling}, [](const Values& v) { return v("eps") * v(kLossScaling); }},
      {"adamScaledWeightDecay",
       {"weightDecay", kLossScaling},
       [](const Values& v) { return v("weightDecay") * v(kLossScaling); }},
      {"adamMaxWeightNorm", {"maxWeightNorm"}, [](const Values& v) { return v("maxWeightNorm"); }},
      {"adamGradientScaling", {kLossScaling}, gradient_scaling},
  };
  return kRows;
}

const std::vector<Row>& adaptive_rows() {
  static const std::vector<Row> kRows{
      {"adaptiveLearningRate", {"learningRate"}, [](const Values& v) { return v("learningRate"); }},
      {"adaptiveWeightDecay", {"weightDecay"}, [](const Values& v) { return v("weightDecay"); }},
      {"adaptiveAlpha", {"alpha"}, [](const Values& v) { return v("alpha"); }},
      {"adaptiveOneMinusAlpha", {"alpha"}, [](const Values& v) { return 1 - v("alpha"); }},
      {"adaptiveMomentum", {"momentum"}, [](const Values& v) { return v("momentum"); }},
      {"adaptiveEps", {"eps"}, [](const Values& v) { return v("eps"); }},
      {"adaptiveGradientScaling", {kLossScaling}, gradient_scaling},
  };
  return kRows;
}

const std::vector<Row>& common_rows() {
  static const std::vector<Row> kRows{
      {kLossScaling, {kLossScaling}, [](const Values& v) { return v(kLossScaling); }},
      // Of the gradient that clipping measures.
      {"gradientScaling",
       {kLossScaling},
       [](const Values& v) { return 1 / (v(kLossScaling) * v.divisor()); }},
  };
  return kRows;
}

const Row& row_named(std::string_view name) {
  for (const auto* rows : {&common_rows(), &sgd_rows(), &adam_rows(), &adaptive_rows()}) {
    for (const Row& row : *rows) {
      if (row.name == name) return row;
    }
  }
  IR_CHECK(false, "a hyper-parameter '{}'", name);
}

bool has_own(const Row& row, const Optimizer& optimizer, std::string_view weight) {
  const auto own = optimizer.specific.find(std::string(weight));
  return own != optimizer.specific.end() &&
         std::any_of(row.reads.begin(), row.reads.end(),
                     [&](std::string_view read) { return own->second.contains(read); });
}

std::string type_suffix(DataType type) {
  std::string name(name_of(type));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

}  // namespace

ReplicaGroup Contributions::group_of(std::string_view weight) const {
  const auto found =
      std::lower_bound(groups.begin(), groups.end(), weight,
                       [](const auto& entry, std::string_view name) { return entry.first < name; });
  return found == groups.end() || found->first != weight ? ReplicaGroup{} : found->second;
}

int Contributions::replicas_of(std::string_view weight) const {
  const ReplicaGroup group = group_of(weight);
  if (group.type == GroupType::All) return replicas;
  return group.type == GroupType::None ? 1 : group.size;
}

OptimizerValue hyper_parameter(std::string_view name, const Optimizer& optimizer, std::string_view weight,
                               const Contributions& contributions) {
  const Row& row = row_named(name);
  const Values values{optimizer, weight, contributions};
  const bool constant = std::all_of(row.reads.begin(), row.reads.end(),
                                    [&](std::string_view read) { return values.find(read).constant; });
  return {row.value(values), constant};
}

bool is_specific(std::string_view name, const Optimizer& optimizer, std::string_view weight,
                 const Contributions& contributions) {
  if (name == kLossScaling) return false;
  return has_own(row_named(name), optimizer, weight) || contributions.group_of(weight).type != GroupType::All;
}

std::string hyper_parameter_input(std::string_view name, std::string_view weight, DataType type) {
  if (name == kLossScaling) return fmt::format("{}_{}", name, type_suffix(type));
  if (!weight.empty()) return fmt::format("{}___specific___{}", name, weight);
  return fmt::format("{}___default___{}", name, type_suffix(type));
}

void check_loss_scale(double scale, DataType type) {
  const double held = filled(type, {}, scale).to_number();
  if (held != 0 && std::isfinite(held)) return;
  throw Error(
      "loss scaling is {}, which is {} in {}, the type of the loss; a finite number other than 0 needed",
      scale, held, name_of(type));
}

Tensor hyper_parameter_tensor(std::string_view name, const Optimizer& optimizer, std::string_view weight,
                              const Contributions& contributions, DataType type) {
  const double value = hyper_parameter(name, optimizer, weight, contributions).value;
  if (name == kLossScaling) check_loss_scale(value, type);
  return filled(type, {}, value);
}

std::vector<Tensor> hyper_parameter_tensors(const Training& training, const Optimizer& optimizer,
                                            const Contributions& contributions) {
  const Graph& graph = training.graph;
  std::vector<Tensor> tensors;
  for (const HyperParameter& one : training.hyper_parameters) {
    const std::string_view weight = one.weight.valid() ? std::string_view(graph[one.weight].name) : "";
    tensors.push_back(
        hyper_parameter_tensor(one.row, optimizer, weight, contributions, graph[one.value].type.element));
  }
  return tensors;
}

}  // namespace podium::ir
