// What a page embeds: the report, where `processors` and `ops` that differ in nothing but the processor are
// there once with all their `processors`, `ops` as keys and rows; and `timeline`, which is packed, since a
// step may have a hundred thousand events:
// - `names`: every name once; `blocks`: of each block its ops as [name, picoseconds, flop];
// - `lanes`: {processors, lane}: processors whose steps have the same times share one lane, the first stands
// for
//   all;
// - `events`: rows [lane, start, duration, name, activity, micro-batch, bytes, flow, block, after, on path]
// in
//   nanoseconds, `after` being the row of what let the event start last, -1 nothing;
// - `folded`: rows [lane, start, duration, iterations];
// - `memory`: of each processor `always` (bytes by holding, and of code), `changes` as rows [nanosecond,
// holding,
//   bytes], and `lives` as rows [name, holding, bytes, start, end]. Equal processors are there once.
#include <algorithm>
#include <cmath>
#include <map>

#include "executor/report/event_names.h"
#include "executor/report/names.h"
#include "executor/report/page.h"
#include "executor/sim/memory_curve.h"

namespace podium::report {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestShownName = 200;
constexpr std::size_t kMostPoints = 100'000;  // of memory, all processors together
constexpr std::size_t kFewestPoints = 64;     // of a processor

std::int64_t nanos(double seconds) { return std::llround(seconds * 1e9); }

// Every name once.
class Names {
 public:
  std::size_t place_of(const std::string& name) {
    const auto [entry, is_new] = places_.emplace(name, all_.size());
    if (is_new) all_.push_back(shortened(name, kLongestShownName));
    return entry->second;
  }
  const json& all() const { return all_; }

 private:
  std::map<std::string, std::size_t> places_;
  json all_ = json::array();
};

// Entries that are equal but for their `processor` and what `key_of` leaves out, once, with all `processors`.
template <class Key>
json fold_equal(json entries, Key key_of) {
  std::map<std::string, std::size_t> places;
  json folded = json::array();
  for (json& one : entries) {
    const json processor = std::move(one["processor"]);
    one.erase("processor");
    const std::string key = key_of(one).dump(-1, ' ', true, json::error_handler_t::replace);
    const auto [entry, is_new] = places.emplace(key, folded.size());
    if (is_new) {
      folded.push_back(std::move(one));
      folded.back()["processors"] = json::array();
    }
    folded[entry->second]["processors"].push_back(processor);
  }
  return folded;
}

json fold_equal(json entries) {
  return fold_equal(std::move(entries), [](const json& one) { return one; });
}

// Objects with the same keys as these keys and rows of their values; null where one has no such key.
json as_rows(const json& objects) {
  std::map<std::string, std::size_t> places;
  for (const json& one : objects) {
    for (const auto& [key, value] : one.items()) places.emplace(key, places.size());
  }
  std::vector<std::string> keys(places.size());
  for (const auto& [key, place] : places) keys[place] = key;
  json rows = json::array();
  for (const json& one : objects) {
    json row = json::array();
    for (const std::string& key : keys) row.push_back(one.contains(key) ? one[key] : json());
    rows.push_back(std::move(row));
  }
  return {{"keys", keys}, {"rows", std::move(rows)}};
}

// Without what only a trace needs, and with equal processors once.
json folded_report(json report) {
  for (json& processor : report["processors"]) processor.erase("memoryCurve");
  report["processors"] = fold_equal(std::move(report["processors"]));
  if (report.contains("ops")) report["ops"] = as_rows(fold_equal(std::move(report["ops"])));
  return report;
}

// Of thirty strategies the way back from the end is shown by kind of work alone.
json path_by_activity(const json& path) {
  std::map<std::string, double> seconds;
  for (const json& part : path) seconds[part["activity"]] += part["seconds"].get<double>();
  json sums = json::array();
  for (const auto& [activity, sum] : seconds) sums.push_back({{"activity", activity}, {"seconds", sum}});
  return sums;
}

using Place = std::pair<int, sim::Lane>;

class TimelinePacker {
 public:
  explicit TimelinePacker(const sim::Timeline& timeline) : timeline_(timeline) {}

