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

std::int64_t excess(const sim::ProcessorReport& processor) {
  return processor.memory.peak - processor.memory.capacity;
}

std::string largest_tensors(const sim::ProcessorReport& processor) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostTensors, processor.largest.size()); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", processor.largest[i].name,
                        bytes(static_cast<double>(processor.largest[i].bytes)));
  }
  return text;
}

// By the part of memory that there is most of.
std::string advice(std::string_view part, int replicas) {
  static const std::map<std::string_view, std::string_view> kAdvice{
      {"weights", "more processors (--ipus), weights in streaming memory (--off-chip weights) or --precision float16"},
      {"activations", "a smaller micro-batch, --batch-serialize, more processors (--ipus) or --precision float16"},
      {"stashes", "--recompute pipeline, --off-chip activations or fewer stages"},
      {"streams", "fewer --io-tiles, or a smaller micro-batch"},
      {"optimizerState", "--off-chip optimizer"},
      {"accumulators", "--off-chip accumulators"},
      {"code", "more processors (--ipus): each then holds fewer ops"},
      {"exchangeCode", "fewer and larger exchanges: fewer stages or phases"}};
  std::string text(kAdvice.at(part));
  const bool can_shard = replicas > 1 && (part == "weights" || part == "optimizerState" || part == "accumulators");
  if (can_shard) text += ", or a share of it on each replica (--shard)";
  return text;
}

}  // namespace

std::string overflow(const RunReport& report) {
  const sim::Timeline& timeline = report.timeline;
  std::vector<std::size_t> over;
  for (std::size_t i = 0; i < timeline.processors.size(); ++i) {
    if (excess(timeline.processors[i]) > 0) over.push_back(i);
  }
  if (over.empty()) return "";
  std::stable_sort(over.begin(), over.end(), [&](std::size_t a, std::size_t b) {
    return excess(timeline.processors[a]) > excess(timeline.processors[b]);
  });
  std::vector<std::vector<std::string>> rows{{"processor", "needed", "there", "over by", "largest tensors"}};
  for (std::size_t i = 0; i < std::min(kMostProcessors, over.size()); ++i) {
    const sim::ProcessorReport& processor = timeline.processors[over[i]];
    rows.push_back({fmt::format("ipu {}", over[i]), bytes(static_cast<double>(processor.memory.peak)),
                    bytes(static_cast<double>(processor.memory.capacity)), bytes(static_cast<double>(excess(processor))),
                    largest_tensors(processor)});
  }
  std::string text = table(rows);
  if (over.size() > kMostProcessors) text += fmt::format("and {} processors more\n", over.size() - kMostProcessors);
  const auto parts = memory_parts(timeline.processors[over[0]].memory);
  const auto most = std::max_element(parts.begin(), parts.end(),
                                     [](const MemoryPart& a, const MemoryPart& b) { return a.bytes < b.bytes; });
  return text + fmt::format("{} does not fit {}: most of it is {}; what would help: {}\n", report.strategy,
                            report.device, most->words.text, advice(most->words.key, timeline.replicas));
}

}  // namespace podium::report
