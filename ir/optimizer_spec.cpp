#include "ir/optimizer_spec.h"

#include <algorithm>

#include "ir/error.h"

namespace podium::ir {
namespace {

// Shared values in the order in which help lists them; those of one optimizer alone follow.
constexpr std::array kSharedValues{kLearningRate, kWeightDecay, kMomentum, kDampening, kVelocityScaling,
                                   kBeta1,        kBeta2,       kEps,      kAlpha,     kMaxWeightNorm};

void become_variant(Optimizer& optimizer, std::string_view word) {
  for (const Variant& variant : optimizer.spec->variants) {
    if (variant.word == word) optimizer.spec = find_optimizer(variant.name);
  }
}

void store_in(Optimizer& optimizer, DataType type) {
  optimizer.state_type = type;
  optimizer.accumulator_type = type;
}

constexpr std::array kForms{
    FormSpec{.word = "nesterov",
             .set = [](Optimizer& o) { o.nesterov = true; },
             .is_set = [](const Optimizer& o) { return o.nesterov; },
             .refusal = "has no nesterov momentum, only SGD has"},
    FormSpec{.word = "separate", .set = [](Optimizer& o) { o.sgd_state = SgdState::Separate; }},
    FormSpec{.word = "centered", .set = [](Optimizer& o) { become_variant(o, "centered"); }},
    FormSpec{.word = "tensorflow",
             .set = [](Optimizer& o) { o.tensorflow_rms = true; },
             .is_set = [](const Optimizer& o) { return o.tensorflow_rms; },
             .refusal = "has no TensorFlow variant, only RMSProp has"},
    FormSpec{.word = "no-bias", .set = [](Optimizer& o) { become_variant(o, "no-bias"); }},
    FormSpec{.word = "float32-state",
             .set = [](Optimizer& o) { store_in(o, DataType::Float); },
             .is_common = true},
    FormSpec{.word = "float16-state",
             .set = [](Optimizer& o) { store_in(o, DataType::Float16); },
             .is_common = true},
    FormSpec{.word = "scaled-state",
             .set = [](Optimizer& o) { o.scaled_state = true; },
             .is_set = [](const Optimizer& o) { return o.scaled_state; },
             .refusal = "cannot keep scaled states, only Adam's family can"},
    FormSpec{.word = "decay", .set = [](Optimizer& o) { o.decay_mode = WeightDecayMode::Decay; }},
    FormSpec{.word = "l2", .set = [](Optimizer& o) { o.decay_mode = WeightDecayMode::L2Regularization; }}};

}  // namespace

OptimizerValue WeightValues::find(std::string_view name) const {
  return name == kLossScaling ? optimizer.loss_scaling : value_of(optimizer, name, weight);
}

bool WeightValues::is_always(std::string_view name, double number) const {
  const OptimizerValue found = find(name);
  return found.constant && found.value == number;
}

double WeightValues::divisor() const {
  if (contributions.reduction != GradientReduction::MeanPost) return 1;
  return static_cast<double>(contributions.accumulation) * replicas();
}

bool ScalarSpec::reads_any(const OptimizerValues& values) const {
  return std::any_of(reads.begin(), reads.end(),
                     [&](std::string_view read) { return !read.empty() && values.contains(read); });
}

const ValueSpec* OptimizerSpec::find_value(std::string_view value) const {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const ValueSpec& one) { return one.name == value; });
  return found == values.end() ? nullptr : &*found;
}

bool OptimizerSpec::has_form(std::string_view word) const {
  const auto is_word = [&](const auto& one) { return one.word == word; };
  return std::find(forms.begin(), forms.end(), word) != forms.end() ||
         std::any_of(variants.begin(), variants.end(), is_word) ||
         std::any_of(kForms.begin(), kForms.end(),
                     [&](const FormSpec& form) { return form.is_common && form.word == word; });
}

std::span<const OptimizerSpec* const> all_optimizers() {
  static const std::vector<const OptimizerSpec*> kRows = [] {
    std::vector<const OptimizerSpec*> rows;
    for (const auto& file : optimizer_files()) {
      for (const OptimizerSpec& spec : file()) rows.push_back(&spec);
    }
    std::stable_partition(rows.begin(), rows.end(),
                          [](const OptimizerSpec* spec) { return spec->name == "SGD"; });
    return rows;
  }();
  return kRows;
}

const OptimizerSpec* find_optimizer(std::string_view name) {
  for (const OptimizerSpec* spec : all_optimizers()) {
    if (spec->name == name) return spec;
  }
  return nullptr;
}

const std::vector<ValueSpec>& all_optimizer_values() {
  static const std::vector<ValueSpec> kValues = [] {
    std::vector<ValueSpec> values(kSharedValues.begin(), kSharedValues.end());
    for (const OptimizerSpec* spec : all_optimizers()) {
      for (const ValueSpec& value : spec->values) {
        const bool is_known = std::any_of(values.begin(), values.end(),
                                          [&](const ValueSpec& one) { return one.name == value.name; });
        if (!is_known) values.push_back(value);
      }
    }
    return values;
  }();
  return kValues;
}

std::span<const FormSpec> all_forms() { return kForms; }

DataType computed_type(DataType weight) {
  const bool is_narrow = weight == DataType::Float16 || weight == DataType::Bfloat16;
  return is_narrow ? DataType::Float : weight;
}

}  // namespace podium::ir
