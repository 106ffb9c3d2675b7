#include "executor/sim/events.h"

#include <algorithm>
#include <map>

namespace podium::sim {

// The name of the block, or of the tensor that moves.
std::string what_of(const executor::Program& program, const executor::Step& step) {
  if (const auto* compute = std::get_if<executor::Compute>(&step.action)) return name_of(program, *compute);
  if (const auto* load = std::get_if<executor::LoadFromHost>(&step.action))
    return program.inputs[load->input].name;
  if (const auto* store = std::get_if<executor::StoreToHost>(&step.action))
    return program.outputs[store->output].name;
  if (const auto* load = std::get_if<executor::LoadRemote>(&step.action))
    return name_of(program, load->transfer.from);
  return name_of(program, writes_of(step).front());
}

namespace {

using executor::Program;
using executor::Slot;
using executor::Step;

constexpr std::size_t kMostEvents = 200'000;

Lane lane_of(const executor::Buffer& buffer) {
  return buffer.memory == executor::Memory::IO ? Lane::Io : Lane::Compute;
}

}  // namespace

void Events::note(const Task& task, std::int64_t iteration, Span span) {
  if (events_.size() >= kMostEvents) cut_ = true;
  if (cut_) return;
  note_memory(live_.start(*task.step), span.start);
  note_memory(live_.end(*task.step), span.end);
  if (span.end == span.start) return;

  Event event{.start = to_seconds(span.start), .end = to_seconds(span.end), .activity = task.activity};
  event.micro_batch = task.step->micro_batch + task.step->micro_batch_stride * iteration;
  if (const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&task.step->action)) {
    return note_exchange(*copy, event);
  }
  event.name = what_of(program_, *task.step);
  for (const LaneUse& use : task.lanes) {
    event.processor = use.processor;
    event.lane = use.lane;
    event.bytes = static_cast<double>(use.bytes);
    events_.push_back(event);
  }
}

void Events::put_into(Timeline& timeline) const {
  timeline.events = events_;
  std::stable_sort(timeline.events.begin(), timeline.events.end(),
                   [](const Event& a, const Event& b) { return a.start < b.start; });
  timeline.events_cut = cut_;
  for (ProcessorReport& report : timeline.processors) report.memory_curve = {{0, report.memory.always_live}};
  std::vector<TimedChange> changes = changes_;
  std::stable_sort(changes.begin(), changes.end(),
                   [](const TimedChange& a, const TimedChange& b) { return a.time < b.time; });
  for (const TimedChange& change : changes) {
    std::vector<MemoryPoint>& curve = timeline.processors[change.processor].memory_curve;
    const MemoryPoint last = curve.back();
    if (last.time != to_seconds(change.time)) curve.push_back({to_seconds(change.time), last.bytes});
    curve.back().bytes += change.bytes;
  }
}

void Events::note_end(const Step& repeat, Ticks end) {
  if (!cut_) note_memory(live_.end(repeat), end);
}

void Events::note_memory(std::span<const MemoryChange> all, Ticks time) {
  for (const MemoryChange& one : all) {
    if (one.bytes != 0) changes_.push_back({time, one.processor, one.bytes});
  }
}

// An event for each sender, and behind it one for each that receives from it.
void Events::note_exchange(const executor::CopyBetweenProcessors& step, const Event& common) {
  using Place = std::pair<int, Lane>;
  std::map<Place, std::map<Place, Event>> of_sender;
  const auto place = [&](const Slot& slot) {
    const executor::Buffer& buffer = program_[slot.buffer];
    return Place(buffer.processor, lane_of(buffer));
  };
  for (const executor::Transfer& one : step.transfers) {
    Event& received = of_sender[place(one.from)].emplace(place(one.to), common).first->second;
    received.name += (received.name.empty() ? "" : ", ") + program_[one.to.buffer].name;
    received.bytes += static_cast<double>(slot_bytes(program_[one.to.buffer]));
  }
  for (const auto& [sender, receivers] : of_sender) {
    Event sent = common;
    sent.flow = flows_++;
    std::tie(sent.processor, sent.lane) = sender;
    for (const auto& [receiver, received] : receivers) {
      sent.bytes += received.bytes;
      sent.name += (sent.name.empty() ? "" : ", ") + received.name;
    }
    events_.push_back(sent);
    for (const auto& [receiver, received] : receivers) {
      events_.push_back(received);
      events_.back().flow = sent.flow;
      std::tie(events_.back().processor, events_.back().lane) = receiver;
    }
  }
}

}  // namespace podium::sim
