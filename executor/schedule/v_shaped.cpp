// Schedules of a V: processor r of p has chunks r and 2p - 1 - r, called first and second here.
//
//   ZB-V              written out phase by phase, for at least 2p - 1 micro-batches; of fewer the others'
//   actions
//                     are left out
//   V-Half, V-Min     a block of six slots that comes again every six: each micro-batch takes its forward
//   passes
//                     and input gradients in fixed slots, six behind the one before it, and its weight
//                     gradients in those that are left, in the order of their input gradients
#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "executor/schedule/families.h"

namespace podium::schedule {
namespace {

// Writes the order of a processor; each pass of a chunk takes the micro-batch after its last one.
class WriterOfV {
 public:
  WriterOfV(int processor, const Request& request)
      : chunks_{processor, 2 * request.processors - 1 - processor},
        at_least_(std::max(request.micro_batches, 2 * request.processors - 1)),
        micro_batches_(request.micro_batches) {}

  enum Which : std::uint8_t { First, Second };

  void add(Pass pass, Which which) {
    if (!has_left(pass, which)) return;
    int& next = next_[static_cast<int>(pass)][which];
    const int micro_batch = next++;
    if (micro_batch < micro_batches_) order.push_back({pass, chunks_[which], micro_batch});
  }
  bool has_left(Pass pass, Which which) const { return next_[static_cast<int>(pass)][which] < at_least_; }

  std::vector<Action> order;

 private:
  std::array<int, 2> chunks_;
  int at_least_;
  int micro_batches_;
  std::array<std::array<int, 2>, 4> next_{};
};

std::vector<Action> zero_bubble_v_of(int r, const Request& request) {
  const int p = request.processors;
  WriterOfV out(r, request);
  using enum WriterOfV::Which;
  const auto times = [](int count, const auto& act) {
    for (int i = 0; i < count; ++i) act();
  };
  const auto second = [&] {
    out.add(Pass::Forward, Second);
    out.add(Pass::InputGradient, Second);
    out.add(Pass::WeightGradient, Second);
  };
  times(2 * (p - r) - 1, [&] { out.add(Pass::Forward, First); });
  times(r, [&] {
    out.add(Pass::Forward, Second);
    out.add(Pass::Forward, First);
  });
  times(p - r, second);
  while (out.has_left(Pass::Forward, First) || out.has_left(Pass::Forward, Second)) {
    out.add(Pass::Forward, First);
    out.add(Pass::InputGradient, First);
    out.add(Pass::WeightGradient, First);
    second();
  }
  times(r, [&] {
    out.add(Pass::InputGradient, First);
    out.add(Pass::InputGradient, Second);
  });
  times(p - r, [&] {
    out.add(Pass::InputGradient, First);
    out.add(Pass::WeightGradient, First);
  });
  while (out.has_left(Pass::WeightGradient, Second)) out.add(Pass::WeightGradient, Second);
  while (out.has_left(Pass::WeightGradient, First)) out.add(Pass::WeightGradient, First);
  return out.order;
}

constexpr int kBlock = 6;

// Of micro-batch 0 on a processor.
struct SlotsOfBlock {
  int first = 0;
  int second = 0;
  int second_back = 0;
  int first_back = 0;
};

std::vector<Action> repeated(int r, const Request& request, const SlotsOfBlock& slots) {
  const int second = 2 * request.processors - 1 - r;
  const std::array<std::pair<int, Action>, 4> block{{{slots.first, {Pass::Forward, r}},
                                                     {slots.second, {Pass::Forward, second}},
                                                     {slots.second_back, {Pass::InputGradient, second}},
                                                     {slots.first_back, {Pass::InputGradient, r}}}};
  std::map<int, Action> at;
  for (int k = 0; k < request.micro_batches; ++k) {
    for (const auto& [slot, action] : block) at[slot + kBlock * k] = {action.pass, action.chunk, k};
  }
  // A slot whose micro-batch is behind the last one stays empty, as it was in the block.
  std::array<bool, kBlock> is_taken{};
  for (const auto& [slot, action] : block) is_taken[slot % kBlock] = true;
  std::vector<Action> order;
  std::deque<Action> waiting;
  for (int slot = 0; slot <= at.rbegin()->first || !waiting.empty(); ++slot) {
    const auto found = at.find(slot);
    if (found != at.end()) {
      const Action& action = order.emplace_back(found->second);
      if (action.pass != Pass::InputGradient) continue;
      waiting.push_back({Pass::WeightGradient, action.chunk, action.micro_batch});
    } else if (!is_taken[slot % kBlock] && !waiting.empty()) {
      order.push_back(waiting.front());
      waiting.pop_front();
    }
  }
  return order;
}

}  // namespace

Orders zero_bubble_v(const Request& request) {
  Orders orders;
  for (int r = 0; r < request.processors; ++r) orders.push_back(zero_bubble_v_of(r, request));
  return orders;
}

Orders v_min(const Request& request) {
  const int p = request.processors;
  const int gap = p % 3 == 0 ? 2 : 0;
  Orders orders;
  for (int r = 0; r < p; ++r) {
    orders.push_back(repeated(r, request, {r, 2 * p - 1 - r, 2 * p + gap + r, 4 * p + gap - 1 - r}));
  }
  return orders;
}

Orders v_half(const Request& request) {
  const int p = request.processors;
  const int gap = p % 2 == 0 ? 3 : 0;
  Orders orders;
  for (int r = 0; r < p; ++r) {
    orders.push_back(
        repeated(r, request, {2 * r, 3 * p - r - 2, 3 * p + gap + 2 * r - 1, 6 * p + gap - r - 2}));
  }
  return orders;
}

}  // namespace podium::schedule
