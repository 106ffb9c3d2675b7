#include "executor/cli/optimizer_text.h"

#include <fmt/ranges.h>

#include <vector>

#include "executor/cli/flag_values.h"
#include "ir/nearest.h"
#include "ir/optimizer_spec.h"

namespace podium::cli {
namespace {

// A row by one of the names that users give it.
struct NamedOptimizer {
  std::string_view name;
  const ir::OptimizerSpec* spec;
  ir::WeightDecayMode decay;
};

std::vector<NamedOptimizer> named_optimizers() {
  std::vector<NamedOptimizer> named;
  for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
    for (const auto& [name, decay] : spec->typed) named.push_back({name, spec, decay});
  }
  return named;
}

std::vector<std::string_view> words() {
  std::vector<std::string_view> words;
  for (const ir::FormSpec& form : ir::all_forms()) words.push_back(form.word);
  return words;
}

// "sgd (lr=0.1, momentum=0)": names of one row together.
std::string keys_of(const ir::OptimizerSpec& spec) {
  std::vector<std::string_view> names;
  for (const ir::TypedName& typed : spec.typed) names.push_back(typed.name);
  std::vector<std::string> keys;
  for (const ir::ValueSpec& value : spec.values)
    keys.push_back(fmt::format("{}={}", value.typed, value.fallback));
  return fmt::format("{} ({})", fmt::join(names, " and "), fmt::join(keys, ", "));
}

void set_value(ir::Optimizer& optimizer, std::string_view optimizer_name, const std::string& name,
               const std::string& text) {
  std::vector<std::string_view> known;
  for (const ir::ValueSpec& value : ir::all_optimizer_values()) {
    const auto given = optimizer.defaults.find(value.name);
    if (given == optimizer.defaults.end()) continue;
    known.push_back(value.typed);
    if (value.typed != name) continue;
    given->second.value = number(fmt::format("--optimizer {}", name), text, 0.0);
    return;
  }
  throw UsageError("--optimizer: {} has no value '{}', the nearest is '{}'", optimizer_name, name,
                   ir::nearest(name, known));
}

void set_word(ir::Optimizer& optimizer, std::string_view optimizer_name, const std::string& name) {
  const ir::FormSpec& form = ir::all_forms()[index_of_word("optimizer", name, words())];
  if (!optimizer.spec->has_form(name))
    throw UsageError("--optimizer: {} has no form '{}'", optimizer_name, name);
  form.set(optimizer);
}

}  // namespace

ir::Optimizer read_optimizer(const std::string& text) {
  const NameAndValues given = name_and_values("optimizer", text);
  const std::vector<NamedOptimizer> known = named_optimizers();
  const NamedOptimizer& named = known[index_of_word("optimizer", given.name, names_of(known))];
  ir::Optimizer optimizer = ir::make_optimizer(*named.spec);
  optimizer.decay_mode = named.decay;
  for (const auto& [name, value] : given.values) {
    if (value) {
      set_value(optimizer, named.name, name, *value);
    } else {
      set_word(optimizer, named.name, name);
    }
  }
  return optimizer;
}

std::string optimizer_help() {
  const std::vector<NamedOptimizer> known = named_optimizers();
  std::vector<std::string> rows;
  for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
    if (!spec->typed.empty()) rows.push_back(keys_of(*spec));
  }
  std::vector<NamedOptimizer> decaying = known;
  std::erase_if(decaying, [](const NamedOptimizer& one) { return one.decay != ir::WeightDecayMode::Decay; });
  return fmt::format(
      "NAME[,KEY=VALUE or WORD...]: NAME, with its keys and their defaults, is {}; words are {}. "
      "Decay is taken from the weights by {} and with decay; it is a part of the gradient elsewhere and with l2. "
      "float16-state with a --loss-scale means scaled-state, too, where NAME has it",
      fmt::join(rows, ", "), fmt::join(words(), ", "), fmt::join(names_of(decaying), ", "));
}

}  // namespace podium::cli
