// A walked task becomes an event on each lane that it keeps busy, an exchange one for each sender and each of
// its receivers, tied by a flow. Remote transfers of several processors are called on each after the largest
// tensor of its own. What let an event start is found at the end, by the numbers of walked tasks; memory
// changes are noted beside and drawn by memory_curve.h.
#include "executor/sim/events.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace podium::sim {

namespace {

// "w", "w and 3 more": the largest of the tensors in slots of one processor.
std::string largest_on(const executor::Program& program, const std::vector<executor::Slot>& slots,
                       int processor) {
  const executor::Slot* largest = nullptr;
  int count = 0;
  for (const executor::Slot& slot : slots) {
    const executor::Buffer& buffer = program[slot.buffer];
    if (buffer.processor != processor) continue;
    ++count;
    if (largest == nullptr || slot_bytes(buffer) > slot_bytes(program[largest->buffer])) largest = &slot;
  }
  IR_CHECK(largest != nullptr, "nothing moves on ipu {}", processor);
  const std::string& name = name_of(program, *largest);
  return count == 1 ? name : fmt::format("{} and {} more", name, count - 1);
}

}  // namespace

std::string what_of(const executor::Program& program, const executor::Step& step, int processor) {
  if (const auto* compute = std::get_if<executor::Compute>(&step.action)) return name_of(program, *compute);
  if (const auto* load = std::get_if<executor::LoadFromHost>(&step.action))
    return program.inputs[load->input].name;
  if (const auto* store = std::get_if<executor::StoreToHost>(&step.action))
    return program.outputs[store->output].name;
  if (std::holds_alternative<executor::LoadRemote>(step.action))
    return largest_on(program, reads_of(step), processor);
  if (std::holds_alternative<executor::StoreRemote>(step.action))
    return largest_on(program, writes_of(step), processor);
  return name_of(program, writes_of(step).front());
}

namespace {

using executor::Program;
using executor::Slot;
using executor::Step;

constexpr std::size_t kMostEvents = 200'000;
// More than there are lanes, so that joining comes to an end.
constexpr std::size_t kFewEvents = 150'000;
constexpr std::size_t kMostChanges = 10'000'000;
constexpr double kNanosecond = 1e-9;

// By the number of a walked task, the place of its first event, or of the nearest one that it waited for,
// where it took no time.
std::vector<int> events_by_number(const std::vector<int>& first_events, const StartLog& log) {
  std::vector<int> places = first_events;
  for (std::int32_t number = 0; number < std::ssize(places); ++number) {
    const std::int32_t after = log.after(number);
    if (places[number] < 0 && after != kNobody) places[number] = places[after];
  }
  return places;
}

Lane lane_of(const executor::Buffer& buffer) {
  return buffer.memory == executor::Memory::IO ? Lane::Io : Lane::Compute;
}

}  // namespace

void Events::note(const Task& task, std::int64_t iteration, Span span, std::int32_t number) {
  if (events_.size() >= kMostEvents) make_room();
  const auto* compute = std::get_if<executor::Compute>(&task.step->action);
  const executor::BlockId block = compute == nullptr ? executor::BlockId() : compute->block;
  note_memory(block, live_.start(*task.step, iteration), span.start);
  note_memory(block, live_.end(*task.step), span.end);
  if (span.end == span.start) return;

  NotedEvent noted{.event = {.start = to_seconds(span.start), .end = to_seconds(span.end)},
                   .number = number,
                   .last_number = number,
                   .longest = to_seconds(span.end) - to_seconds(span.start)};
  Event& event = noted.event;
  event.activity = task.activity;
  event.micro_batch = task.step->micro_batch + task.step->micro_batch_stride * iteration;
  if (!task.transfers.empty()) return note_exchange(task.transfers, noted);
  if (compute != nullptr) event.block = block.index;
  for (const LaneUse& use : task.lanes) {
    event.name = what_of(program_, *task.step, use.processor);
    event.processor = use.processor;
    event.lane = use.lane;
    event.bytes = static_cast<double>(use.bytes);
    add(noted);
  }
}

void Events::add(NotedEvent noted) {
  const std::size_t lane =
      2 * static_cast<std::size_t>(noted.event.processor) + static_cast<std::size_t>(noted.event.lane);
  if (lane >= last_on_lane_.size()) last_on_lane_.resize(lane + 1, -1);
  int& last = last_on_lane_[lane];
  if (last >= 0 && joins(events_[last], noted)) return join(events_[last], noted);
  last = static_cast<int>(events_.size());
  events_.push_back(std::move(noted));
}

// Both are in one interval of a grid that all lanes share: lanes with the same times stay alike.
bool Events::joins(const NotedEvent& before, const NotedEvent& noted) const {
  return joined_below_ > 0 &&
         std::floor(before.event.start / joined_below_) == std::floor(noted.event.end / joined_below_);
}

