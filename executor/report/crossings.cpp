#include "executor/report/crossings.h"

#include <fmt/core.h>

#include <algorithm>

#include "executor/report/table.h"

namespace podium::report {

std::string crossing_table(std::vector<Crossing> crossings, std::size_t width) {
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
    rows.push_back({fmt::format("ipu {}", one.from), fmt::format("ipu {}", one.to), one.name,
                    count(one.times), bytes(one.bytes)});
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

}  // namespace podium::report
