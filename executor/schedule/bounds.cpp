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
    for (int c = 0; c < chunk; ++c) time += there(c) + hop(c, c + 1);
    return time;
  }
  /// From the start of a chunk's forward pass until its way back can start.
  double until_back(int chunk) const {
    double time = there(chunk);
    for (int c = chunk + 1; c < layout_.stages(); ++c) time += there(c) + back(c) + 2 * hop(c - 1, c);
    return time;
  }
  /// Behind the end of the chunk's way back, that of all chunks before it.
  double tail(int chunk) const {
    double time = 0;
    for (int c = 0; c < chunk; ++c) time += back(c) + hop(c, c + 1);
    return time;
  }

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
  Bound bound;
  for (int r = 0; r < layout.processors; ++r) {
    std::vector<int> chunks;
    for (int c = 0; c < layout.stages(); ++c) {
      if (layout.processor_of[c] == r) chunks.push_back(c);
    }
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
    const double head = ways.head(chunks.front());
    const double tail = ways.tail(chunks.front());
    const double m = micro_batches;
    const double fits = std::min(std::floor(room[r] / each + 1e-9), m * static_cast<double>(chunks.size()));
    const double first_back = ways.head(chunks.back()) + ways.until_back(chunks.back());
    const auto take = [&](double makespan, Limit limit) {
      if (makespan > bound.makespan) bound = {makespan, limit, r};
    };
    const bool is_whole = backward == Backward::Whole;
    take(head + m * work + (is_whole ? tail : 0), Limit::Work);
    if (!is_whole) take(head + m * there_and_back + tail + ways.weights(0), Limit::Path);
    take(first_back + m * work - fits * longest_there + (is_whole ? tail : 0), Limit::Room);
    if (room[r] > 0) take(head + m * waiting / room[r], Limit::Waiting);
  }
  return bound;
}

}  // namespace podium::schedule
