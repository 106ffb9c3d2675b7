#include "executor/cli/flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "ir/nearest.h"

namespace podium::cli {
namespace {

std::pair<std::string, std::string> name_and_value(std::string_view option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    throw UsageError("--{}: '{}' found, NAME=VALUE needed", option, text);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

std::map<std::string, std::string> Given::pairs() const {
  std::map<std::string, std::string> values_by_name;
  for (const std::string& given : values) {
    const auto [name, value] = name_and_value(flag, given);
    if (!values_by_name.emplace(name, value).second) throw UsageError("--{} {}: given twice", flag, name);
  }
  return values_by_name;
}

std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    items.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return items;
}

std::size_t index_of_word(const std::string& option, std::string_view word,
                          const std::vector<std::string_view>& known) {
  const auto found = std::find(known.begin(), known.end(), word);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  throw UsageError("--{}: '{}' found, one of {} needed, the nearest is '{}'", option, word,
                   fmt::join(known, ", "), ir::nearest(word, known));
}

NameAndValues name_and_values(const std::string& option, const std::string& text) {
  NameAndValues parts;
  std::set<std::string> given;
  std::istringstream stream(text);
  std::getline(stream, parts.name, ',');
  for (std::string part; std::getline(stream, part, ',');) {
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    if (!given.insert(key).second) throw UsageError("--{} {}: given twice", option, key);
    parts.values.emplace_back(key, std::nullopt);
    if (equals != std::string::npos) parts.values.back().second = part.substr(equals + 1);
  }
  return parts;
}

}  // namespace podium::cli
