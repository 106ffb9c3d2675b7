#include "executor/cli/loss_text.h"

#include <fmt/ranges.h>

#include <array>
#include <limits>

#include "executor/cli/flag_values.h"

namespace podium::cli {
namespace {

using ir::LossKind;

struct Kind {
  std::string_view name;
  LossKind kind;
};

constexpr std::array kKinds{Kind{"cross-entropy", LossKind::CrossEntropy},
                            Kind{"nll", LossKind::NegativeLogLikelihood},
                            Kind{"log-nll", LossKind::LogNegativeLogLikelihood},
                            Kind{"mse", LossKind::MeanSquaredError}, Kind{"l1", LossKind::L1}};

std::int64_t whole(std::string_view key, const std::string& text) {
  return number(fmt::format("--loss {}", key), text, std::numeric_limits<std::int64_t>::min());
}

struct Key {
  std::string_view name;
  bool (*fits)(LossKind);
  void (*set)(LossText&, const std::string& value);
};

constexpr std::array kKeys{
    Key{"reduction", [](LossKind) { return true; },
        [](LossText& loss, const std::string& value) {
          constexpr std::array kReductions{ir::LossReduction::Mean, ir::LossReduction::Sum};
          loss.options.reduction = kReductions[index_of_word("loss reduction", value, {"mean", "sum"})];
        }},
    Key{"ignore-index", ir::is_of_classes,
        [](LossText& loss, const std::string& value) {
          loss.options.ignored_label = whole("ignore-index", value);
        }},
    Key{"axis", ir::is_of_classes,
        [](LossText& loss, const std::string& value) {
          loss.options.class_axis = whole("axis", value);
          loss.has_axis = true;
        }},
    Key{"lambda", [](LossKind kind) { return kind == LossKind::L1; },
        [](LossText& loss, const std::string& value) {
          loss.options.lambda = number("--loss lambda", value, std::numeric_limits<double>::lowest());
        }}};

}  // namespace

LossText read_loss(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  const Kind& kind = kKinds[index_of_word("loss", parts[0], names_of(kKinds))];
  LossText loss{.kind = kind.kind};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string::npos) throw UsageError("--loss: '{}' found, KEY=VALUE needed", parts[i]);
    const Key& key = kKeys[index_of_word("loss", parts[i].substr(0, equals), names_of(kKeys))];
    if (!key.fits(kind.kind)) throw UsageError("--loss: {} has no '{}'", kind.name, key.name);
    key.set(loss, parts[i].substr(equals + 1));
  }
  return loss;
}

std::string loss_help() {
  return fmt::format(
      "NAME[,KEY=VALUE...]: added to the graph, of --output and --target; NAME is cross-entropy (of "
      "scores), nll (of probabilities), log-nll (of their logarithms), mse, l1; keys are {}: reduction is "
      "mean or sum, ignore-index a label that does not count, axis that of the classes (else the last one, "
      "or axis 1 where only that fits the labels), lambda a factor of l1",
      fmt::join(names_of(kKeys), ", "));
}

}  // namespace podium::cli
