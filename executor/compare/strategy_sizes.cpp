#include "executor/compare/strategy_sizes.h"

#include <algorithm>

namespace podium::compare {
namespace {

constexpr int kBatchesAProcessor = 4;
constexpr int kMostPipelines = 4;
constexpr int kLongPipeline = 256;
constexpr int kLeastPhases = 4;
constexpr int kFewestIoTiles = 32;
constexpr int kIoShare = 16;  // one tile in so many for input and output

}  // namespace

int micro_batches_of_step(const Request& request) {
  return request.micro_batches > 0 ? request.micro_batches : kBatchesAProcessor * request.processors;
}

int phases_that_fit(const Request& request) {
  const std::int64_t memory = std::max<std::int64_t>(request.memory_bytes, 1);
  const std::int64_t wanted = (kLeastPhases * request.weight_bytes + memory - 1) / memory;
  const std::int64_t most = std::max(request.ops, 2);
  return std::min(std::max<std::int64_t>(wanted, kLeastPhases), most) / 2 * 2;
}

int sensible_io_tiles(const Request& request) {
  return std::max(kFewestIoTiles, request.tiles / kIoShare / 2 * 2);
}

bool has_io_tiles(const Request& request) { return request.kind == device::ProcessorKind::Ipu; }

bool has_streaming_memory(const Request& request) { return request.has_streaming_memory; }

bool have_room(const Request& request, int processors) {
  return request.weight_bytes < processors * request.memory_bytes;
}

bool is_long_pipeline(int length) { return length > kLongPipeline; }

std::vector<int> shorter_pipelines(const Request& request) {
  std::vector<int> lengths;
  for (int length = request.processors; length % 2 == 0 && length > 2;) {
    length /= 2;
    if (length > request.ops) continue;
    const bool is_too_long = request.task == Task::Training && is_long_pipeline(length);
    if (is_too_long && have_room(request, length / 2)) continue;
    if (!have_room(request, length) && !lengths.empty()) break;
    lengths.push_back(length);
    if (lengths.size() == kMostPipelines) break;
  }
  return lengths;
}

}  // namespace podium::compare
