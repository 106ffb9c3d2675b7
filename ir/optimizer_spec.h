// The table of optimizers: everything that is special to each of them. One row an optimizer, in a file of
// ir/optimizers/ (semantics, sections 10.1 to 10.5).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/contributions.h"
#include "ir/optimizer.h"

namespace podium::ir {

struct WeightUpdate;

inline constexpr double kNoEnd = 1e300;

/// A value that users give.
struct ValueSpec {
  std::string_view name;   ///< PopART's: "learningRate"
  std::string_view typed;  ///< on the command line: "lr"
  double fallback = 0;     ///< the default
  double lowest = 0;
  double end = kNoEnd;        ///< the first number that is too large
  bool above_lowest = false;  ///< the lowest itself is too small
};

inline constexpr ValueSpec kLearningRate{"learningRate", "lr", 0.1};
inline constexpr ValueSpec kWeightDecay{"weightDecay", "weight-decay", 0};
inline constexpr ValueSpec kMomentum{"momentum", "momentum", 0};
inline constexpr ValueSpec kDampening{"dampening", "dampening", 0};
inline constexpr ValueSpec kVelocityScaling{"velocityScaling", "velocity-scaling", 1, 0, kNoEnd, true};
inline constexpr ValueSpec kBeta1{"beta1", "beta1", 0.9, 0, 1};
inline constexpr ValueSpec kBeta2{"beta2", "beta2", 0.999, 0, 1};
inline constexpr ValueSpec kEps{"eps", "eps", 1e-6};
inline constexpr ValueSpec kAlpha{"alpha", "alpha", 0.99};
inline constexpr ValueSpec kMaxWeightNorm{"maxWeightNorm", "max-weight-norm", 10};

/// A value with another default.
constexpr ValueSpec with_fallback(ValueSpec value, double fallback) {
  value.fallback = fallback;
  return value;
}

/// What scalars combine beside the values of an optimizer.
inline constexpr std::string_view kLossScaling = "lossScaling";

/// The numbers of one weight that scalars are computed from.
struct WeightValues {
  const Optimizer& optimizer;  ///< without globs
  std::string_view weight;
  const Contributions& contributions;

  /// A value by its name, or kLossScaling.
  OptimizerValue find(std::string_view name) const;
  double operator()(std::string_view name) const { return find(name).value; }
  /// Whether a value is, and stays, `number`.
  bool is_always(std::string_view name, double number) const;

  /// What the sum of gradients is divided by, so that it becomes what the reduction asks for.
  double divisor() const;
  int replicas() const { return contributions.replicas_of(weight); }
  bool reduces_by_mean() const { return contributions.reduction == GradientReduction::MeanRunning; }
};

/// A scalar that update equations read: a combination of values, computed in double, under PopART's name. It
/// is a constant where all that it reads is, else an input of the graph.
struct ScalarSpec {
  std::string_view name;                       ///< "scaledLearningRate0"
  std::array<std::string_view, 4> reads = {};  ///< names of values and kLossScaling; then ""
  double (*value)(const WeightValues&) = nullptr;

  bool reads_any(const OptimizerValues& values) const;
};

/// The loss scale itself, which the loss's gradient starts from.
inline constexpr ScalarSpec kLossScale{
    kLossScaling, {kLossScaling}, [](const WeightValues& v) { return v(kLossScaling); }};
/// What turns a gradient into one without loss scale, as the reduction asks for it: clipping measures that.
inline constexpr ScalarSpec kGradientScale{"gradientScaling", {kLossScaling}, [](const WeightValues& v) {
                                             return 1 / (v(kLossScaling) * v.divisor());
                                           }};

/// What the element type of a state is.
enum class StateType : std::uint8_t {
  Stored,    ///< state_type_of: what is asked for, else by the weight's type
  Computed,  ///< in which equations are computed: computed_type
  Float
};

/// A tensor that an optimizer keeps for each weight and that is saved with the model.
struct StateSpec {
  std::string_view name;  ///< PopART's, before the weight's: "Accl1___"
  StateType type = StateType::Stored;
  bool is_scalar = false;                            ///< else of the weight's shape
  double (*initial)(const WeightValues&) = nullptr;  ///< of each element at first; 0 without one
  bool starts_as_weight = false;                     ///< at first `initial` times the weight
  bool (*is_kept)(const WeightValues&) = nullptr;    ///< with which values and forms; always without one
};

/// A name that users give an optimizer, and how it decays weights under this name.
struct TypedName {
  std::string_view name;  ///< "adamw"
  WeightDecayMode decay = WeightDecayMode::L2Regularization;
};

/// A word that makes another row of this one: "centered" of RMSProp CenteredRMSProp.
struct Variant {
  std::string_view word;
  std::string_view name;
};

struct OptimizerSpec {
  std::string_view name;              ///< "SGD", as programs and messages call it
  std::vector<TypedName> typed = {};  ///< none: only a word makes it of another
  std::vector<ValueSpec> values = {};
  std::vector<std::string_view> forms = {};  ///< words of those that not every optimizer has
  std::vector<Variant> variants = {};
  std::vector<StateSpec> states = {};
  std::vector<const ScalarSpec*> scalars = {};  ///< that `update` may read
  /// States are float beside narrower weights, as those need that keep squares of gradients.
  bool has_wide_states = false;
  /// Error where values and forms do not go together.
  void (*check)(const WeightValues&) = nullptr;
  /// Whether micro-batches add up in a state, which `accumulate` appends, rather than in an accumulator.
  bool (*accumulates_itself)(const WeightValues&) = nullptr;
  void (*accumulate)(WeightUpdate&) = nullptr;
  /// Appends the equations: they set the states and the weight.
  void (*update)(WeightUpdate&) = nullptr;

  /// By PopART's name; nullptr when it has no such value.
  const ValueSpec* find_value(std::string_view value) const;
  bool has_form(std::string_view word) const;
};

/// A member of Optimizer beside its values, as a word without a value sets it.
struct FormSpec {
  std::string_view word;
  void (*set)(Optimizer&);
  bool is_common = false;                      ///< every optimizer has it
  bool (*is_set)(const Optimizer&) = nullptr;  ///< in an optimizer that must have the form
  std::string_view refusal = {};               ///< after the name of one that has not
};

/// Every row: SGD's first, then file by file.
std::span<const OptimizerSpec* const> all_optimizers();
/// By OptimizerSpec::name; nullptr when there is none.
const OptimizerSpec* find_optimizer(std::string_view name);
/// The rows of a file of ir/optimizers/: x.cpp has x_optimizers. CMake lists these functions.
using OptimizerFile = std::span<const OptimizerSpec> (*)();
std::span<const OptimizerFile> optimizer_files();

/// Every value that some row has, PopART's first.
const std::vector<ValueSpec>& all_optimizer_values();
/// Every form and every word of a variant.
std::span<const FormSpec> all_forms();

/// In which equations are computed, whatever holds the weight and its states: narrower types have no room for
/// a learning rate over a loss scale.
DataType computed_type(DataType weight);

}  // namespace podium::ir
