// Each item of a loop's body is reduced to what it touches (lanes, barriers, links, buffers, outputs). Items
// that share a resource that couples them (a barrier that somebody holds, a buffer that somebody writes) are
// joined by a union of sets; each set is a part. An inner loop touches all that its items touch, with its
// slots at rest, since it starts again at its iteration 0. Of a buffer that holds a slot for each of a
// thousand micro-batches and layers, a loop's ring is the stretch of slots that the loop comes to.
#include "executor/sim/loop_parts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "ir/disjoint_sets.h"

namespace podium::sim {
namespace {

// The slots from the first to the last that uses of a buffer come to, as indices of the whole ring.
struct Reach {
  std::int64_t first = 0;
  std::int64_t last = 0;

  bool is_within(int slots) const { return first >= 0 && last < slots; }
};

struct BufferTouch {
  Ring ring = {};                ///< all of the buffer
  Reach reach = {};              ///< in iteration 0
  std::vector<int> starts = {};  ///< where uses are in iteration 0; none where strides differ
  bool written = false;
};

Reach reach_of(const BufferTouch& touch, std::int64_t count) {
  const std::int64_t way = touch.ring.stride * (count - 1);
  const Reach reach{touch.reach.first + std::min<std::int64_t>(way, 0),
                    touch.reach.last + std::max<std::int64_t>(way, 0)};
  return reach.is_within(touch.ring.slots) ? reach : Reach{0, touch.ring.slots - 1};
}

std::vector<int> each_once(std::vector<int> all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Ring ring_of(const BufferTouch& touch, std::int64_t count) {
  const Reach reach = reach_of(touch, count);
  Ring ring = touch.ring;
  ring.first += static_cast<int>(reach.first);
  for (int start : each_once(touch.starts)) ring.starts.push_back(start - static_cast<int>(reach.first));
  ring.slots = static_cast<int>(reach.last - reach.first + 1);
  return ring;
}

void append(std::vector<int>& all, const std::vector<int>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// All that some items hold, read and write; lanes, links and outputs as often as they do.
struct Touch {
  std::vector<int> lanes = {};
  std::vector<int> passing = {};
  BarrierSet barriers = 0;
  std::vector<int> links = {};
  std::map<executor::BufferId, BufferTouch> buffers = {};
  std::vector<int> outputs = {};

  void add(executor::BufferId buffer, const BufferTouch& touch) {
    const auto [entry, is_new] = buffers.emplace(buffer, touch);
    if (is_new) return;
    entry->second.written |= touch.written;
    Ring& ring = entry->second.ring;
    Reach& reach = entry->second.reach;
    ring.turn = std::max(ring.turn, touch.ring.turn);
    reach = {std::min(reach.first, touch.reach.first), std::max(reach.last, touch.reach.last)};
    append(entry->second.starts, touch.starts);
    if (ring.stride == touch.ring.stride) return;
    ring.stride = 0;
    ring.turn = ring.slots;
    reach = {0, ring.slots - 1};
    entry->second.starts.clear();
  }
  void add(const SlotUse& use, bool writes) {
    add(use.buffer, {.ring = {.first = use.first, .slots = use.slots, .stride = use.stride % use.slots},
                     .reach = {use.index, use.index},
                     .starts = {use.index},
                     .written = writes});
  }
  void add(const Task& task) {
    for (const LaneUse& use : task.lanes) {
      if (use.is_held) {
        lanes.push_back(use.number());
      } else {
        passing.push_back(use.processor);
      }
    }
    barriers |= task.barriers;
    for (const LinkHold& link : task.links) links.push_back(link.link);
    for (const SlotUse& use : task.reads) add(use, false);
    for (const SlotUse& use : task.writes) add(use, true);
    if (task.output >= 0) outputs.push_back(task.output);
  }
  void add(const Touch& other) {
    append(lanes, other.lanes);
    append(passing, other.passing);
    barriers |= other.barriers;
    append(links, other.links);
    append(outputs, other.outputs);
    for (const auto& [buffer, touch] : other.buffers) add(buffer, touch);
  }
};

// An inner loop starts again at its iteration 0, so that to the loop around it its slots stand still.
Touch touch_of(const Tasks& tasks, const Item& item) {
  Touch touch;
  if (item.task >= 0) {
    touch.add(tasks.tasks[item.task]);
    return touch;
  }
  const Loop& loop = tasks.loops[item.loop];
  for (const LoopPart& part : loop.parts) {
    for (const Item& inner : part.items) touch.add(touch_of(tasks, inner));
  }
  touch.lanes = each_once(std::move(touch.lanes));
  touch.passing = each_once(std::move(touch.passing));
  touch.links = each_once(std::move(touch.links));
  for (auto& [buffer, inner] : touch.buffers) {
    inner.reach = reach_of(inner, loop.count);
    inner.ring.stride = 0;
    inner.ring.turn = 1;
    inner.starts.clear();
  }
  return touch;
}

enum class Resource : std::uint8_t { Lane, Barrier, Link, Buffer, Output };

int barrier_of_lane(int lane) { return lane % kBarriers; }

// The resources that couple the items of a body: barriers that an item holds, buffers that an item writes.
struct Couplings {
  BarrierSet barriers = 0;
  std::set<executor::BufferId> written = {};

  void add(const Touch& touch) {
    barriers |= touch.barriers;
    for (const auto& [buffer, one] : touch.buffers) {
      if (one.written) written.insert(buffer);
    }
  }
};

// Calls `use` for every resource of an item that couples it with others.
void for_each_resource(const Touch& touch, const Couplings& all,
                       const std::function<void(Resource, int)>& use) {
  for (int lane : touch.lanes) {
    use(Resource::Lane, lane);
    const int barrier = barrier_of_lane(lane);
    if ((all.barriers >> barrier & 1) != 0) use(Resource::Barrier, barrier);
  }
  for (int barrier = 0; barrier < kBarriers; ++barrier) {
    if ((touch.barriers >> barrier & 1) != 0) use(Resource::Barrier, barrier);
  }
  for (int link : touch.links) use(Resource::Link, link);
  for (const auto& [buffer, unused] : touch.buffers) {
    if (all.written.contains(buffer)) use(Resource::Buffer, buffer.number());
  }
  for (int output : touch.outputs) use(Resource::Output, output);
}

LoopPart part_of(const Touch& touch, std::int64_t count) {
  LoopPart part;
  part.lanes = each_once(touch.lanes);
  part.passing = each_once(touch.passing);
  part.processors = part.passing;
  for (int lane : part.lanes) part.processors.push_back(lane / 2);
  part.processors = each_once(std::move(part.processors));
  part.barriers = touch.barriers;
  part.links = each_once(touch.links);
  part.outputs = each_once(touch.outputs);
  for (const auto& [buffer, one] : touch.buffers) {
    part.rings.push_back(ring_of(one, count));
    part.slots += part.rings.back().slots;
  }
  return part;
}

}  // namespace

std::vector<LoopPart> parts_of(const Tasks& tasks, const std::vector<Item>& items, std::int64_t count) {
  std::vector<Touch> touches;
  Couplings all;
  for (const Item& item : items) all.add(touches.emplace_back(touch_of(tasks, item)));

  ir::DisjointSets groups(items.size());  // connected by what they touch
  std::map<std::pair<Resource, int>, std::size_t> first_user;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for_each_resource(touches[i], all, [&](Resource kind, int which) {
      groups.join(first_user.emplace(std::pair(kind, which), i).first->second, i);
    });
  }

  std::map<std::size_t, std::pair<Touch, std::vector<Item>>> members;
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto& [touch, inside] = members[groups.find(i)];
    touch.add(touches[i]);
    inside.push_back(items[i]);
  }
  std::vector<LoopPart> parts;
  for (auto& [first, member] : members) {
    parts.push_back(part_of(member.first, count));
    parts.back().items = std::move(member.second);
  }
  return parts;
}

}  // namespace podium::sim
