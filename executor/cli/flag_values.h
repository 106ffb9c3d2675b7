// Values of flags on the command line.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "executor/cli/usage_error.h"
#include "ir/number_text.h"

namespace podium::cli {

/// The whole text as a number from `least` to `most`; `what` names the option in the UsageError.
template <class Number>
Number number(const std::string& what, const std::string& text, Number least,
              Number most = std::numeric_limits<Number>::max()) {
  if (const auto value = ir::number_of(text, least, most)) return *value;
  const char* const kind = std::is_integral_v<Number> ? "whole number" : "number";
  if (most == std::numeric_limits<Number>::max()) {
    if (least == std::numeric_limits<Number>::lowest())
      throw UsageError("{}: '{}' found, a {} needed", what, text, kind);
    throw UsageError("{}: '{}' found, a {} of at least {} needed", what, text, kind, least);
  }
  throw UsageError("{}: '{}' found, a {} from {} to {} needed", what, text, kind, least, most);
}

/// The place of `word` among `known`. UsageError names the nearest.
std::size_t index_of_word(const std::string& option, std::string_view word,
                          const std::vector<std::string_view>& known);

/// A flag, without its dashes, and the values that it was given.
struct Given {
  std::string flag;
  std::vector<std::string> values = {};

  /// The last value.
  const std::string& text() const { return values.back(); }
  template <class Number>
  Number number(Number least, Number most = std::numeric_limits<Number>::max()) const {
    return cli::number("--" + flag, text(), least, most);
  }
  /// The place of the word among `known`.
  std::size_t word(const std::vector<std::string_view>& known) const {
    return index_of_word(flag, text(), known);
  }
  /// NAME=VALUE by name, each name once.
  std::map<std::string, std::string> pairs() const;
};

/// What stands between the commas of a list; an empty item where two follow each other, or one ends the text.
std::vector<std::string> items_of(const std::string& text);

/// "name,key=value,word".
struct NameAndValues {
  std::string name;
  std::vector<std::pair<std::string, std::optional<std::string>>> values;  ///< a word has none
};
/// UsageError for a key or a word that is there twice.
NameAndValues name_and_values(const std::string& option, const std::string& text);

/// The names of the rows of a table of words.
template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

}  // namespace podium::cli
