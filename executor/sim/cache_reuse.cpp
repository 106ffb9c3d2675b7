// Distances of reuse, as a cache that drops what was touched longest ago has them: how many bytes have been
// touched since the last touch of a value, all repetitions counted again. Two rounds over the kernels give
// what a round finds of the one before it.
#include "executor/sim/cache_reuse.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "ir/id_map.h"
#include "ir/type.h"

namespace podium::sim {
namespace {

using ir::ValueId;

struct Traffic {
  std::set<ValueId> loaded = {};
  std::set<ValueId> stored = {};
  std::set<ValueId> overwriting = {};  ///< stored where something that is loaded was: new weights
};

// Each new state of an update lies where an old one of its type was, which the update has read.
void note_overwriting(const ir::Graph& graph, const ir::IdMap<ValueId, bool>& crosses, Traffic& touched) {
  std::vector<ValueId> states;
  std::ranges::copy_if(touched.loaded, std::back_inserter(states), [&](ValueId id) { return crosses[id]; });
  for (ValueId id : touched.stored) {
    if (!crosses[id]) continue;
    const auto former =
        std::ranges::find_if(states, [&](ValueId state) { return graph[state].type == graph[id].type; });
    if (former == states.end()) continue;
    touched.overwriting.insert(id);
    states.erase(former);
  }
}

// What stays inside of a kernel is touched by nobody.
std::vector<Traffic> traffic_of(const ir::Graph& graph, const std::vector<DeviceKernel>& kernels) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  ir::IdMap<ValueId, std::size_t> maker;
  maker.resize(std::ssize(graph.values), kNone);
  std::vector<Traffic> touched(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const ir::Op* op : kernels[i]) {
      for (ValueId id : outputs_of(*op)) maker[id] = i;
    }
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const ir::Op* op : kernels[i]) {
      for (ValueId id : inputs_of(*op)) {
        if (maker[id] == i) continue;
        touched[i].loaded.insert(id);
        if (maker[id] != kNone) touched[maker[id]].stored.insert(id);
      }
    }
  }
  for (ValueId id : graph.outputs) {
    if (maker[id] != kNone) touched[maker[id]].stored.insert(id);
  }
  ir::IdMap<ValueId, bool> crosses(std::ssize(graph.values), false);
  for (ValueId id : graph.inputs) crosses[id] = true;
  for (ValueId id : graph.outputs) crosses[id] = true;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (is_update(kernels[i])) note_overwriting(graph, crosses, touched[i]);
  }
  return touched;
}

// The bytes that had been touched when a value was; of a result that has come from memory, its kernel.
struct LastTouch {
  std::int64_t at = -1;
  std::optional<std::size_t> stored_by = {};
};

}  // namespace

std::vector<std::int64_t> cached_bytes(const ir::Graph& graph, const std::vector<DeviceKernel>& kernels,
                                       std::int64_t cache_bytes, const std::set<ValueId>& kept) {
  const std::vector<Traffic> traffic = traffic_of(graph, kernels);
  ir::IdMap<ValueId, LastTouch> last;
  last.resize(std::ssize(graph.values));
  std::vector<std::int64_t> cached;
  std::int64_t now = 0;
  for (int round = 0; round < 2; ++round) {
    cached.assign(kernels.size(), 0);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::int64_t before = now;
      const auto is_found = [&](const LastTouch& touch) {
        return touch.at >= 0 && before - touch.at <= cache_bytes;
      };
      for (ValueId id : traffic[i].loaded) {
        const std::int64_t bytes = ir::packed_bytes(graph[id].type);
        if (kept.contains(id)) {
          cached[i] += bytes;
          continue;
        }
        LastTouch& touch = last[id];
        now += bytes;
        if (is_found(touch)) {
          cached[i] += bytes;
          if (touch.stored_by) cached[*touch.stored_by] += bytes;
        }
        touch = {.at = before};
      }
      for (ValueId id : traffic[i].stored) {
        const std::int64_t bytes = ir::packed_bytes(graph[id].type);
        if (traffic[i].overwriting.contains(id) || kept.contains(id)) {
          cached[i] += bytes;
          continue;
        }
        const bool was_there = is_found(last[id]);
        if (was_there) cached[i] += bytes;
        last[id] = {.at = before, .stored_by = was_there ? std::nullopt : std::optional(i)};
        now += bytes;
      }
    }
  }
  return cached;
}

}  // namespace podium::sim
