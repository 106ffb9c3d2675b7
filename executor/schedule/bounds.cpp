// Of each processor, with its m micro-batches, the bounds are
//
//   work      its first forward pass cannot start earlier than the way there; then comes all of its work, and
//   of
//             whole backward passes the rest of the last one's way
//   path      the same with input gradients alone, then the way back to the first chunk and its weight
//   gradient room      before its first way back only so many forward passes fit; all else comes behind that
//   waiting   (Little's law) the sum over micro-batches of the time for which each takes room is at most room
//             times makespan
//
// The largest of all is the bound.
#include "executor/schedule/bounds.h"

#include <algorithm>
#include <cmath>

namespace podium::schedule {
namespace {

// Times along the way through a copy of the model.
class Ways {
 public:
  Ways(const Layout& layout, Backward backward, const Times& times)
      : layout_(layout), backward_(backward), times_(times) {}

  double there(int chunk) const { return times_.of_chunk[chunk].forward; }
  double weights(int chunk) const { return times_.of_chunk[chunk].weight_gradient; }
  /// What has to end before the chunk in front can go on.
  double back(int chunk) const {
    const ChunkTimes& of = times_.of_chunk[chunk];
    return of.input_gradient + (backward_ == Backward::Whole ? of.weight_gradient : 0);
  }
  double hop(int chunk, int other) const {
    return layout_.processor_of[chunk] == layout_.processor_of[other] ? 0 : times_.hop;
  }
  /// Until the chunk's first forward pass.
  double head(int chunk) const {
    double time = 0;
    for (int c = first_of_copy(chunk); c < chunk; ++c) time += there(c) + hop(c, c + 1);
    return time;
  }
  /// From the start of a chunk's forward pass until its way back can start.
  double until_back(int chunk) const {
    double time = there(chunk);
    for (int c = chunk + 1; !layout_.is_first(c) && c < layout_.chunks(); ++c)
      time += there(c) + back(c) + 2 * hop(c - 1, c);
    return time;
  }
  /// Behind the end of the chunk's way back, that of all chunks before it.
  double tail(int chunk) const {
    double time = 0;
    for (int c = first_of_copy(chunk); c < chunk; ++c) time += back(c) + hop(c, c + 1);
    return time;
  }
  int first_of_copy(int chunk) const { return chunk - layout_.stage_of(chunk); }

 private:
  const Layout& layout_;
  Backward backward_;
  const Times& times_;
};

}  // namespace

std::string_view to_string(Limit limit) {
  constexpr std::string_view kWords[] = {"work", "path", "room", "waiting"};
  return kWords[static_cast<int>(limit)];
}

Bound lower_bound(const Layout& layout, int micro_batches, Backward backward, const Times& times,
                  const std::vector<double>& room) {
  const Ways ways(layout, backward, times);
  const double m = static_cast<double>(micro_batches) / layout.copies;  // that a chunk sees
  std::vector<std::vector<int>> chunks_of(layout.processors);
  for (int c = 0; c < layout.chunks(); ++c) chunks_of[layout.processor_of[c]].push_back(c);
  Bound bound;
  for (int r = 0; r < layout.processors; ++r) {
    const std::vector<int>& chunks = chunks_of[r];
    if (chunks.empty()) continue;
    const double each = 1.0 / static_cast<double>(chunks.size());  // of a micro-batch's room
    double there_and_back = 0;
    double work = 0;
    double waiting = 0;
    double longest_there = 0;
    for (int c : chunks) {
      there_and_back += ways.there(c) + times.of_chunk[c].input_gradient;
      work += ways.there(c) + times.of_chunk[c].input_gradient + ways.weights(c);
      waiting += each * (ways.until_back(c) + ways.back(c));
      longest_there = std::max(longest_there, ways.there(c));
    }
    // Of the chunk for which it takes least, whichever is first and last.
    const auto least = [&](const auto& time_of) {
      double time = time_of(chunks.front());
      for (const int c : chunks) time = std::min(time, time_of(c));
      return time;
    };
    const double head = least([&](int c) { return ways.head(c); });
    const double tail = least([&](int c) { return ways.tail(c); });
    const double fits = std::min(std::floor(room[r] / each + 1e-9), m * static_cast<double>(chunks.size()));
    const double first_back = least([&](int c) { return ways.head(c) + ways.until_back(c); });
    const auto take = [&](double makespan, Limit limit) {
      if (makespan > bound.makespan) bound = {makespan, limit, r};
    };
    const bool is_whole = backward == Backward::Whole;
    take(head + m * work + (is_whole ? tail : 0), Limit::Work);
    if (!is_whole) {
      const double end = least([&](int c) { return ways.tail(c) + ways.weights(ways.first_of_copy(c)); });
      take(head + m * there_and_back + end, Limit::Path);
    }
    take(first_back + m * work - fits * longest_there + (is_whole ? tail : 0), Limit::Room);
    if (room[r] > 0) take(head + m * waiting / room[r], Limit::Waiting);
  }
  return bound;
}

}  // namespace podium::schedule
