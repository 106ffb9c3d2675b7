#include "executor/lower/graph/delay_updates.h"

#include <algorithm>

namespace podium::lower {
namespace {

using ir::Context;
using ir::ValueId;

class Delay {
 public:
  explicit Delay(PlacedGraph& placed)
      : placed_(placed),
        graph_(placed.graph()),
        becomes_(std::ssize(graph_.values)),
        is_input_(std::ssize(graph_.values), false),
        ready_(std::ssize(graph_.values), 0),
        last_use_(std::ssize(graph_.values), 0) {
    for (ValueId id : graph_.inputs) is_input_[id] = true;
    for (const ir::Update& update : placed.training.updates) {
      becomes_[graph_.outputs[update.output]] = update.variable;
    }
  }

  void run() {
    visit(Context::MicroBatch);
    bool changes = true;
    while (changes) changes = visit(Context::Update);
  }

 private:
  // Whether an op or the last use of a value has come later. Only updates are moved.
  bool visit(Context context) {
    bool changed = false;
    const auto raise = [&changed](int& phase, int to) {
      changed = changed || to > phase;
      phase = std::max(phase, to);
    };
    const bool moves = context == Context::Update;
    for (ir::OpId op : graph_.op_ids()) {
      if (placed_[op].context != context) continue;
      int& phase = placed_[op].phase;
      if (moves) raise(phase, earliest(graph_[op]));
      const auto use = [&](ValueId id) {
        raise(last_use_[id], phase);
        if (!moves && is_input_[id]) raise(ready_[id], phase);
      };
      for (ValueId id : inputs_of(graph_[op])) use(id);
      for (ValueId id : outputs_of(graph_[op])) {
        raise(ready_[id], phase);
        if (becomes_[id].valid()) use(becomes_[id]);
      }
    }
    return changed;
  }
  int earliest(const ir::Op& op) const {
    int phase = 0;
    for (ValueId id : inputs_of(op)) phase = std::max(phase, ready_[id]);
    for (ValueId id : outputs_of(op)) {
      if (becomes_[id].valid()) phase = std::max(phase, last_use_[becomes_[id]]);
    }
    return phase;
  }

  PlacedGraph& placed_;
  const ir::Graph& graph_;
  ir::IdMap<ValueId, ValueId> becomes_;  // of an output that updates it: the variable
  ir::IdMap<ValueId, bool> is_input_;
  ir::IdMap<ValueId, int> ready_;     // the phase from which on updates may use a value
  ir::IdMap<ValueId, int> last_use_;  // the phase in which a value is read or written last
};

}  // namespace

void delay_updates(PlacedGraph& placed) { Delay(placed).run(); }

}  // namespace podium::lower
