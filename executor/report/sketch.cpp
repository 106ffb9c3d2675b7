#include "executor/report/sketch.h"

#include <algorithm>
#include <array>

#include "executor/report/report.h"

namespace podium::report {
namespace {

constexpr std::size_t kMostLanes = 32;
constexpr std::size_t kIdlePlace = sim::kActivities;
constexpr std::size_t kFoldedPlace = sim::kActivities + 1;
using BinTimes = std::array<double, sim::kActivities + 2>;  ///< by activity, idle, folded

class LaneSketch {
 public:
  explicit LaneSketch(double bin_seconds) : bin_(bin_seconds), times_(kSketchBins) {}

  void add(double start, double end, std::size_t place) {
    for (int bin = bin_at(start); bin <= bin_at(end); ++bin) {
      const double inside = std::min(end, (bin + 1) * bin_) - std::max(start, bin * bin_);
      times_[static_cast<std::size_t>(bin)][place] += std::max(0.0, inside);
    }
  }
  std::string letters() {
    std::string text;
    for (BinTimes& bin : times_) {
      double busy = 0;
      for (const double seconds : bin) busy += seconds;
      bin[kIdlePlace] = bin_ - busy;
      const auto most = static_cast<std::size_t>(std::max_element(bin.begin(), bin.end()) - bin.begin());
      text += most == kIdlePlace ? '.' : most == kFoldedPlace ? '~' : static_cast<char>('a' + most);
    }
    return text;
  }

 private:
  int bin_at(double time) const { return std::clamp(static_cast<int>(time / bin_), 0, kSketchBins - 1); }

  double bin_;
  std::vector<BinTimes> times_;
};

std::vector<std::int64_t> most_in_bins(const std::vector<sim::MemoryPoint>& curve, double bin_seconds) {
  std::vector<std::int64_t> most(kSketchBins, 0);
  std::size_t next = 0;
  std::int64_t now = 0;
  for (int bin = 0; bin < kSketchBins; ++bin) {
    std::int64_t& largest = most[static_cast<std::size_t>(bin)];
    largest = now;
    for (; next < curve.size() && curve[next].time < (bin + 1) * bin_seconds; ++next) {
      now = curve[next].bytes;
      largest = std::max(largest, now);
    }
  }
  return most;
}

}  // namespace

Sketch sketch_of(const sim::Timeline& timeline) {
  Sketch sketch;
  if (timeline.makespan <= 0) return sketch;
  const double bin = timeline.makespan / kSketchBins;
  std::vector<LaneSketch> lanes(std::min(kMostLanes, timeline.processors.size()), LaneSketch(bin));
  const auto add = [&](int processor, sim::Lane lane, double start, double end, std::size_t place) {
    if (lane == sim::Lane::Compute && processor < std::ssize(lanes))
      lanes[static_cast<std::size_t>(processor)].add(start, end, place);
  };
  for (const sim::Event& event : timeline.events)
    add(event.processor, event.lane, event.start, event.end, static_cast<std::size_t>(event.activity));
  for (const sim::FoldedTime& one : timeline.folded)
    add(one.processor, one.lane, one.start, one.end, kFoldedPlace);
  for (LaneSketch& lane : lanes) sketch.lanes.push_back(lane.letters());
  if (!timeline.processors.empty())
    sketch.memory = most_in_bins(timeline.processors[fullest_processor(timeline)].memory_curve, bin);
  return sketch;
}

nlohmann::json to_json(const Sketch& sketch) { return {{"lanes", sketch.lanes}, {"memory", sketch.memory}}; }

}  // namespace podium::report