  json pack() {
    share_lanes();
    json packed{{"seconds", timeline_.makespan},
                {"events", events()},
                {"lanes", lanes()},
                {"folded", folded()},
                {"foldedIterations", timeline_.folded_iterations},
                {"joinedBelow", nanos(timeline_.joined_below)},
                {"memoryCut", timeline_.memory_cut},
                {"blocks", blocks()},
                {"memory", memory()}};
    packed["activities"] = json::array();
    for (std::size_t i = 0; i < sim::kActivities; ++i)
      packed["activities"].push_back(words_of(static_cast<sim::Activity>(i)).text);
    packed["names"] = names_.all();
    return packed;
  }

 private:
  struct SharedLane {
    Place first;
    std::vector<int> processors;
  };

  // Lanes with the same times and kinds of steps become one; their events become those of the first.
  void share_lanes() {
    std::map<Place, std::vector<int>> of_lane;
    for (std::size_t i = 0; i < timeline_.events.size(); ++i) {
      const sim::Event& event = timeline_.events[i];
      of_lane[{event.processor, event.lane}].push_back(static_cast<int>(i));
    }
    std::map<std::vector<std::int64_t>, std::size_t> lanes_by_key;
    stands_for_.resize(timeline_.events.size());
    for (const auto& [place, events] : of_lane) {
      const auto [entry, is_new] = lanes_by_key.emplace(key_of(place, events), lanes_.size());
      if (is_new) lanes_.push_back({place, {}});
      SharedLane& lane = lanes_[entry->second];
      lane.processors.push_back(place.first);
      const std::vector<int>& of_first = of_lane.at(lane.first);
      for (std::size_t i = 0; i < events.size(); ++i) stands_for_[events[i]] = of_first[i];
      if (is_new) numbers_[place] = entry->second;
    }
    for (std::size_t i = 0; i < timeline_.events.size(); ++i) {
      if (stands_for_[i] != static_cast<int>(i)) continue;
      row_of_[static_cast<int>(i)] = static_cast<int>(rows_.size());
      rows_.push_back(static_cast<int>(i));
    }
  }

  std::vector<std::int64_t> key_of(const Place& place, const std::vector<int>& events) const {
    std::vector<std::int64_t> key{static_cast<std::int64_t>(place.second)};
    for (const int i : events) {
      const sim::Event& event = timeline_.events[i];
      for (const std::int64_t part :
           {nanos(event.start), nanos(event.end), static_cast<std::int64_t>(event.activity),
            static_cast<std::int64_t>(event.micro_batch), static_cast<std::int64_t>(event.bytes)})
        key.push_back(part);
    }
    return key;
  }

  json lanes() const {
    json all = json::array();
    for (const SharedLane& lane : lanes_)
      all.push_back({{"processors", lane.processors}, {"lane", name_of(lane.first.second)}});
    return all;
  }

  json events() {
    json all = json::array();
    for (const int row : rows_) {
      const sim::Event& event = timeline_.events[row];
      const std::int64_t start = nanos(event.start);
      all.push_back(json::array({numbers_.at({event.processor, event.lane}), start, nanos(event.end) - start,
                                 names_.place_of(event.name), static_cast<int>(event.activity),
                                 event.micro_batch, std::llround(event.bytes), event.flow, event.block,
                                 row_of(event.after), event.on_path ? 1 : 0}));
    }
    return all;
  }

  int row_of(int event) const { return event < 0 ? -1 : row_of_.at(stands_for_[event]); }

