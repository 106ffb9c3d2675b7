#include "executor/report/crossings.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "executor/report/names.h"
#include "executor/report/table.h"

namespace podium::report {

std::string crossing_table(std::vector<Crossing> crossings, device::ProcessorKind kind, std::size_t width) {
  constexpr std::size_t kMostCrossings = 16;
  if (crossings.empty()) return "";
  std::stable_sort(crossings.begin(), crossings.end(),
                   [](const Crossing& a, const Crossing& b) { return a.bytes > b.bytes; });
  std::vector<std::vector<std::string>> rows{{"from", "to", "what crosses", "times", "bytes"}};
  double rest = 0;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    const Crossing& one = crossings[i];
    if (i >= kMostCrossings) {
      rest += one.bytes;
      continue;
    }
    rows.push_back(
        {name_of(kind, one.from), name_of(kind, one.to), one.name, count(one.times), bytes(one.bytes)});
  }
  if (crossings.size() > kMostCrossings)
    rows.push_back({fmt::format("and {} more", crossings.size() - kMostCrossings), "", "", "", bytes(rest)});
  return table(fold(std::move(rows), {8, 8, 9, 3, 7}, width));
}

nlohmann::json to_json(const std::vector<Crossing>& crossings) {
  nlohmann::json json = nlohmann::json::array();
  for (const Crossing& one : crossings) {
    json.push_back(
        {{"from", one.from}, {"to", one.to}, {"name", one.name}, {"times", one.times}, {"bytes", one.bytes}});
  }
  return json;
}

std::string resharding_table(std::vector<Resharding> reshardings, std::size_t width) {
  constexpr std::size_t kMostReshardings = 16;
  if (reshardings.empty()) return "";
  std::ranges::stable_sort(reshardings, std::ranges::greater(), &Resharding::bytes);
  std::vector<std::vector<std::string>> rows{{"node", "needs", "by", "bytes"}};
  double rest = 0;
  for (std::size_t i = 0; i < reshardings.size(); ++i) {
    const Resharding& one = reshardings[i];
    if (i >= kMostReshardings) {
      rest += static_cast<double>(one.bytes);
      continue;
    }
    rows.push_back({one.node.empty() ? "an output" : one.node, one.tensor, one.kind,
                    bytes(static_cast<double>(one.bytes))});
  }
  if (reshardings.size() > kMostReshardings)
    rows.push_back({fmt::format("and {} more", reshardings.size() - kMostReshardings), "", "", bytes(rest)});
  return table(fold(std::move(rows), {9, 9, 8, 7}, width));
}

nlohmann::json to_json(const std::vector<Resharding>& reshardings) {
  nlohmann::json json = nlohmann::json::array();
  for (const Resharding& one : reshardings)
    json.push_back({{"node", one.node}, {"tensor", one.tensor}, {"kind", one.kind}, {"bytes", one.bytes}});
  return json;
}

}  // namespace podium::report
