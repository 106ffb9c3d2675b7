// Schedules in which micro-batches come from both ends: DualPipe and Chimera have two copies of the model,
// the second one the other way round, DualPipeV folds one model into a V. In DualPipe a processor at distance
// h from its end of n = p / 2 processors (for the V: r of n = p) takes eight steps; phase 0 is the direction
// or chunk whose micro-batches reach it first, phase 1 the other:
//
//   1   2 (n - h - 1) times  F0           5   n - h - 1 times  B1 F1 B0
//   2   h + 1 times          F0 F1        6   h + 1 times      B1 B0, the later half input gradients alone
//   3   n - h - 1 times      I1 W F1      7   n - h - 1 times  W I0
//   4   the rest of F0       F0 B1 F1 B0  8   h + 1 times      W
//
// Chimera takes units of p micro-batches, half in each direction. The k-th of a direction has its forward
// pass at its stage s in slot s + 2k and its backward pass in slot 2p - 1 - s + 2k: odd slots of the one
// direction are even ones of the other.
#include <algorithm>
#include <array>
#include <deque>

#include "executor/schedule/families.h"

namespace podium::schedule {
namespace {

// Writes the order of a processor; each pass of a phase takes the micro-batch after its last one.
class WriterOfDualPipe {
 public:
  explicit WriterOfDualPipe(std::array<int, 2> chunks) : chunks_(chunks) {}

  void forward(int phase) { order.push_back({Pass::Forward, chunks_[phase], forwards_[phase]++}); }
  void backward(int phase) { order.push_back({Pass::Backward, chunks_[phase], backs_[phase]++}); }
  void input_gradient(int phase) {
    const int micro_batch = backs_[phase]++;
    order.push_back({Pass::InputGradient, chunks_[phase], micro_batch});
    waiting_.push_back({Pass::WeightGradient, chunks_[phase], micro_batch});
  }
  void weights() {
    order.push_back(waiting_.front());
    waiting_.pop_front();
  }

  std::vector<Action> order;

 private:
  std::array<int, 2> chunks_;
  std::array<int, 2> forwards_{};
  std::array<int, 2> backs_{};
  std::deque<Action> waiting_;
};

std::vector<Action> dual_pipe_of(std::array<int, 2> chunks, int n, int h, int micro_batches) {
  WriterOfDualPipe out(chunks);
  const auto times = [](int count, const auto& act) {
    for (int i = 0; i < count; ++i) act(i);
  };
  const int outer = n - h - 1;
  const int inner = h + 1;
  times(2 * outer, [&](int) { out.forward(0); });
  times(inner, [&](int) {
    out.forward(0);
    out.forward(1);
  });
  times(outer, [&](int) {
    out.input_gradient(1);
    out.weights();
    out.forward(1);
  });
  times(micro_batches - 2 * n + h + 1, [&](int) {
    out.forward(0);
    out.backward(1);
    out.forward(1);
    out.backward(0);
  });
  times(outer, [&](int) {
    out.backward(1);
    out.forward(1);
    out.backward(0);
  });
  times(2 * inner, [&](int i) {
    const int phase = i % 2 == 0 ? 1 : 0;
    if (i < 2 * (inner / 2) + (h % 2 == 0 ? 1 : 0)) {
      out.backward(phase);
    } else {
      out.input_gradient(phase);
    }
  });
  times(outer, [&](int) {
    out.weights();
    out.input_gradient(0);
  });
  times(inner, [&](int) { out.weights(); });
  return out.order;
}

}  // namespace

Orders dual_pipe(const Request& request) {
  const int p = request.processors;
  Orders orders;
  for (int r = 0; r < p; ++r) {
    std::array<int, 2> chunks{r, 2 * p - 1 - r};
    if (r >= p / 2) std::swap(chunks[0], chunks[1]);
    orders.push_back(dual_pipe_of(chunks, p / 2, std::min(r, p - 1 - r), request.micro_batches / 2));
  }
  return orders;
}

Orders dual_pipe_v(const Request& request) {
  const int p = request.processors;
  Orders orders;
  for (int r = 0; r < p; ++r) {
    orders.push_back(dual_pipe_of({r, 2 * p - 1 - r}, p, r, request.micro_batches));
  }
  return orders;
}

Orders chimera(const Request& request) {
  const int p = request.processors;
  struct AtSlot {
    int slot;
    Action action;
  };
  Orders orders;
  for (int r = 0; r < p; ++r) {
    std::vector<AtSlot> all;
    for (int k = 0; k < request.micro_batches / 2; ++k) {
      const int begin = k / (p / 2) * 2 * p + 2 * (k % (p / 2));
      for (const int chunk : {r, 2 * p - 1 - r}) {
        const int stage = chunk % p;
        all.push_back({begin + stage, {Pass::Forward, chunk, k}});
        all.push_back({begin + 2 * p - 1 - stage, {Pass::Backward, chunk, k}});
      }
    }
    std::ranges::stable_sort(all, {}, &AtSlot::slot);
    std::vector<Action>& order = orders.emplace_back();
    for (const AtSlot& one : all) order.push_back(one.action);
  }
  return orders;
}

}  // namespace podium::schedule
