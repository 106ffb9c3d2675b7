// A slice is a pair of events, B and E, alike in name, category and arguments: each reader pairs them by
// others of these. Times are whole numbers of 1/1024 microsecond, a nanosecond or so, which doubles hold
// exactly: readers that subtract times and add the differences would else make of neighbours ones that
// overlap by a rounding error, and of the last op of a block one that ends after it. The file has track after
// track, a track in the order of time, so that each E closes the B before it that is still open. What lies on
// a track is first collected as a list of slices that follow one another: steps, folded iterations, and
// waits, which fill the gaps of compute lanes. Ops are slices inside a block's; where a block runs often,
// only in its first runs.
#include "executor/report/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "executor/report/event_names.h"
#include "executor/report/names.h"

namespace podium::report {
namespace {

constexpr std::int64_t kMostOpSlices = 400'000;

constexpr double kTicksAMicrosecond = 1024;

std::int64_t ticks(double seconds) { return std::llround(seconds * 1e6 * kTicksAMicrosecond); }

double microseconds(std::int64_t ticks) { return static_cast<double>(ticks) / kTicksAMicrosecond; }

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// What is said of a slice where it begins and again where it ends.
struct Caption {
  std::string name;
  std::string_view category;
  std::string arguments = {};  ///< "\"flop\":12"; may be empty
};

struct Track {
  int processor = 0;
  sim::Lane lane = sim::Lane::Compute;
  auto operator<=>(const Track&) const = default;
};

// What is drawn on a track.
struct Slice {
  std::int64_t start = 0;
  std::int64_t end = 0;
  const sim::Event* event = nullptr;  ///< absent of a fold and a wait
  const sim::FoldedTime* folded = nullptr;
  const sim::Event* waits_for = nullptr;  ///< of a wait: the event behind it
};

class TraceWriter {
 public:
  TraceWriter(const sim::Timeline& timeline, std::ostream& out)
      : timeline_(timeline), flows_(timeline), out_(out) {
    put("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    std::int64_t ops = 1;
    for (const sim::BlockReport& block : timeline.blocks) ops += std::ssize(block.ops);
    runs_with_ops_ = std::max<std::int64_t>(1, kMostOpSlices / ops);
  }

  void name_tracks(std::size_t processor);
  /// Slices of the same time, the first around the others.
  void slices(const Track& track, std::span<const Slice> same);
  void arrows();
  void memory(std::size_t processor, const sim::MemoryPoint& point);
  void finish(const TraceFacts& facts);

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    out_ << fmt::format(text, std::forward<Args>(args)...);
  }
  template <class... Args>
  void event(fmt::format_string<Args...> text, Args&&... args) {
    out_ << (is_first_ ? "\n" : ",\n");
    is_first_ = false;
    put(text, std::forward<Args>(args)...);
  }
  void edge(char kind, const Track& track, std::int64_t time, const Caption& caption);
  Caption begin_slice(const Track& track, const Slice& slice);
  Caption begin_step(const Track& track, const Slice& slice);
  void ops(const Track& track, const Slice& slice);
  void arrow(int id, const sim::Event& from, const sim::Event& to);
  std::string name_of_wait(const sim::Event* next) const;

  const sim::Timeline& timeline_;
  Flows flows_;
  std::ostream& out_;
  std::map<int, std::int64_t> runs_;  ///< of a block, that have been drawn
  std::int64_t runs_with_ops_ = 1;
  std::int64_t left_out_ops_ = 0;
  bool is_first_ = true;
};

void TraceWriter::name_tracks(std::size_t processor) {
  event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}})", processor,
        name_of(timeline_.kind, processor));
  event(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})", processor);
  for (const sim::Lane lane : {sim::Lane::Compute, sim::Lane::Io}) {
    event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", processor,
          static_cast<int>(lane), name_of(lane));
  }
}

std::string arguments_of(const Caption& caption) {
  return caption.arguments.empty() ? "" : fmt::format(R"(,"args":{{{}}})", caption.arguments);
}

void TraceWriter::edge(char kind, const Track& track, std::int64_t time, const Caption& caption) {
  event(R"({{"ph":"{}","name":{},"cat":"{}","pid":{},"tid":{},"ts":{}{}}})", kind, quoted(caption.name),
        caption.category, track.processor, static_cast<int>(track.lane), microseconds(time),
        arguments_of(caption));
}