// It keeps the name, the activity and the micro-batch of the longest. Lanes that are alike differ by less
// than a nanosecond, and shall choose alike.
void Events::join(NotedEvent& before, const NotedEvent& noted) {
  Event& event = before.event;
  for (const int flow : {event.flow, noted.event.flow}) {
    if (flow >= 0) broken_flows_.insert(flow);
  }
  if (noted.longest > before.longest + kNanosecond) {
    event.name = noted.event.name;
    event.activity = noted.event.activity;
    event.micro_batch = noted.event.micro_batch;
    before.longest = noted.longest;
  }
  event.end = noted.event.end;
  event.bytes += noted.event.bytes;
  event.flow = event.block = -1;
  before.last_number = noted.last_number;
  before.steps += noted.steps;
}

void Events::make_room() {
  if (joined_below_ == 0) joined_below_ = kNanosecond;
  while (events_.size() > kFewEvents) {
    joined_below_ *= 2;
    std::fill(last_on_lane_.begin(), last_on_lane_.end(), -1);
    for (NotedEvent& noted : std::exchange(events_, {})) add(std::move(noted));
  }
}

void Events::note_fold(int lane, Span span, std::int64_t iterations) {
  if (span.end == span.start) return;
  folded_.push_back({.start = to_seconds(span.start),
                     .end = to_seconds(span.end),
                     .processor = lane / 2,
                     .lane = static_cast<Lane>(lane % 2),
                     .iterations = iterations});
}

void Events::put_into(Timeline& timeline, const StartLog& log, Moment end) {
  put_events_into(timeline, log, end);
  timeline.joined_below = joined_below_;
  timeline.memory_cut = change_count_ >= kMostChanges;
  timeline.folded = folded_;
  draw_memory(program_, std::move(changes_), timeline);
}

void Events::put_events_into(Timeline& timeline, const StartLog& log, Moment end) const {
  std::vector<const NotedEvent*> order;
  order.reserve(events_.size());
  for (const NotedEvent& noted : events_) order.push_back(&noted);
  std::stable_sort(order.begin(), order.end(),
                   [](const NotedEvent* a, const NotedEvent* b) { return a->event.start < b->event.start; });
  std::vector<int> first_events(log.size(), -1);
  for (std::size_t i = order.size(); i-- > 0;) {
    for (const std::int32_t number : {order[i]->last_number, order[i]->number})
      first_events[number] = static_cast<int>(i);
  }
  std::vector<bool> on_path(log.size(), false);
  for (std::int32_t number = end.by; number != kNobody; number = log.after(number)) on_path[number] = true;
  const std::vector<int> places = events_by_number(first_events, log);
  for (const NotedEvent* noted : order) {
    Event& event = timeline.events.emplace_back(noted->event);
    if (noted->steps > 1) event.name += fmt::format(" and {} more", noted->steps - 1);
    if (broken_flows_.contains(event.flow)) event.flow = -1;
    const std::int32_t after = log.after(noted->number);
    event.after = after == kNobody ? -1 : places[after];
    event.on_path = on_path[noted->number] || on_path[noted->last_number];
  }
}

void Events::note_end(const Step& repeat, Ticks end) { note_memory({}, live_.end(repeat), end); }

void Events::note_memory(executor::BlockId block, std::span<const MemoryChange> all, Ticks time) {
  if (change_count_ >= kMostChanges) return;
  for (const MemoryChange& one : all) {
    if (one.bytes == 0) continue;
    changes_[one.processor].push_back({time, one, block});
    ++change_count_;
  }
}

// An event for each sender, and behind it one for each that receives from it.
void Events::note_exchange(std::span<const executor::Transfer> transfers, const NotedEvent& common) {
  using Place = std::pair<int, Lane>;
  std::map<Place, std::map<Place, Event>> of_sender;
  const auto place = [&](const Slot& slot) {
    const executor::Buffer& buffer = program_[slot.buffer];
    return Place(buffer.processor, lane_of(buffer));
  };
  for (const executor::Transfer& one : transfers) {
    Event& received = of_sender[place(one.from)].emplace(place(one.to), common.event).first->second;
    received.name += (received.name.empty() ? "" : ", ") + program_[one.to.buffer].name;
    received.bytes += static_cast<double>(slot_bytes(program_[one.to.buffer]));
  }
  for (const auto& [sender, receivers] : of_sender) {
    NotedEvent noted = common;
    Event& sent = noted.event;
    sent.flow = flows_++;
    std::tie(sent.processor, sent.lane) = sender;
    for (const auto& [receiver, received] : receivers) {
      sent.bytes += received.bytes;
      sent.name += (sent.name.empty() ? "" : ", ") + received.name;
    }
    add(noted);
    for (const auto& [receiver, received] : receivers) {
      NotedEvent got = common;
      got.event = received;
      got.event.flow = sent.flow;
      std::tie(got.event.processor, got.event.lane) = receiver;
      add(std::move(got));
    }
  }
}

}  // namespace podium::sim
