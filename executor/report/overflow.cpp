#include "executor/report/overflow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "executor/report/names.h"
#include "executor/report/table.h"

namespace podium::report {
namespace {

constexpr std::size_t kMostProcessors = 16;
constexpr std::size_t kMostTensors = 3;

// A memory that is too small.
struct Shortage {
  std::string name;  ///< "ipu 3", "ipu 3, streaming memory"
  std::int64_t needed = 0;
  std::int64_t there = 0;
  std::string tensors = {};
  std::string advice = {};
};

std::string largest_tensors(const sim::ProcessorReport& processor) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostTensors, processor.largest.size()); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", processor.largest[i].name,
                        bytes(static_cast<double>(processor.largest[i].bytes)));
  }
  return text;
}

// Even, and of which four hold no more weights than a processor has room for.
int phases_for(const sim::Timeline& timeline) {
  double weights = 0;
  for (const sim::ProcessorReport& processor : timeline.processors)
    weights += static_cast<double>(processor.memory.weights);
  const double room = std::max(1.0, static_cast<double>(timeline.processors[0].memory.capacity));
  return std::max(4, 2 * static_cast<int>(std::ceil(2 * weights / room)));
}

struct Advice {
  std::string what;                ///< flags as they can be typed behind those that were given
  std::string_view location = {};  ///< the option that puts such tensors off chip, where that is the advice
  std::string_view shard = {};     ///< the word for them behind --shard
};

std::map<std::string_view, Advice> all_advice(const sim::Timeline& timeline) {
  const int processors = static_cast<int>(timeline.processors.size()) * timeline.replicas;
  const std::string more = fmt::format("more processors (--ipus {})", 2 * processors);
  const std::string fewer = processors > 2 ? fmt::format(" or fewer stages (--ipus {})", processors / 2) : "";
  return {
      {"weights",
       {fmt::format("{}, phases with weights in streaming memory (--virtual-graph-mode execution-phases "
                    "--phases {} --off-chip weights) or --precision float16",
                    more, phases_for(timeline)),
        "weightTensorLocationSettings", "weights"}},
      {"activations",
       {fmt::format("a smaller micro-batch, slices of it (--batch-serialize 2), {} or --precision float16",
                    more)}},
      {"stashes", {"--recompute pipeline" + fewer}},
      {"streams", {"fewer tiles for input and output (--io-tiles 32), or a smaller micro-batch"}},
      {"optimizerState", {"--off-chip optimizer", "optimizerStateTensorLocationSettings", "optimizer"}},
      {"accumulators", {"--off-chip accumulators", "accumulatorTensorLocationSettings", "accumulators"}},
      {"copies", {"a smaller micro-batch, or " + more}},
      {"code", {fmt::format("{}: each then holds fewer ops", more)}},
      {"exchangeCode", {"fewer and larger exchanges: fewer stages or phases"}}};
}

bool is_off_chip(const nlohmann::json& options, std::string_view location) {
  const auto settings = options.find(location);
  return settings != options.end() && settings->contains("location") &&
         settings->at("location").value("storage", "") == "OffChip";
}

std::string advice(const sim::MemoryUse& memory, const RunReport& report) {
  const auto parts = memory_parts(memory);
  const Words most =
      std::max_element(parts.begin(), parts.end(), [](const MemoryPart& a, const MemoryPart& b) {
        return a.bytes < b.bytes;
      })->words;
  const std::map<std::string_view, Advice> known = all_advice(report.timeline);
  const Advice& found = known.at(most.key);
  if (is_off_chip(report.options, found.location)) {
    return fmt::format(
        "most of it is {}, off chip already and here while a step uses it; what would help: more processors "
        "(--ipus {}), --precision float16, or replicas with a share of it each (--replicas 2 --shard {})",
        most.text, 2 * report.timeline.processors.size() * report.timeline.replicas, found.shard);
  }
  std::string text = fmt::format("most of it is {}; what would help: {}", most.text, found.what);
  if (report.timeline.replicas > 1 && !found.shard.empty())
    text += fmt::format(", or a share of it on each replica (--shard {})", found.shard);
  return text;
}

// The worst first.
std::vector<Shortage> shortages(const RunReport& report) {
  const sim::Timeline& timeline = report.timeline;
  std::vector<Shortage> found;
  for (std::size_t i = 0; i < timeline.processors.size(); ++i) {
    const sim::ProcessorReport& processor = timeline.processors[i];
    const sim::MemoryUse& memory = processor.memory;
    if (memory.peak > memory.capacity) {
      found.push_back({name_of(timeline.kind, i), memory.peak, memory.capacity, largest_tensors(processor),
                       advice(memory, report)});
    }
    if (memory.streaming > memory.streaming_capacity) {
      found.push_back(
          {name_of(timeline.kind, i) + ", streaming memory", memory.streaming, memory.streaming_capacity, "",
           fmt::format("what would help: more processors (--ipus {}), or with replicas --shard weights",
                       2 * timeline.processors.size() * static_cast<std::size_t>(timeline.replicas))});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Shortage& a, const Shortage& b) {
    return a.needed - a.there > b.needed - b.there;
  });
  return found;
}

}  // namespace

std::string overflow(const RunReport& report) {
  const std::vector<Shortage> found = shortages(report);
  if (found.empty()) return "";
  const auto as_bytes = [](std::int64_t count) { return bytes(static_cast<double>(count)); };
  std::vector<std::vector<std::string>> rows{{"processor", "needed", "there", "over by", "largest tensors"}};
  for (std::size_t i = 0; i < std::min(kMostProcessors, found.size()); ++i) {
    const Shortage& shortage = found[i];
    rows.push_back({shortage.name, as_bytes(shortage.needed), as_bytes(shortage.there),
                    as_bytes(shortage.needed - shortage.there), shortage.tensors});
  }
  std::string text = table(rows);
  if (found.size() > kMostProcessors)
    text += fmt::format("and {} processors more\n", found.size() - kMostProcessors);
  return text + fmt::format("{} does not fit {}: {} needs {} of {}, {}\n", report.strategy, report.device,
                            found[0].name, as_bytes(found[0].needed), as_bytes(found[0].there),
                            found[0].advice);
}

}  // namespace podium::report
