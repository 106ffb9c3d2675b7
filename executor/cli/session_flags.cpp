// Most flags of session options say one option and come from its row (session/option_rows.h). Those here say
// the same of several kinds of tensors, or something of one tensor.
#include "executor/cli/session_flags.h"

#include <fmt/ranges.h>

#include "executor/cli/options.h"
#include "executor/session/option_rows.h"
#include "executor/session/tensor_kinds.h"
#include "ir/files.h"

namespace podium::cli {
namespace {

using nlohmann::json;

constexpr const char* kStrategy = kStrategyHeading;
constexpr std::string_view kProcessors = "ipus";
constexpr std::string_view kConfiguration = "configuration";
constexpr Commands kCommands{Command::Run, Command::Train, Command::Profile, Command::Compare, Command::Test};

std::vector<std::string_view> names_of_words(const std::vector<FlagWord>& words) {
  std::vector<std::string_view> names;
  for (const FlagWord& word : words) names.push_back(word.flag);
  return names;
}

// What --help says of a fallback.
std::string shown(const BoundFlag& bound) {
  if (bound.value == FlagValue::Switch) return "off";
  if (bound.fallback == "") return "none";
  for (const FlagWord& word : bound.words) {
    if (bound.fallback == word.text) return std::string(word.flag);
  }
  return bound.fallback.dump();
}

std::string help_of(const BoundFlag& bound) {
  std::string text(bound.flag.help);
  if (!bound.words.empty())
    text += fmt::format("{}{}", text.empty() ? "" : ": ", fmt::join(names_of_words(bound.words), ", "));
  return fmt::format("{} (default: {})", text, shown(bound));
}

json value_of(const BoundFlag& bound, const Given& given) {
  if (bound.value == FlagValue::Switch) return true;
  if (bound.value == FlagValue::Whole) return given.number(bound.least);
  if (bound.value == FlagValue::Text) return given.text();
  if (bound.value == FlagValue::WordOrFile && given.text().ends_with(".json")) {
    return parse_json(ir::read_small_file(given.text()), given.text());
  }
  return bound.words[given.word(names_of_words(bound.words))].text;
}

FlagRow row_of_option(const BoundFlag& bound) {
  const auto read = [bound](Options& options, const Given& given) {
    options.session_json[json::json_pointer(bound.path)] = value_of(bound, given);
    if (!bound.flag.turns_on.empty())
      options.session_json[json::json_pointer(std::string(bound.flag.turns_on))] = true;
  };
  const Takes takes = bound.value == FlagValue::Switch ? Takes::Nothing : Takes::Value;
  // Comparing takes several numbers of processors (row_of_processors), and tries each configuration.
  const bool is_compared = bound.flag.name == kProcessors || bound.flag.name == kConfiguration;
  const Commands commands =
      is_compared ? Commands{Command::Run, Command::Train, Command::Profile, Command::Test} : kCommands;
  return {std::string(bound.flag.name), commands, kStrategy, help_of(bound), takes, read};
}

// One number is the option, several make a table of scaling.
FlagRow row_of_processors() {
  const auto read = [](Options& options, const Given& given) {
    for (const std::string& item : items_of(given.text()))
      options.compare.processors.push_back(number("--ipus", item, 1));
    if (options.compare.processors.size() > 1) return;
    options.session_json["numIPUs"] = options.compare.processors.front();
    options.compare.processors.clear();
  };
  return {std::string(kProcessors),
          {Command::Compare},
          kStrategy,
          "N processors, all replicas together; N,M,...: the best strategy over each (default: the device's)",
          Takes::Value,
          read};
}

std::vector<TensorKind> shardable_kinds() {
  std::vector<TensorKind> kinds;
  for (const TensorKind& kind : kTensorKinds) {
    if (kind.can_be_sharded) kinds.push_back(kind);
  }
  return kinds;
}

// Sets a value in the location settings of a kind of tensors.
void set_in(json& document, const TensorKind& kind, const char* place, const json& value) {
  document[json::json_pointer(fmt::format("/{}{}", kind.option, place))] = value;
}

// A flag with a list of the kinds that get a value.
FlagRow row_of_kinds(const std::string& name, const std::string& meaning, std::vector<TensorKind> kinds,
                     const char* place, const char* value) {
  std::vector<std::string_view> known;
  for (const TensorKind& kind : kinds) known.push_back(kind.flag);
  const std::string help = fmt::format("{}: {} (default: none)", meaning, fmt::join(known, ","));
  const auto read = [kinds, known, place, value](Options& options, const Given& given) {
    for (const std::string& item : items_of(given.text()))
      set_in(options.session_json, kinds[index_of_word(given.flag, item, known)], place, value);
  };
  return {name, kCommands, kStrategy, help, Takes::Value, read};
}

FlagRow row_of_threshold() {
  const auto read = [](Options& options, const Given& given) {
    for (const TensorKind& kind : shardable_kinds())
      set_in(options.session_json, kind, "/minElementsForReplicatedTensorSharding", given.number(0));
  };
  return {"shard-threshold",
          kCommands,
          kStrategy,
          fmt::format("N elements: smaller tensors are not sharded (default: {})",
                      LocationSettings{}.min_elements_for_sharding),
          Takes::Value,
          read};
}

json anchor_of(const std::string& name, const std::string& text) {
  constexpr std::string_view kEvery = "every-";
  if (text.starts_with(kEvery) && text != "every-N") {
    const int period = number("--anchor " + name, text.substr(kEvery.size()), 1);
    return {{"returnType", word_of(AnchorReturn::EveryN)}, {"returnPeriod", period}};
  }
  const std::vector<FlagWord> words = flag_words<AnchorReturn>();
  std::vector<std::string_view> known = names_of_words(words);
  known.emplace_back("every-N");
  return words.at(index_of_word("anchor " + name, text, known)).text;
}

FlagRow row_of_anchors() {
  const auto read = [](Options& options, const Given& given) {
    for (const auto& [name, text] : given.pairs())
      options.session_json["anchors"][name] = anchor_of(name, text);
  };
  return {
      "anchor",
      kCommands,
      kStrategy,
      "NAME=all|final|sum|every-N: what comes back of a tensor, '*=...' of all other outputs (repeatable; "
      "default: outputs, all)",
      Takes::Values,
      read};
}

FlagRow row_of_file() {
  return {"options",    kCommands,
          kStrategy,    "FILE.json with session options, PopART's names and nesting; flags win over it",
          Takes::Value, [](Options& options, const Given& given) { options.options_file = given.text(); }};
}

}  // namespace

std::vector<FlagRow> session_flags() {
  std::vector<FlagRow> rows{row_of_file()};
  for (const BoundFlag& bound : option_flags()) rows.push_back(row_of_option(bound));
  rows.push_back(row_of_processors());
  rows.push_back(row_of_threshold());
  rows.push_back(row_of_kinds("off-chip", "what lives in streaming memory",
                              {kTensorKinds.begin(), kTensorKinds.end()}, "/location/storage", "OffChip"));
  rows.push_back(row_of_kinds("shard", "what is sharded over replicas", shardable_kinds(),
                              "/location/replicatedTensorSharding", "On"));
  rows.push_back(row_of_anchors());
  return rows;
}

}  // namespace podium::cli
