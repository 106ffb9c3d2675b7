// From the words of a command line to Options: cxxopts takes them apart by the rows of flags (flag_row.h),
// each row reads its own. Flags of session options come together as a document (session_flags.cpp), which is
// read over that of --options, so that a flag wins.
#include "executor/cli/options.h"

#include <algorithm>
#include <cxxopts.hpp>

#include "executor/cli/flag_row.h"
#include "executor/cli/session_flags.h"
#include "executor/cli/terminal.h"
#include "executor/cli/write_file.h"
#include "executor/session/json_rows.h"
#include "executor/session/read_options.h"
#include "ir/files.h"
#include "ir/nearest.h"

namespace podium::cli {
namespace {

using Texts = std::vector<std::string>;

// Without the letter.
std::string long_name(const FlagRow& row) { return row.name.substr(row.name.find(',') + 1); }

std::shared_ptr<cxxopts::Value> value_of(const FlagRow& row) {
  switch (row.takes) {
    case Takes::Nothing:
      return cxxopts::value<bool>();
    case Takes::Values:
      return cxxopts::value<Texts>();
    case Takes::Value:
      break;
  }
  const auto value = cxxopts::value<std::string>();
  return row.fallback.empty() ? value : value->default_value(row.fallback);
}

// What --help calls the value: the word in capitals with which the help begins.
std::string value_name(const FlagRow& row) {
  if (row.takes == Takes::Nothing) return "";
  const std::string word = row.help.substr(0, row.help.find_first_of(" :,;["));
  const bool is_name = !word.empty() && word[0] >= 'A' && word[0] <= 'Z';
  return is_name ? word : "WORD";
}

// In the order in which one needs them; others follow as their rows come.
std::vector<std::string> headings(Command command) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& heading) {
    const auto has = [&](const FlagRow& row) {
      return row.commands.contain(command) && row.heading == heading;
    };
    if (std::ranges::count(found, heading) == 0 && std::ranges::any_of(flag_rows(), has))
      found.push_back(heading);
  };
  for (const char* heading : {"", "Info", "Data", "Training", kStrategyHeading, "Machine", "Simulation"})
    add(heading);
  for (const FlagRow& row : flag_rows()) {
    if (row.heading != "Session") add(row.heading);
  }
  add("Session");
  return found;
}

cxxopts::Options make_parser(Command command) {
  const CommandRow& about = row_of(command);
  cxxopts::Options parser(fmt::format("podium {}", about.name), std::string(about.purpose));
  parser.custom_help("[options]");
  parser.positional_help(std::string(about.paths));
  if (const std::size_t width = terminal_width(); width > 0)
    parser.set_width(std::clamp<std::size_t>(width, 40, 120));
  for (const FlagRow& row : flag_rows()) {
    if (row.commands.contain(command))
      parser.add_options(row.heading)(row.name, row.help, value_of(row), value_name(row));
  }
  parser.add_options()("paths", "", cxxopts::value<Texts>());
  parser.parse_positional("paths");
  parser.allow_unrecognised_options();
  return parser;
}

void refuse_unknown(Command command, const cxxopts::ParseResult& result) {
  for (const std::string& word : result.unmatched()) {
    if (!word.starts_with("-")) continue;
    std::vector<std::string> names;
    for (const FlagRow& row : flag_rows()) {
      if (row.commands.contain(command)) names.push_back("--" + long_name(row));
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    throw UsageError("unknown option '{}', the nearest is '{}'", word,
                     ir::nearest(word.substr(0, word.find('=')), views));
  }
}

// Nothing where the flag says nothing.
std::optional<Given> given_to(const FlagRow& row, const cxxopts::ParseResult& result) {
  const std::string name = long_name(row);
  if (result.count(name) == 0 && row.fallback.empty()) return std::nullopt;
  Given given{name};
  if (row.takes == Takes::Value) given.values = {result[name].as<std::string>()};
  if (row.takes == Takes::Values) given.values = result[name].as<Texts>();
  return given;
}

// A flag that is there, without the one that it needs.
void check_need(Command command, const FlagRow& row, const cxxopts::ParseResult& result) {
  if (row.needs.empty() || result.count(long_name(row)) == 0) return;
  const auto& rows = flag_rows();
  const bool has_it = std::any_of(rows.begin(), rows.end(), [&](const FlagRow& other) {
    return other.name == row.needs && other.commands.contain(command);
  });
  if (!has_it || result.count(row.needs) > 0) return;
  throw UsageError("{}: --{} found, --{} needed with it", row_of(command).name, long_name(row), row.needs);
}

// The file first, then the flags over it, which so far are alone in session_json.
void read_strategy(Options& options) {
  const nlohmann::json flags = std::exchange(options.session_json, nlohmann::json::object());
  if (!options.options_file.empty()) {
    options.session_json = parse_json(ir::read_small_file(options.options_file), options.options_file);
    options.session = read_option_document(options.session_json, options.options_file, options.notes);
  }
  options.session = read_option_document(flags, "command line", options.notes, std::move(options.session));
  options.session_json.merge_patch(flags);
}

Options read(Command command, const cxxopts::ParseResult& result) {
  Options options;
  refuse_unknown(command, result);
  options.help = result.count("help") > 0;
  if (options.help) return options;
  if (result.count("paths") > 0) options.paths = result["paths"].as<Texts>();
  for (const FlagRow& row : flag_rows()) {
    if (!row.commands.contain(command)) continue;
    check_need(command, row, result);
    if (const auto given = given_to(row, result)) row.read(options, *given);
    if (result.count(long_name(row)) > 0)
      options.given.push_back(
          {long_name(row), given_to(row, result)->values, row.heading == kStrategyHeading});
  }
  read_strategy(options);
  return options;
}

}  // namespace

// The standard library's regular expressions, by which words are taken apart, call themselves for each
// character.
void check_length(const std::string& word) {
  constexpr std::size_t kLongest = 8192;
  constexpr std::size_t kShown = 40;
  if (word.size() <= kLongest) return;
  throw UsageError("'{}...': {} characters found, at most {} needed", word.substr(0, kShown), word.size(),
                   kLongest);
}

Options parse(Command command, const Arguments& arguments) {
  for (const std::string& argument : arguments) check_length(argument);
  cxxopts::Options parser = make_parser(command);
  std::vector<const char*> words{"podium"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  try {
    return read(command, parser.parse(static_cast<int>(words.size()), words.data()));
  } catch (const cxxopts::exceptions::exception& error) {
    throw UsageError("{}", error.what());
  }
}

std::string help(Command command) {
  const CommandRow& row = row_of(command);
  return make_parser(command).help(headings(command)) + std::string(row.epilogue) +
         fmt::format("\nFor example:\n  {}\n", row.example);
}

}  // namespace podium::cli