void TraceWriter::slices(const Track& track, std::span<const Slice> same) {
  const Slice& slice = same.front();
  const Caption caption = begin_slice(track, slice);
  if (same.size() > 1) slices(track, same.subspan(1));
  edge('E', track, slice.end, caption);
}

// Gives the caption, with which the slice ends.
Caption TraceWriter::begin_slice(const Track& track, const Slice& slice) {
  if (slice.event != nullptr) return begin_step(track, slice);
  if (slice.folded == nullptr) {
    const Caption caption{name_of_wait(slice.waits_for), "wait"};
    edge('B', track, slice.start, caption);
    return caption;
  }
  const std::int64_t count = slice.folded->iterations;
  const Caption caption{fmt::format("{} iterations like those before", count), "folded",
                        fmt::format(R"("iterations":{})", count)};
  edge('B', track, slice.start, caption);
  return caption;
}

Caption TraceWriter::begin_step(const Track& track, const Slice& slice) {
  const sim::Event& event = *slice.event;
  Caption caption{label_of(timeline_, flows_, event), words_of(event.activity).key,
                  fmt::format(R"("microBatch":{},"bytes":{:.0f})", event.micro_batch, event.bytes)};
  if (event.on_path) caption.arguments += R"(,"onPath":true)";
  if (event.activity != sim::Activity::Compute) caption.arguments += R"(,"tensor":)" + quoted(event.name);
  edge('B', track, slice.start, caption);
  if (event.block >= 0 && event.block < std::ssize(timeline_.blocks)) ops(track, slice);
  return caption;
}

// What an op makes tells it from the one before it with the same name, such as the other half of a gradient:
// readers that tell slices by name and arguments would else make one of both.
std::string arguments_of_op(const sim::BlockOp& op) {
  std::string text = fmt::format(R"("type":{},"flop":{:.0f})", quoted(op.type), op.flop);
  if (!op.makes.empty()) text += R"(,"makes":)" + quoted(op.makes.back());
  return text;
}

// The ops' times sum up to the block's, and are rounded where they begin and end.
void TraceWriter::ops(const Track& track, const Slice& slice) {
  const std::vector<sim::BlockOp>& ops = timeline_.blocks[slice.event->block].ops;
  if (runs_[slice.event->block]++ >= runs_with_ops_) {
    left_out_ops_ += std::ssize(ops);
    return;
  }
  double time = slice.event->start;
  std::int64_t from = slice.start;
  for (const sim::BlockOp& op : ops) {
    time += op.seconds;
    const std::int64_t to = std::min(ticks(time), slice.end);
    if (to == from) continue;
    const Caption caption{op.name, "op", arguments_of_op(op)};
    edge('B', track, from, caption);
    edge('E', track, to, caption);
    from = to;
  }
}

std::string TraceWriter::name_of_wait(const sim::Event* next) const {
  if (next == nullptr) return "wait for the end of the step";
  if (next->after < 0) return "wait for the host's call";
  const sim::Event& awaited = timeline_.events[next->after];
  return fmt::format("wait for {}: {}", name_of(timeline_.kind, awaited.processor),
                     label_of(timeline_, flows_, awaited));
}

// The end of an arrow belongs to the slice around it, so it lies in its middle.
void TraceWriter::arrow(int id, const sim::Event& from, const sim::Event& to) {
  const std::int64_t start = ticks(from.start);
  const std::int64_t middle = (ticks(to.start) + ticks(to.end)) / 2;
  event(R"({{"ph":"s","name":"transfer","cat":"transfer","id":{},"pid":{},"tid":{},"ts":{}}})", id,
        from.processor, static_cast<int>(from.lane), microseconds(start));
  event(R"({{"ph":"f","bp":"e","name":"transfer","cat":"transfer","id":{},"pid":{},"tid":{},"ts":{}}})", id,
        to.processor, static_cast<int>(to.lane), microseconds(std::max(start, middle)));
}

