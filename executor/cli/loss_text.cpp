#include "executor/cli/loss_text.h"

#include <fmt/ranges.h>

#include <array>
#include <limits>

#include "executor/cli/flag_values.h"

namespace podium::cli {
namespace {

using ir::LossKind;

struct NamedLoss {
  std::string_view name;
  LossKind kind;
};

constexpr std::array kLosses{NamedLoss{"cross-entropy", LossKind::CrossEntropy},
                             NamedLoss{"nll", LossKind::NegativeLogLikelihood},
                             NamedLoss{"log-nll", LossKind::LogNegativeLogLikelihood},
                             NamedLoss{"mse", LossKind::MeanSquaredError}, NamedLoss{"l1", LossKind::L1}};

std::int64_t whole(std::string_view key, const std::string& text) {
  return number(fmt::format("--loss {}", key), text, std::numeric_limits<std::int64_t>::min());
}

struct LossKey {
  std::string_view name;
  bool (*fits)(LossKind);
  void (*set)(LossText&, const std::string& value);
};

constexpr std::array kLossKeys{
    LossKey{"reduction", [](LossKind) { return true; },
            [](LossText& loss, const std::string& value) {
              constexpr std::array kReductions{ir::LossReduction::Mean, ir::LossReduction::Sum};
              loss.options.reduction = kReductions[index_of_word("loss reduction", value, {"mean", "sum"})];
            }},
    LossKey{"ignore-index", ir::is_of_classes,
            [](LossText& loss, const std::string& value) {
              loss.options.ignored_label = whole("ignore-index", value);
            }},
    LossKey{"axis", ir::is_of_classes,
            [](LossText& loss, const std::string& value) {
              loss.options.class_axis = whole("axis", value);
              loss.has_axis = true;
            }},
    LossKey{"lambda", [](LossKind kind) { return kind == LossKind::L1; },
            [](LossText& loss, const std::string& value) {
              loss.options.lambda = number("--loss lambda", value, std::numeric_limits<double>::lowest());
            }}};

}  // namespace

LossText read_loss(const std::string& text) {
  const NameAndValues given = name_and_values("loss", text);
  const NamedLoss& kind = kLosses[index_of_word("loss", given.name, names_of(kLosses))];
  LossText loss{.kind = kind.kind};
  for (const auto& [name, value] : given.values) {
    if (!value) throw UsageError("--loss: '{}' found, KEY=VALUE needed", name);
    const LossKey& key = kLossKeys[index_of_word("loss", name, names_of(kLossKeys))];
    if (!key.fits(kind.kind)) throw UsageError("--loss: {} has no '{}'", kind.name, key.name);
    key.set(loss, *value);
  }
  return loss;
}

std::string loss_help() {
  return fmt::format(
      "NAME[,KEY=VALUE...]: added to the graph, of --output and --target; NAME is cross-entropy (of "
      "scores), nll (of probabilities), log-nll (of their logarithms), mse, l1; keys are {}: reduction is "
      "mean or sum, ignore-index a label that does not count, axis that of the classes (else the last one, "
      "or axis 1 where only that fits the labels), lambda a factor of l1",
      fmt::join(names_of(kLossKeys), ", "));
}

}  // namespace podium::cli
