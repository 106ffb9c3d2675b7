// The way of a gradient from the micro-batches to the optimizer, which reads it once per update:
//
//   one micro-batch        gradient ------------------------------> replicas reduce it -> optimizer
//   several                Accum___w += gradient; at the update    replicas reduce it -> optimizer; Accum___w
//   = 0 SGD's velocity ahead   Accl___w += gradient; at the update     replicas reduce it -> optimizer
//
// A running mean counts the n micro-batches before: Accum = Accum * n / (n + 1) + gradient / (n + 1). There
// is one counter in each place where gradients are made.
#include "ir/passes/accumulate.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/passes/inherit_placement.h"
#include "ir/zero_constants.h"

namespace podium::ir {
namespace {

// Whether a value depends on an input of the graph.
IdMap<ValueId, bool> depends_on_inputs(const Graph& graph) {
  IdMap<ValueId, bool> depends(std::ssize(graph.values), false);
  for (ValueId id : graph.inputs) depends[id] = true;
  for (const Op& op : graph.ops) {
    if (!op.spec->random && !any_of(inputs_of(op), depends)) continue;
    for (ValueId id : outputs_of(op)) depends[id] = true;
  }
  return depends;
}

class Accumulation {
 public:
  explicit Accumulation(UpdateBuilder& builder)
      : builder_(builder),
        training_(builder.training),
        depends_(depends_on_inputs(training_.graph)),
        zeros_(training_.graph) {}

  void add(WeightUpdate& update, std::optional<Term> inverse_scale) {
    const bool accumulates = builder_.contributions.accumulates();
    if (accumulates && accumulates_itself(update.values())) {
      const auto scope = builder_.at(update.place, Context::MicroBatch);
      if (inverse_scale)
        update.gradient = cast_to(update.type, update.gradient) * cast_to(update.type, *inverse_scale);
      builder_.optimizer.spec->accumulate(update);
      return;
    }
    if (accumulates) {
      const auto scope = builder_.at(update.place, Context::MicroBatch);
      add_up(update);
    }
    const auto scope = builder_.at(update.place, Context::Update);
    if (!accumulates) reduce(update);
    update.gradient = cast_to(update.type, update.gradient);
    if (inverse_scale) update.gradient = update.gradient * cast_to(update.type, *inverse_scale);
  }

 private:
  // The gradient itself is reduced, unless every replica knows it beforehand.
  void reduce(WeightUpdate& update) {
    const ValueId gradient = update.gradient;
    const int replicas = builder_.contributions.replicas_of(update.name);
    if (depends_[gradient]) {
      const auto [first, is_new] = reduced_.emplace(gradient, update.name);
      if (is_new) training_.reduced.push_back(gradient);
      check_same_group(first->second, update.name);
    } else if (!training_.reduces_by_mean && replicas > 1) {
      update.gradient = update.gradient * static_cast<double>(replicas);
    }
  }

  // One gradient of two weights is reduced once.
  void check_same_group(const std::string& a, const std::string& b) const {
    const Contributions& of = builder_.contributions;
    if (of.group_of(a) == of.group_of(b)) return;
    throw Error("weights '{}' and '{}' have the same gradient and are shared by different groups of replicas",
                a, b);
  }

  void add_up(WeightUpdate& update) {
    const Type& weight = training_.graph[update.weight].type;
    const DataType type = accumulator_type(builder_.optimizer, weight.element);
    const ValueId zeros = zeros_.of(type, weight.dims);
    const Term accumulator = builder_.variable({.kind = VariableKind::Accumulator,
                                                .initial = *training_.graph[zeros].constant,
                                                .weight = update.weight,
                                                .state = std::string(kAccumulator)});
    const Term gradient = cast_to(type, update.gradient);
    if (training_.reduces_by_mean) {
      const Term count = counter(update, type);
      const Term shares = count + 1.0;
      // The mean over slices is that over micro-batches when each counts as one.
      const int slices = builder_.contributions.slices;
      const Term whole = slices > 1 ? gradient * static_cast<double>(slices) : gradient;
      builder_.update(accumulator, accumulator * (count / shares) + whole / shares, false);
    } else {
      builder_.update(accumulator, accumulator + gradient, false);
      builder_.update(accumulator, builder_.term_of(zeros), true);
    }
    training_.reduced.push_back(accumulator);
    update.gradient = accumulator;
  }

  // How many micro-batches there were before this one; one counter where ops run together.
  Term counter(const WeightUpdate& update, DataType type) {
    const Term count = builder_.variable({.kind = VariableKind::Accumulator,
                                          .initial = filled(DataType::Float, {}, 0),
                                          .state = "Counter___" + place_suffix(update.place)});
    if (counters_.insert(count).second) {
      builder_.update(count, count + 1.0, false);
      builder_.update(count, builder_.number(0, DataType::Float), true);
    }
    return cast_to(type, count);
  }

  UpdateBuilder& builder_;
  Training& training_;
  IdMap<ValueId, bool> depends_;
  std::map<ValueId, std::string> reduced_;  // gradients, with the first weight that each is of
  std::set<ValueId> counters_;
  ZeroConstants zeros_;
};

}  // namespace

void accumulate(std::span<WeightUpdate> updates, std::optional<Term> inverse_scale) {
  if (updates.empty()) return;
  Accumulation accumulation(updates.front().builder);
  for (WeightUpdate& update : updates) accumulation.add(update, inverse_scale);
}

}  // namespace podium::ir