  json folded() const {
    json all = json::array();
    for (const sim::FoldedTime& one : timeline_.folded) {
      const auto lane = numbers_.find({one.processor, one.lane});
      if (lane == numbers_.end()) continue;
      const std::int64_t start = nanos(one.start);
      all.push_back(json::array({lane->second, start, nanos(one.end) - start, one.iterations}));
    }
    return all;
  }

  json blocks() {
    json all = json::array();
    for (const sim::BlockReport& block : timeline_.blocks) {
      json ops = json::array();
      for (const sim::BlockOp& op : block.ops)
        ops.push_back(json::array({names_.place_of(op.name), std::llround(op.seconds * 1e12), op.flop}));
      all.push_back(std::move(ops));
    }
    return all;
  }

  json memory() {
    json all = json::array();
    for (std::size_t i = 0; i < timeline_.processors.size(); ++i) {
      all.push_back(memory_of(timeline_.processors[i]));
      all.back()["processor"] = i;
    }
    // Devices of a cut hold tensors of other names.
    return fold_equal(std::move(all), [](json one) {
      for (json& life : one["lives"]) life.erase(0);
      return one;
    });
  }

  json memory_of(const sim::ProcessorReport& processor) {
    json one{{"always", json::array()}, {"changes", json::array()}, {"lives", json::array()}};
    if (processor.memory_curve.empty()) return one;
    const sim::MemoryPoint* last = &processor.memory_curve.front();
    std::int64_t code = last->bytes;
    for (const std::int64_t held : last->held) {
      one["always"].push_back(held);
      code -= held;
    }
    one["always"].push_back(code);
    const std::size_t most = std::max(kFewestPoints, kMostPoints / timeline_.processors.size());
    const auto points = sim::thinned(processor.memory_curve, timeline_.makespan, most);
    for (const sim::MemoryPoint& point : points) {
      for (std::size_t i = 0; i < sim::kHoldings; ++i) {
        const std::int64_t change = point.held[i] - last->held[i];
        if (change != 0) one["changes"].push_back(json::array({nanos(point.time), i, change}));
      }
      last = &point;
    }
    for (const sim::TensorLife& life : processor.lives) {
      const auto inside = std::ranges::lower_bound(points, life.start, {}, &sim::MemoryPoint::time);
      if (inside == points.end() || inside->time >= life.end) continue;
      one["lives"].push_back(json::array({names_.place_of(life.name), static_cast<int>(life.holding),
                                          life.bytes, nanos(life.start), nanos(life.end)}));
    }
    return one;
  }

  const sim::Timeline& timeline_;
  Names names_;
  std::vector<SharedLane> lanes_;
  std::map<Place, std::size_t> numbers_;  ///< of the first of each shared lane
  std::vector<int> stands_for_;           ///< of each event, the event of the lane's first
  std::vector<int> rows_;                 ///< places of the events that are there
  std::map<int, int> row_of_;
};

std::string_view word_of(PageView view) {
  switch (view) {
    case PageView::Ops:
      return "ops";
    case PageView::Training:
      return "training";
    case PageView::Overview:
      break;
  }
  return "overview";
}

}  // namespace

json run_page_data(const RunReport& report, PageView view) {
  json data{{"kind", "run"}, {"view", word_of(view)}, {"report", folded_report(to_json(report))}};
  if (!report.timeline.events.empty()) data["timeline"] = TimelinePacker(report.timeline).pack();
  return data;
}

json comparison_page_data(const ComparedModel& model, const std::vector<ComparedStrategy>& strategies,
                          const std::string& verdict) {
  json report = comparison_json(model, strategies);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    json& strategy = report["strategies"][i];
    if (strategy.contains("run")) {
      strategy["run"] = folded_report(std::move(strategy["run"]));
      strategy["run"]["path"] = path_by_activity(strategy["run"]["path"]);
    }
    if (strategies[i].sketch) strategy["sketch"] = to_json(*strategies[i].sketch);
  }
  return {{"kind", "comparison"}, {"report", std::move(report)}, {"verdict", verdict}};
}

}  // namespace podium::report
