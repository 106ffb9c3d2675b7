#include "executor/report/overflow.h"

#include <fmt/core.h>

#include <algorithm>
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

struct Advice {
  std::string_view what;
  std::string_view location = {};  ///< the option that puts such tensors off chip, where that is the advice
};

const std::map<std::string_view, Advice>& all_advice() {
  static const std::map<std::string_view, Advice> kAdvice{
      {"weights",
       {"more processors (--ipus), phases with weights in streaming memory (--virtual-graph-mode "
        "execution-phases "
        "--phases N --off-chip weights) or --precision float16",
        "weightTensorLocationSettings"}},
      {"activations",
       {"a smaller micro-batch, --batch-serialize, more processors (--ipus) or --precision float16"}},
      {"stashes", {"--recompute pipeline, --off-chip activations or fewer stages"}},
      {"streams", {"fewer --io-tiles, or a smaller micro-batch"}},
      {"optimizerState", {"--off-chip optimizer", "optimizerStateTensorLocationSettings"}},
      {"accumulators", {"--off-chip accumulators", "accumulatorTensorLocationSettings"}},
      {"copies", {"a smaller micro-batch, or more processors (--ipus)"}},
      {"code", {"more processors (--ipus): each then holds fewer ops"}},
      {"exchangeCode", {"fewer and larger exchanges: fewer stages or phases"}}};
  return kAdvice;
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
  const Advice& found = all_advice().at(most.key);
  if (is_off_chip(report.options, found.location)) {
    return fmt::format(
        "most of it is {}, off chip already and here while a step uses it; what would help: more processors "
        "(--ipus), --precision float16, or replicas with a share of it each (--replicas N --shard)",
        most.text);
  }
  std::string text = fmt::format("most of it is {}; what would help: {}", most.text, found.what);
  const bool can_shard =
      report.timeline.replicas > 1 &&
      (most.key == "weights" || most.key == "optimizerState" || most.key == "accumulators");
  if (can_shard) text += ", or a share of it on each replica (--shard)";
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
      found.push_back({fmt::format("ipu {}", i), memory.peak, memory.capacity, largest_tensors(processor),
                       advice(memory, report)});
    }
    if (memory.streaming > memory.streaming_capacity) {
      found.push_back({fmt::format("ipu {}, streaming memory", i), memory.streaming,
                       memory.streaming_capacity, "",
                       "what would help: more processors (--ipus), or with replicas --shard weights"});
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
