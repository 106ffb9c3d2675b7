// A straight run of steps of single processors falls into queues, one for each processor. No step of a queue
// sees what another queue does, so the queues are put into one order again, round by round:
//   ipu 0: load a, update a, store a        load a + load b, update a, update b, store a + store b
//   ipu 1: load b, update b, store b   ->
// A round takes the loads at the heads of all queues as one step, without any the stores, and without these
// one step of each queue. So everybody has come as far as possible when an exchange begins, and each round
// takes something from every queue or all transfers of a kind.
#include "executor/lower/program/join_remote_transfers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "executor/slots.h"

namespace podium::lower {

using executor::LoadRemote;
using executor::Program;
using executor::Step;
using executor::StoreRemote;

namespace {

// The processor that alone takes part in a step. None of a step that meets the host, whose streams have an
// order of their own.
std::optional<int> processor_of(const Program& program, const Step& step) {
  if (const auto* compute = std::get_if<executor::Compute>(&step.action))
    return program[compute->block].processor;
  const bool is_alone = std::holds_alternative<LoadRemote>(step.action) ||
                        std::holds_alternative<StoreRemote>(step.action) ||
                        std::holds_alternative<executor::CopyBetweenTiles>(step.action) ||
                        std::holds_alternative<executor::Collective>(step.action);
  if (!is_alone) return std::nullopt;
  std::optional<int> processor;
  executor::for_each_slot(
      step, [&](const executor::Slot& slot, bool) { processor = program[slot.buffer].processor; });
  return processor;
}

int sync_group(int processor, SyncPattern sync) {
  switch (sync) {
    case SyncPattern::Full:
      return 0;
    case SyncPattern::ReplicaAndLadder:
      return processor % 2;
    case SyncPattern::SinglePipeline:
      return processor;
  }
  throw InternalError("a sync pattern that is none");
}

// What transfers of one step have in common.
struct Likeness {
  bool loads = false;  ///< else stores
  executor::Memory tiles = executor::Memory::Compute;
  std::optional<int> phase = {};
  int first_iteration = 0;
  int end_iteration = 0;
  friend auto operator<=>(const Likeness&, const Likeness&) = default;
};

// Nothing of a step that is no remote transfer.
std::optional<Likeness> likeness(const Program& program, const Step& step) {
  const auto* load = std::get_if<LoadRemote>(&step.action);
  const auto* store = std::get_if<StoreRemote>(&step.action);
  if (load == nullptr && store == nullptr) return std::nullopt;
  const executor::Slot& here = load != nullptr ? load->transfers[0].to : store->transfers[0].from;
  return Likeness{load != nullptr, program[here.buffer].memory, step.origin.phase, step.acts.first,
                  step.acts.end};
}

// The steps of one processor that are not written yet.
struct Queue {
  std::vector<Step> steps = {};
  std::size_t next = 0;

  bool is_empty() const { return next == steps.size(); }
  const Step& head() const { return steps[next]; }
  Step take() { return std::move(steps[next++]); }
};

class Joiner {
 public:
  Joiner(const Program& program, SyncPattern sync) : program_(program), sync_(sync) {}

  std::vector<Step> rewrite(std::vector<Step> steps) const {
    std::vector<Step> result;
    std::vector<Step> run;
    for (Step& step : steps) {
      if (auto* repeat = std::get_if<executor::Repeat>(&step.action))
        repeat->body = rewrite(std::move(repeat->body));
      if (processor_of(program_, step)) {
        run.push_back(std::move(step));
        continue;
      }
      write(std::exchange(run, {}), result);
      result.push_back(std::move(step));
    }
    write(std::move(run), result);
    return result;
  }

 private:
  void write(std::vector<Step> run, std::vector<Step>& result) const {
    if (!can_join(run)) {
      std::move(run.begin(), run.end(), std::back_inserter(result));
      return;
    }
    std::map<int, std::map<int, Queue>> queues;  // by sync group and processor
    for (Step& step : run) {
      const int processor = *processor_of(program_, step);
      queues[sync_group(processor, sync_)][processor].steps.push_back(std::move(step));
    }
    for (auto& [group, by_processor] : queues) {
      std::vector<Queue> of_group;
      for (auto& [processor, queue] : by_processor) of_group.push_back(std::move(queue));
      write(std::move(of_group), result);
    }
  }

  // Whether several processors of a group move something alike.
  bool can_join(const std::vector<Step>& run) const {
    std::map<std::pair<int, Likeness>, int> movers;
    return std::any_of(run.begin(), run.end(), [&](const Step& step) {
      const std::optional<Likeness> like = likeness(program_, step);
      if (!like) return false;
      const int processor = *processor_of(program_, step);
      return movers.try_emplace({sync_group(processor, sync_), *like}, processor).first->second != processor;
    });
  }

  void write(std::vector<Queue> queues, std::vector<Step>& result) const {
    while (!queues.empty()) {
      if (!join_heads<LoadRemote>(queues, result) && !join_heads<StoreRemote>(queues, result)) {
        for (Queue& queue : queues) result.push_back(queue.take());
      }
      std::erase_if(queues, [](const Queue& queue) { return queue.is_empty(); });
    }
  }

  // Those that are like the first of them. False without any.
  template <class Kind>
  bool join_heads(std::vector<Queue>& queues, std::vector<Step>& result) const {
    const auto first = std::find_if(queues.begin(), queues.end(), [](const Queue& queue) {
      return std::holds_alternative<Kind>(queue.head().action);
    });
    if (first == queues.end()) return false;
    const std::optional<Likeness> like = likeness(program_, first->head());
    std::vector<Step> taken;
    int movers = 0;
    for (auto queue = first; queue != queues.end(); ++queue) {
      const std::size_t before = taken.size();
      while (!queue->is_empty() && likeness(program_, queue->head()) == like) taken.push_back(queue->take());
      if (taken.size() > before) ++movers;
    }
    // One processor alone waits for no other, and each of its transfers only for its own data.
    if (movers > 1) taken = {merged<Kind>(std::move(taken))};
    std::move(taken.begin(), taken.end(), std::back_inserter(result));
    return true;
  }

  // It is for the micro-batch of the first, and of no stage alone.
  template <class Kind>
  static Step merged(std::vector<Step> taken) {
    Step step = std::move(taken.front());
    step.origin.stage.reset();
    auto& transfers = std::get<Kind>(step.action).transfers;
    for (auto more = std::next(taken.begin()); more != taken.end(); ++more) {
      const auto& added = std::get<Kind>(more->action).transfers;
      transfers.insert(transfers.end(), added.begin(), added.end());
    }
    return step;
  }

  const Program& program_;
  SyncPattern sync_;
};

}  // namespace

void join_remote_transfers(Program& program, SyncPattern sync) {
  program.steps = Joiner(program, sync).rewrite(std::move(program.steps));
}

}  // namespace podium::lower
