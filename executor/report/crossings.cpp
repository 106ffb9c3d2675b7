#include "executor/report/crossings.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "executor/report/names.h"
#include "executor/report/table.h"

namespace podium::report {
namespace {

constexpr std::size_t kMostCrossings = 16;

// All crossings of a tensor that is there as often.
struct TensorCrossing {
  std::set<int> from = {};
  std::set<int> to = {};
  std::string name;
  std::int64_t times = 0;
  double bytes = 0;
};

std::vector<TensorCrossing> each_alone(const std::vector<Crossing>& crossings) {
  std::vector<TensorCrossing> found;
  for (const Crossing& one : crossings)
    found.push_back({{one.from}, {one.to}, one.name, one.times, one.bytes});
  return found;
}

std::vector<TensorCrossing> by_tensor(const std::vector<Crossing>& crossings) {
  std::map<std::pair<std::string_view, std::int64_t>, std::size_t> places;
  std::vector<TensorCrossing> found;
  for (const Crossing& one : crossings) {
    const auto [place, is_new] = places.try_emplace({one.name, one.times}, found.size());
    if (is_new) found.push_back({.name = one.name, .times = one.times});
    TensorCrossing& all = found[place->second];
    all.from.insert(one.from);
    all.to.insert(one.to);
    all.bytes += one.bytes;
  }
  return found;
}

// "gpu 3", "gpu 8-15", or "12 of gpu 0-126".
std::string names_of(device::ProcessorKind kind, const std::set<int>& processors) {
  const int first = *processors.begin();
  const int last = *processors.rbegin();
  const std::string text = name_of(kind, first) + (first == last ? "" : fmt::format("-{}", last));
  return last - first + 1 == std::ssize(processors) ? text : fmt::format("{} of {}", processors.size(), text);
}

}  // namespace

std::string crossing_table(const std::vector<Crossing>& all, device::ProcessorKind kind, std::size_t width) {
  if (all.empty()) return "";
  std::vector<TensorCrossing> crossings = all.size() > kMostCrossings ? by_tensor(all) : each_alone(all);
  std::ranges::stable_sort(crossings, std::ranges::greater(), &TensorCrossing::bytes);
  std::vector<std::vector<std::string>> rows{{"from", "to", "what crosses", "times", "bytes"}};
  double rest = 0;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    const TensorCrossing& one = crossings[i];
    if (i >= kMostCrossings) {
      rest += one.bytes;
      continue;
    }
    rows.push_back(
        {names_of(kind, one.from), names_of(kind, one.to), one.name, count(one.times), bytes(one.bytes)});
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
