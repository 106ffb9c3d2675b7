// The table's columns are rows of a table of their own: what they are called, what they show, and how soon
// they go where a terminal is too narrow for all of them.
#include "executor/report/comparison.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "executor/report/cause.h"
#include "executor/report/names.h"
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

// A column of the table: its head, its cells, and how soon it goes where the table is too wide.
struct Column {
  std::string head;
  int importance = 0;  ///< the least goes first
  std::string (*cell)(const ComparedStrategy&);
};

double traffic(const sim::Timeline& timeline, bool of_streaming) {
  double sum = 0;
  for (const auto& [kind, bytes] : bytes_by_kind(timeline.links)) {
    if (kind.find("host") != std::string::npos) continue;
    if ((kind.find("ddr") != std::string::npos) == of_streaming) sum += bytes * timeline.replicas;
  }
  return sum;
}

double processors_of(const ComparedStrategy& strategy) {
  const sim::Timeline& timeline = strategy.run.timeline;
  return static_cast<double>(timeline.processors.size()) * timeline.replicas;
}

std::string inverse(double rate) { return rate > 0 ? duration(1 / rate) : ""; }

std::vector<Column> columns_of(Columns columns) {
  using Row = const ComparedStrategy&;
  std::vector<Column> all{
      {"strategy", 10, [](Row row) { return row.name; }},
      {"fits", 9, [](Row row) -> std::string { return row.run.timeline.fits() ? "yes" : "no"; }},
      {"processors", 6, [](Row row) { return fmt::format("{:.0f}", processors_of(row)); }},
      {"samples/s", 9, [](Row row) { return rate(samples_per_second(row.run)); }},
      {"a processor", 3, [](Row row) { return rate(samples_per_second(row.run) / processors_of(row)); }},
      {"time a sample", 4, [](Row row) { return inverse(samples_per_second(row.run)); }}};
  if (columns == Columns::TimesAndTraffic) {
    all.push_back({"an update", 5, [](Row row) {
                     return duration(row.run.timeline.makespan / std::max(1, row.run.updates));
                   }});
  } else {
    all.push_back({"latency", 5, [](Row row) -> std::string {
                     const double seconds = row.run.timeline.first_output;
                     return seconds > 0 ? duration(seconds) : "";
                   }});
  }
  all.push_back({"utilisation", 2, [](Row row) { return percentage(row.run.timeline.utilisation); }});
  all.push_back({"largest memory", 7, [](Row row) { return memory_share(row.run.timeline); }});
  all.push_back({"bottleneck", 8, [](Row row) { return bottleneck(row.run.timeline); }});
  if (columns == Columns::TimesAndTraffic) {
    all.push_back({"above its bound", 1, [](Row row) { return gap_text(row.run); }});
    all.push_back({"between processors", 1, [](Row row) { return bytes(traffic(row.run.timeline, false)); }});
    all.push_back({"streaming memory", 1, [](Row row) { return bytes(traffic(row.run.timeline, true)); }});
  }
  return all;
}

// A line a reason, with the first that have it.
std::string refusals(const std::vector<ComparedStrategy>& strategies) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const ComparedStrategy& strategy : strategies) {
    if (strategy.refusal.empty() || strategy.needs_run) continue;
    auto same = std::ranges::find(reasons, strategy.refusal, [](const auto& one) { return one.first; });
    if (same == reasons.end()) same = reasons.insert(same, {strategy.refusal, {}});
    same->second.push_back(strategy.name);
  }
  std::string text;
  for (auto& [reason, names] : reasons) {
    const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
    names.resize(names.size() - more);
    text += fmt::format("not possible: {}{}: {}\n", fmt::join(names, "; "),
                        more > 0 ? fmt::format("; and {} more", more) : "", reason);
  }
  return text;
}

// What a sample's time is made of: the way back from the end of the step by kind of work. All parts sum up to
// the time.
struct SampleTime {
  const ComparedStrategy* strategy = nullptr;
  double seconds = 0;
  std::array<double, sim::kActivities> parts = {};
  double call = 0;  ///< the host's
};

// Of each strategy that fits.
std::vector<SampleTime> sample_times(const std::vector<ComparedStrategy>& strategies) {
  std::vector<SampleTime> times;
  for (const ComparedStrategy& strategy : strategies) {
    const double samples = samples_per_second(strategy.run) * strategy.run.timeline.makespan;
    if (rank_of(strategy) != Rank::Fits || samples <= 0) continue;
    const double whole = strategy.run.timeline.makespan / samples;
    SampleTime& time = times.emplace_back(SampleTime{.strategy = &strategy, .seconds = whole, .call = whole});
    for (const sim::PathPart& part : strategy.run.timeline.path) {
      time.parts[static_cast<std::size_t>(part.activity)] += part.seconds / samples;
      time.call -= part.seconds / samples;
    }
    time.call = std::max(0.0, time.call);
  }
  return times;
}