// The first event of an exchange is its sender.
void TraceWriter::arrows() {
  int id = 0;
  for (const sim::Event& event : timeline_.events) {
    const std::vector<int>& flow = flows_.of(event);
    if (flow.empty() || &timeline_.events[flow.front()] == &event) continue;
    arrow(id++, timeline_.events[flow.front()], event);
  }
}

void TraceWriter::memory(std::size_t processor, const sim::MemoryPoint& point) {
  event(R"({{"ph":"C","name":"memory","pid":{},"ts":{},"args":{{"bytes":{}}}}})", processor,
        microseconds(ticks(point.time)), point.bytes);
}

void TraceWriter::finish(const TraceFacts& facts) {
  put("\n],\"otherData\":{{\"program\":{},\"model\":{},\"strategy\":{},\"device\":{},\"replicas\":\"{}\"",
      quoted(facts.program), quoted(facts.model), quoted(facts.strategy), quoted(facts.device),
      timeline_.replicas);
  put(",\"stepMicroseconds\":\"{:.3f}\"", microseconds(ticks(timeline_.makespan)));
  if (timeline_.folded_iterations > 0) {
    put(",\"folded\":\"{} iterations that repeat others are drawn as one slice a lane\"",
        timeline_.folded_iterations);
  }
  if (left_out_ops_ > 0) put(",\"opsLeftOut\":\"{} ops of later runs of the same blocks\"", left_out_ops_);
  if (timeline_.joined_below > 0) {
    put(",\"eventsJoined\":\"steps of a processor that together take less than {:g} us are one slice\"",
        timeline_.joined_below * 1e6);
  }
  if (timeline_.memory_cut) put(",\"memoryLeftOut\":\"the later part of the step\"");
  put("}}}}\n");
}

std::map<Track, std::vector<Slice>> slices_by_track(const sim::Timeline& timeline) {
  std::map<Track, std::vector<Slice>> tracks;
  for (const sim::Event& event : timeline.events) {
    tracks[{event.processor, event.lane}].push_back(
        {.start = ticks(event.start), .end = ticks(event.end), .event = &event});
  }
  for (const sim::FoldedTime& folded : timeline.folded) {
    tracks[{folded.processor, folded.lane}].push_back(
        {.start = ticks(folded.start), .end = ticks(folded.end), .folded = &folded});
  }
  for (auto& [track, slices] : tracks) {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const Slice& a, const Slice& b) { return a.start < b.start; });
  }
  return tracks;
}

// With the waits between them.
std::vector<Slice> with_waits(const std::vector<Slice>& slices, const sim::Timeline& timeline) {
  std::vector<Slice> all;
  std::int64_t now = 0;
  for (const Slice& slice : slices) {
    if (slice.start > now && slice.event != nullptr)
      all.push_back({.start = now, .end = slice.start, .waits_for = slice.event});
    all.push_back(slice);
    now = std::max(now, slice.end);
  }
  const std::int64_t end = ticks(timeline.makespan);
  if (end > now) all.push_back({.start = now, .end = end});
  return all;
}

// A processor that sends and receives in one exchange has several slices of the same time.
void write_track(const Track& track, const std::vector<Slice>& slices, TraceWriter& writer) {
  for (std::size_t i = 0; i < slices.size();) {
    std::size_t end = i + 1;
    while (end < slices.size() && slices[end].start == slices[i].start && slices[end].end == slices[i].end)
      ++end;
    if (slices[i].end > slices[i].start) writer.slices(track, std::span(slices).subspan(i, end - i));
    i = end;
  }
}

}  // namespace

void write_trace(const TraceFacts& facts, const sim::Timeline& timeline, std::ostream& out) {
  TraceWriter writer(timeline, out);
  for (std::size_t i = 0; i < timeline.processors.size(); ++i) writer.name_tracks(i);
  for (const auto& [track, slices] : slices_by_track(timeline)) {
    const bool waits = track.lane == sim::Lane::Compute;
    write_track(track, waits ? with_waits(slices, timeline) : slices, writer);
  }
  writer.arrows();
  for (std::size_t i = 0; i < timeline.processors.size(); ++i) {
    for (const sim::MemoryPoint& point : timeline.processors[i].memory_curve) writer.memory(i, point);
  }
  writer.finish(facts);
}

}  // namespace podium::report
