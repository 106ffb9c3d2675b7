#include "executor/report/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "executor/report/table.h"

namespace podium::report {
namespace {

enum class Rank : std::uint8_t { Fits, TooLarge, Refused };

Rank rank_of(const ComparedStrategy& strategy) {
  if (!strategy.refusal.empty()) return Rank::Refused;
  return strategy.run.timeline.fits() ? Rank::Fits : Rank::TooLarge;
}

sim::MemoryUse fullest_memory(const sim::Timeline& timeline) {
  if (timeline.processors.empty()) return {};
  return timeline.processors[fullest_processor(timeline)].memory;
}

// Smaller is better.
std::tuple<Rank, double> key(const ComparedStrategy& strategy) {
  const Rank rank = rank_of(strategy);
  if (rank == Rank::Fits) return {rank, -samples_per_second(strategy.run)};
  return {rank, rank == Rank::TooLarge ? fullness(fullest_memory(strategy.run.timeline)) : 0};
}

struct Shown {
  bool traffic = false;
  bool numbers = false;
};

void add_traffic(std::vector<std::string>& cells, const sim::Timeline& timeline) {
  double between = 0;
  double streamed = 0;
  for (const auto& [kind, bytes] : bytes_by_kind(timeline.links)) {
    if (kind.find("host") != std::string::npos) continue;
    (kind.find("ddr") != std::string::npos ? streamed : between) += bytes * timeline.replicas;
  }
  cells.push_back(bytes(between));
  cells.push_back(bytes(streamed));
}

std::vector<std::string> row(const ComparedStrategy& strategy, const Shown& shown) {
  const sim::Timeline& timeline = strategy.run.timeline;
  const sim::MemoryUse memory = fullest_memory(timeline);
  const double share =
      memory.capacity > 0 ? static_cast<double>(memory.peak) / static_cast<double>(memory.capacity) : 0;
  std::vector<std::string> cells{
      strategy.name,
      timeline.fits() ? "yes" : "no",
      fmt::format("{}", timeline.processors.size() * static_cast<std::size_t>(timeline.replicas)),
      duration(timeline.makespan),
      fmt::format("{:.1f}", samples_per_second(strategy.run)),
      percentage(timeline.utilisation),
      fmt::format("{} ({:.0f}%)", bytes(static_cast<double>(memory.peak)), 100 * share),
      bottleneck(timeline)};
  if (shown.traffic) add_traffic(cells, timeline);
  if (shown.numbers)
    cells.push_back(strategy.difference ? fmt::format("{:.2g}", *strategy.difference) : "not run");
  return cells;
}

}  // namespace

void sort_best_first(std::vector<ComparedStrategy>& strategies) {
  std::stable_sort(strategies.begin(), strategies.end(),
                   [](const ComparedStrategy& a, const ComparedStrategy& b) { return key(a) < key(b); });
}

std::string comparison_table(const std::vector<ComparedStrategy>& strategies, Columns columns) {
  const Shown shown{
      .traffic = columns == Columns::TimesAndTraffic,
      .numbers = std::any_of(strategies.begin(), strategies.end(), [](const ComparedStrategy& strategy) {
        return strategy.difference.has_value();
      })};
  std::vector<std::vector<std::string>> rows{{"strategy", "fits", "processors", "time per step", "samples/s",
                                              "utilisation", "largest memory", "bottleneck"}};
  if (shown.traffic) rows[0].insert(rows[0].end(), {"between processors", "streaming memory"});
  if (shown.numbers) rows[0].push_back("difference");
  std::string refused;
  for (const ComparedStrategy& strategy : strategies) {
    if (strategy.refusal.empty()) {
      rows.push_back(row(strategy, shown));
    } else {
      refused += fmt::format("not possible: {}: {}\n", strategy.name, strategy.refusal);
    }
  }
  return (rows.size() > 1 ? table(rows) : "") + refused;
}

nlohmann::json comparison_json(const std::string& model, const std::vector<ComparedStrategy>& strategies) {
  nlohmann::json json{{"version", kReportVersion}, {"model", model}, {"strategies", nlohmann::json::array()}};
  for (const ComparedStrategy& strategy : strategies) {
    nlohmann::json entry{{"name", strategy.name}};
    if (strategy.refusal.empty()) {
      entry["run"] = to_json(strategy.run);
    } else {
      entry["refused"] = strategy.refusal;
    }
    if (strategy.difference) entry["difference"] = *strategy.difference;
    json["strategies"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace podium::report
