// What flags say is taken out of a copy of the document, option by option: those of rows, then the lists of
// kinds of tensors, then anchors. What is left then has no flag.
#include "executor/cli/strategy_flags.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "executor/cli/flag_row.h"
#include "executor/session/option_rows.h"
#include "executor/session/tensor_kinds.h"
#include "ir/shell_word.h"

namespace podium::cli {
namespace {

using nlohmann::json;

// The value at `path`, which is no longer in the document then; null where there is none.
json take(json& document, const std::string& path) {
  const json::json_pointer pointer(path);
  if (!document.contains(pointer)) return nullptr;
  json value = document[pointer];
  document[pointer.parent_pointer()].erase(pointer.back());
  return value;
}

void put_back(json& document, const std::string& path, json value) {
  document[json::json_pointer(path)] = std::move(value);
}

// An object that has lost all its members says nothing.
void drop_empty(json& document) {
  for (auto entry = document.begin(); entry != document.end();) {
    if (entry->is_object()) drop_empty(*entry);
    entry = entry->is_object() && entry->empty() ? document.erase(entry) : std::next(entry);
  }
}

void add_flag(const BoundFlag& bound, Defaults defaults, StrategyFlags& flags) {
  const json value = take(flags.no_flags, bound.path);
  if (value.is_null() || (value == bound.fallback && defaults == Defaults::Unsaid)) return;
  const std::string name = fmt::format("--{}", bound.flag.name);
  if (bound.value == FlagValue::Switch) {
    if (value == true) {
      flags.words.push_back(name);
    } else {
      flags.dropped.push_back(name);
    }
  } else if (bound.value == FlagValue::Whole) {
    flags.words.insert(flags.words.end(), {name, value.dump()});
  } else if (bound.value == FlagValue::Text) {
    flags.words.insert(flags.words.end(), {name, value.get<std::string>()});
  } else {
    const auto word = std::find_if(bound.words.begin(), bound.words.end(),
                                   [&](const FlagWord& one) { return value == one.text; });
    if (word == bound.words.end()) return put_back(flags.no_flags, bound.path, value);
    flags.words.insert(flags.words.end(), {name, std::string(word->flag)});
  }
  if (!bound.flag.turns_on.empty()) take(flags.no_flags, std::string(bound.flag.turns_on));
}

// "--off-chip weights,optimizer"
void add_kinds(const std::string& flag, const char* place, const json& wanted, StrategyFlags& flags) {
  std::vector<std::string_view> kinds;
  for (const TensorKind& kind : kTensorKinds) {
    const std::string path = fmt::format("/{}{}", kind.option, place);
    const json value = take(flags.no_flags, path);
    if (value == wanted) {
      kinds.push_back(kind.flag);
    } else if (!value.is_null()) {
      put_back(flags.no_flags, path, value);
    }
  }
  if (!kinds.empty())
    flags.words.insert(flags.words.end(), {"--" + flag, fmt::format("{}", fmt::join(kinds, ","))});
}

// What an anchor gives back, as --anchor has it; "" where it says more.
std::string anchor_text(const json& anchor) {
  json left = anchor.is_string() ? json{{"returnType", anchor}} : anchor;
  const json returns = take(left, "/returnType");
  const json period = take(left, "/returnPeriod");
  for (const char* unset : {"tileSet", "exchangeStrategy"}) {
    if (left.contains(unset) && left[unset].is_null()) left.erase(unset);
  }
  if (!left.empty()) return "";
  if (!period.is_null()) return fmt::format("every-{}", period.dump());
  for (const FlagWord& word : flag_words<AnchorReturn>()) {
    if (returns == word.text) return std::string(word.flag);
  }
  return "";
}

void add_anchors(StrategyFlags& flags) {
  if (!flags.no_flags.contains("anchors")) return;
  const json anchors = flags.no_flags["anchors"];
  for (const auto& [name, anchor] : anchors.items()) {
    const std::string text = anchor_text(anchor);
    if (text.empty() || name.find('=') != std::string::npos) continue;
    flags.words.insert(flags.words.end(), {"--anchor", fmt::format("{}={}", name, text)});
    flags.no_flags["anchors"].erase(name);
  }
}

const FlagRow* row_named(const std::string& name, Command command) {
  for (const FlagRow& row : flag_rows()) {
    if (row.name.substr(row.name.find(',') + 1) == name && row.commands.contain(command)) return &row;
  }
  return nullptr;
}

// What the command line says beside the strategy and what only compare has a use for.
void add_given(const Options& options, Command command, std::vector<std::string>& words) {
  constexpr std::string_view kOfCompare[] = {"report", "html",     "save",  "rtol",
                                             "atol",   "estimate", "quiet", "verbose"};
  for (const GivenFlag& given : options.given) {
    if (std::ranges::count(kOfCompare, given.name) > 0) continue;
    if (given.is_strategy || row_named(given.name, command) == nullptr) continue;
    if (given.values.empty()) words.push_back("--" + given.name);
    for (const std::string& value : given.values) words.insert(words.end(), {"--" + given.name, value});
  }
}

}  // namespace

StrategyFlags flags_of(const json& document, Defaults defaults) {
  StrategyFlags flags{.no_flags = document};
  for (const BoundFlag& bound : option_flags()) add_flag(bound, defaults, flags);
  add_kinds("off-chip", "/location/storage", "OffChip", flags);
  add_kinds("shard", "/location/replicatedTensorSharding", "On", flags);
  add_anchors(flags);
  drop_empty(flags.no_flags);
  return flags;
}

std::string line_of(const std::vector<std::string>& words) {
  std::vector<std::string> typed;
  for (const std::string& word : words) typed.push_back(ir::shell_word(word));
  return fmt::format("{}", fmt::join(typed, " "));
}

std::string command_of(const Options& options, const json& document, const std::string& options_file,
                       const std::map<std::string, std::int64_t>& assumed) {
  const Command command = options.trains ? Command::Train : Command::Run;
  std::vector<std::string> words{"podium", std::string(row_of(command).name), options.paths[0]};
  add_given(options, command, words);
  for (const auto& [name, size] : assumed)
    words.insert(words.end(), {"--dim", fmt::format("{}={}", name, size)});
  StrategyFlags flags = flags_of(document);
  if (!flags.no_flags.empty()) {
    words.insert(words.end(), {"--options", options_file});
  } else {
    words.insert(words.end(), flags.words.begin(), flags.words.end());
  }
  if (options.estimate || (options.trains && options.inputs.empty())) words.emplace_back("--estimate");
  return line_of(words);
}

}  // namespace podium::cli
