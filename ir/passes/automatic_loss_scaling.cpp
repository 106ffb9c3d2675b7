// In each micro-batch the large elements of the tracked gradients are counted where the gradients are, into
// an accumulator per place (Histogram___lossScale...), which replicas reduce. Once per update the totals are
// added to the period's (HistogramSum___lossScale), and when the period is full the factor is halved or
// doubled, below the largest scale. How many elements there are in all is known before the run, so only the
// large ones are counted.
#include "ir/passes/automatic_loss_scaling.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ir/passes/inherit_placement.h"

namespace podium::ir {
namespace {

constexpr double kLargestFloat16 = 65504;
constexpr double kLargestScale = 32768;  // the largest power of two that float16 holds
constexpr std::string_view kLargeCount = "Histogram___lossScale";
constexpr std::string_view kPeriodCount = "HistogramSum___lossScale";
constexpr std::string_view kUpdates = "Counter___lossScale";

Variable scalar_variable(std::string_view name, VariableKind kind, double initial) {
  return {.kind = kind, .initial = filled(DataType::Float, {}, initial), .state = std::string(name)};
}

void check_names(const Graph& graph, std::set<std::string> names) {
  for (const Value& value : graph.values) names.erase(value.name);
  if (!names.empty())
    throw Error("automatic loss scaling: there is no tensor '{}' whose gradient could be followed",
                *names.begin());
}

// The float16 gradients to look at, each once.
std::vector<ValueId> tracked_gradients(const Graph& graph, const AutomaticLossScaling& scaling,
                                       std::span<const Flow> flows) {
  const std::set<std::string> names(scaling.tensors.begin(), scaling.tensors.end());
  check_names(graph, names);
  const auto makers = producers(graph);
  IdMap<ValueId, bool> multiplied(std::ssize(graph.values), false);
  for (const Op& op : graph.ops) {
    if (!op.spec->factors) continue;  // a product or a convolution
    for (ValueId id : inputs_of(op)) multiplied[id] = true;
  }
  std::set<ValueId> found;
  for (const auto& [value, gradient] : flows) {
    const OpId maker = makers[gradient];
    if (graph[gradient].type.element != DataType::Float16 || !maker.valid()) continue;
    switch (scaling.tracked) {
      case TrackedGradients::All:
        if (graph[maker].spec->view) continue;
        break;
      case TrackedGradients::ConvAndMatMul:
        if (!multiplied[value]) continue;
        break;
      case TrackedGradients::OfTensors:
        if (!names.contains(graph[value].name)) continue;
        break;
    }
    found.insert(gradient);
  }
  if (found.empty()) throw Error("automatic loss scaling: no gradient of type float16 to follow");
  return {found.begin(), found.end()};
}

// How many elements are large, NaN included; counted where the gradient is.
ValueId count_large(UpdateBuilder& builder, ValueId gradient, const std::vector<Attribute>& place,
                    double edge) {
  const auto scope = builder.at(place, Context::MicroBatch);
  const Term size = cast_to(DataType::Float, builder.term_of(gradient)).call("Abs");
  const Term is_large = size.with("LessOrEqual", size.like(edge)).call("Not");
  return cast_to(DataType::Float, is_large).call("ReduceSum", {{"keepdims", std::int64_t{0}}});
}

// The gradients of one place.
struct Counted {
  std::vector<Attribute> place;
  std::vector<ValueId> counts;
};

// The count of all micro-batches of an update. There is one accumulator in each place, however many
// micro-batches there are, so that replicas reduce it once.
Term count_of_update(UpdateBuilder& builder, const std::map<std::string, Counted>& counted,
                     const std::vector<Attribute>& place) {
  std::vector<ValueId> totals;
  for (const auto& [suffix, here] : counted) {
    const std::string name = std::string(kLargeCount) + suffix;
    const Term before = builder.variable(scalar_variable(name, VariableKind::Accumulator, 0));
    {
      const auto scope = builder.at(here.place, Context::MicroBatch);
      builder.update(before, before + builder.term_of(before.builder->call("Sum", here.counts)), false);
    }
    builder.training.reduced.push_back(before);
    builder.update(before, before.like(0), true);
    if (counted.size() == 1 && suffix == place_suffix(place)) return before;
    const auto scope = builder.at(here.place, Context::Update);
    totals.push_back(cast_to(DataType::Double, before));  // a variable is read where it is
  }
  const auto scope = builder.at(place, Context::Update);
  const Term first = builder.term_of(totals.front());
  return cast_to(DataType::Float, builder.term_of(first.builder->call("Sum", totals)));
}

}  // namespace

void check(const AutomaticLossScaling& scaling, const Optimizer& optimizer) {
  const auto check_share = [](std::string_view what, double share) {
    if (share >= 0 && share <= 1) return;
    throw Error("automatic loss scaling: {} is {}, it must be from 0 to 1", what, share);
  };
  check_share("binEdgeLocation", scaling.bin_edge);
  check_share("thresholdUpperCountProportion", scaling.threshold);
  if (scaling.update_period < 1) {
    throw Error("automatic loss scaling: updatePeriod is {}, it must be at least 1", scaling.update_period);
  }
  if (optimizer.loss_scaling.constant) {
    throw Error("automatic loss scaling: the optimizer's loss scaling is constant, it must not be");
  }
  if ((scaling.tracked == TrackedGradients::OfTensors) == scaling.tensors.empty()) {
    throw Error("automatic loss scaling: {} tensors to track found, {} needed", scaling.tensors.size(),
                scaling.tensors.empty() ? "some are" : "none is");
  }
}

Term loss_scale_factor(UpdateBuilder& builder) {
  return builder.variable(scalar_variable(kLossScaleFactor, VariableKind::OptimizerState, 1));
}

void update_loss_scale(UpdateBuilder& builder, const AutomaticLossScaling& scaling,
                       std::span<const Flow> flows, const std::vector<Attribute>& place) {
  Training& training = builder.training;
  std::map<std::string, Counted> counted;
  double elements = 0;
  const auto makers = producers(training.graph);
  for (ValueId gradient : tracked_gradients(training.graph, scaling, flows)) {
    elements += static_cast<double>(training.graph[gradient].type.element_count());
    const OpId maker = makers[gradient];
    Counted& here = counted[place_suffix(place_of(training.graph[maker]))];
    here.place = place_of(training.graph[maker]);
    here.counts.push_back(count_large(builder, gradient, here.place, kLargestFloat16 * scaling.bin_edge));
  }
  const Term before = count_of_update(builder, counted, place);
  const auto scope = builder.at(place, Context::Update);
  const Contributions& of = builder.contributions;
  elements *= static_cast<double>(of.accumulation) * of.slices * scaling.update_period *
              (training.reduces_by_mean ? 1 : of.replicas);
  const Term sum = builder.variable(scalar_variable(kPeriodCount, VariableKind::Accumulator, 0));
  const Term summed = sum + before;
  const Term count = builder.variable(scalar_variable(kUpdates, VariableKind::Accumulator, 0));
  const Term updates = count + 1.0;
  const Term is_due = updates > scaling.update_period - 0.5;
  // upper > t / (1 - t) * lower, where lower is the rest.
  const Term is_too_large = summed * (1 - scaling.threshold) > (summed * -1.0 + elements) * scaling.threshold;
  const Term factor = loss_scale_factor(builder);
  const Term changed = choose(is_too_large, factor * 0.5, factor * 2.0);
  const Term limit = changed.like(kLargestScale) / builder.scalar(kLossScale, kNoValue, DataType::Float);
  builder.update(factor, choose(is_due, changed.with("Min", limit), factor), true);
  builder.update(sum, choose(is_due, summed.like(0), summed), true);
  builder.update(count, choose(is_due, updates.like(0), updates), true);
}

}  // namespace podium::ir