// "1.50 ms more for exchange between processors and 200 us less for compute": the two largest changes.
std::string change_of(const SampleTime& before, const SampleTime& after) {
  std::vector<std::pair<double, std::string_view>> changes{{after.call - before.call, "the host's call"}};
  for (std::size_t kind = 0; kind < after.parts.size(); ++kind)
    changes.emplace_back(after.parts[kind] - before.parts[kind],
                         words_of(static_cast<sim::Activity>(kind)).text);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  constexpr std::size_t kMostTold = 2;
  constexpr double kWorthTelling = 0.01;  // of the time
  std::string text;
  for (std::size_t i = 0; i < kMostTold; ++i) {
    const auto& [seconds, what] = changes[i];
    if (std::abs(seconds) <= kWorthTelling * before.seconds) break;
    text += fmt::format("{}{} {} for {}", text.empty() ? "" : " and ", duration(std::abs(seconds)),
                        seconds > 0 ? "more" : "less", what);
  }
  return text;
}

}  // namespace

void sort_best_first(std::vector<ComparedStrategy>& strategies) {
  std::stable_sort(strategies.begin(), strategies.end(), is_better);
}

bool is_better(const ComparedStrategy& a, const ComparedStrategy& b) { return key(a) < key(b); }

std::string comparison_table(const std::vector<ComparedStrategy>& strategies, Columns columns,
                             std::size_t width) {
  std::vector<Column> shown = columns_of(columns);
  std::vector<std::vector<std::string>> rows(1);
  std::vector<int> importance;
  for (const Column& column : shown) {
    rows[0].push_back(column.head);
    importance.push_back(column.importance);
  }
  for (const ComparedStrategy& strategy : strategies) {
    if (!strategy.refusal.empty()) continue;
    rows.emplace_back();
    for (const Column& column : shown) rows.back().push_back(column.cell(strategy));
  }
  return (rows.size() > 1 ? table(fold(std::move(rows), importance, width)) : "") + refusals(strategies);
}

std::string sample_time_table(const std::vector<ComparedStrategy>& strategies, std::size_t width) {
  const std::vector<SampleTime> times = sample_times(strategies);
  if (times.empty()) return "";
  std::array<double, sim::kActivities> most{};
  for (const SampleTime& time : times) {
    for (std::size_t kind = 0; kind < most.size(); ++kind)
      most[kind] = std::max(most[kind], time.parts[kind]);
  }
  std::vector<std::vector<std::string>> rows{{"what a sample's time is made of", "time"}};
  std::vector<int> importance{10, 9};
  for (std::size_t kind = 0; kind < most.size(); ++kind) {
    if (most[kind] <= 0) continue;
    rows[0].emplace_back(words_of(static_cast<sim::Activity>(kind)).text);
    importance.push_back(8);
  }
  rows[0].emplace_back("the host's call");
  importance.push_back(7);
  for (const SampleTime& time : times) {
    std::vector<std::string>& cells =
        rows.emplace_back(std::vector{time.strategy->name, duration(time.seconds)});
    for (std::size_t kind = 0; kind < most.size(); ++kind) {
      if (most[kind] > 0) cells.push_back(time.parts[kind] > 0 ? duration(time.parts[kind]) : "");
    }
    cells.push_back(duration(time.call));
  }
  return table(fold(std::move(rows), std::move(importance), width));
}

std::string change_sentences(const std::vector<ComparedStrategy>& strategies) {
  const std::vector<SampleTime> times = sample_times(strategies);
  std::string text;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const SampleTime& before = times[i - 1];
    const SampleTime& after = times[i];
    const bool is_slower = after.seconds > before.seconds;
    const double by = is_slower ? after.seconds / before.seconds : before.seconds / after.seconds;
    const std::string why = change_of(before, after);
    if (why.empty()) {
      text += fmt::format("{} takes as long as {}\n", after.strategy->name, before.strategy->name);
    } else {
      text += fmt::format("{} is {:.2f} times as {} as {}: a sample takes {}\n", after.strategy->name, by,
                          is_slower ? "slow" : "fast", before.strategy->name, why);
    }
  }
  return text;
}

nlohmann::json comparison_json(const ComparedModel& model, const std::vector<ComparedStrategy>& strategies) {
  nlohmann::json json{
      {"version", kReportVersion}, {"model", model.name}, {"strategies", nlohmann::json::array()}};
  if (model.file) json["modelFile"] = to_json(*model.file);
  if (model.provenance) add_provenance(*model.provenance, json);
  for (const ComparedStrategy& strategy : strategies) {
    nlohmann::json entry{{"name", strategy.name}};
    if (strategy.refusal.empty()) {
      entry["run"] = to_json(strategy.run);
    } else {
      entry["refused"] = strategy.refusal;
    }
    if (strategy.difference) entry["difference"] = *strategy.difference;
    if (strategy.oracle) entry["oracle"] = to_json(*strategy.oracle);
    json["strategies"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace podium::report
