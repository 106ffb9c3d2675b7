#include "executor/report/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <tuple>

#include "executor/report/names.h"

namespace podium::report {
namespace {

// Nanoseconds, so that an event that starts where another ends does so in the file too: tracks must nest.
std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::string microseconds(std::int64_t nanos) { return fmt::format("{}.{:03}", nanos / 1000, nanos % 1000); }

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

class TraceWriter {
 public:
  explicit TraceWriter(std::ostream& out) : out_(out) {
    put("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  }

  void name_tracks(std::size_t processor);
  void slice(const sim::Event& event);
  void arrow(int id, const sim::Event& from, const sim::Event& to);
  void memory(std::size_t processor, const sim::MemoryPoint& point);
  void finish() { put("\n]}}\n"); }

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

  std::ostream& out_;
  bool is_first_ = true;
};

void TraceWriter::name_tracks(std::size_t processor) {
  event(R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"ipu {0}"}}}})", processor);
  event(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})", processor);
  for (const sim::Lane lane : {sim::Lane::Compute, sim::Lane::Io}) {
    event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", processor,
          static_cast<int>(lane), name_of(lane));
  }
}

void TraceWriter::slice(const sim::Event& slice) {
  const std::int64_t start = nanoseconds(slice.start);
  event(
      R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"microBatch":{},"bytes":{:.0f}}}}})",
      quoted(slice.name), words_of(slice.activity).key, slice.processor, static_cast<int>(slice.lane),
      microseconds(start), microseconds(nanoseconds(slice.end) - start), slice.micro_batch, slice.bytes);
}

// The end of an arrow belongs to the slice around it, so it lies in its middle.
void TraceWriter::arrow(int id, const sim::Event& from, const sim::Event& to) {
  const std::int64_t start = nanoseconds(from.start);
  const std::int64_t middle = (nanoseconds(to.start) + nanoseconds(to.end)) / 2;
  event(R"({{"ph":"s","name":"transfer","cat":"transfer","id":{},"pid":{},"tid":{},"ts":{}}})", id,
        from.processor, static_cast<int>(from.lane), microseconds(start));
  event(R"({{"ph":"f","bp":"e","name":"transfer","cat":"transfer","id":{},"pid":{},"tid":{},"ts":{}}})", id,
        to.processor, static_cast<int>(to.lane), microseconds(std::max(start, middle)));
}

void TraceWriter::memory(std::size_t processor, const sim::MemoryPoint& point) {
  event(R"({{"ph":"C","name":"memory","pid":{},"ts":{},"args":{{"bytes":{}}}}})", processor,
        microseconds(nanoseconds(point.time)), point.bytes);
}

// Events by track and time. Of two that start together the longer comes first, so that it contains the other.
std::vector<const sim::Event*> in_order_of_tracks(const std::vector<sim::Event>& events) {
  std::vector<const sim::Event*> order;
  order.reserve(events.size());
  for (const sim::Event& event : events) order.push_back(&event);
  const auto key = [](const sim::Event& event) {
    return std::tuple(event.processor, event.lane, event.start, -event.end);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const sim::Event* a, const sim::Event* b) { return key(*a) < key(*b); });
  return order;
}

// The first event of an exchange is its sender.
void write_arrows(const std::vector<sim::Event>& events, TraceWriter& writer) {
  std::map<int, const sim::Event*> senders;
  int id = 0;
  for (const sim::Event& event : events) {
    if (event.flow < 0) continue;
    const auto [sender, is_sender] = senders.emplace(event.flow, &event);
    if (!is_sender) writer.arrow(id++, *sender->second, event);
  }
}

}  // namespace

void write_trace(const sim::Timeline& timeline, std::ostream& out) {
  TraceWriter writer(out);
  for (std::size_t i = 0; i < timeline.processors.size(); ++i) writer.name_tracks(i);
  for (const sim::Event* event : in_order_of_tracks(timeline.events)) writer.slice(*event);
  write_arrows(timeline.events, writer);
  for (std::size_t i = 0; i < timeline.processors.size(); ++i) {
    for (const sim::MemoryPoint& point : timeline.processors[i].memory_curve) writer.memory(i, point);
  }
  writer.finish();
}

}  // namespace podium::report
