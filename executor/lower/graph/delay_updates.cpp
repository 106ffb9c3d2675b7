#include "executor/lower/graph/delay_updates.h"

#include <algorithm>
#include <map>

#include "ir/at.h"

namespace podium::lower {
namespace {

class Delay {
 public:
  Delay(const ir::Training& training, ir::Placement& placement)
      : graph_(training.graph),
        placement_(placement),
        is_input_(graph_.values.size(), false),
        ready_(graph_.values.size(), 0),
        last_use_(graph_.values.size(), 0) {
    for (ir::ValueId id : graph_.inputs) is_input_[at(id)] = true;
    for (const ir::Update& update : training.updates) {
      becomes_.emplace(graph_.outputs[update.output], update.variable);
    }
  }

  void run() {
    visit(false);
    while (visit(true)) {
    }
  }

 private:
  // Whether an op or the last use of a value has come later. Only ops of the outer context are moved.
  bool visit(bool outer) {
    bool changed = false;
    const auto raise = [&changed](int& phase, int to) {
      changed = changed || to > phase;
      phase = std::max(phase, to);
    };
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const ir::Op& op = graph_.ops[i];
      if (ir::is_outer(op) != outer) continue;
      int& phase = placement_.ops[i].phase;
      if (outer) raise(phase, earliest(op));
      const auto use = [&](ir::ValueId id) {
        raise(last_use_[at(id)], phase);
        if (!outer && is_input_[at(id)]) raise(ready_[at(id)], phase);
      };
      for (ir::ValueId id : op.inputs) {
        if (id.valid()) use(id);
      }
      for (ir::ValueId id : op.outputs) {
        if (!id.valid()) continue;
        raise(ready_[at(id)], phase);
        const auto variable = becomes_.find(id);
        if (variable != becomes_.end()) use(variable->second);
      }
    }
    return changed;
  }
  int earliest(const ir::Op& op) const {
    int phase = 0;
    for (ir::ValueId id : op.inputs) {
      if (id.valid()) phase = std::max(phase, ready_[at(id)]);
    }
    for (ir::ValueId id : op.outputs) {
      const auto variable = id.valid() ? becomes_.find(id) : becomes_.end();
      if (variable != becomes_.end()) phase = std::max(phase, last_use_[at(variable->second)]);
    }
    return phase;
  }

  const ir::Graph& graph_;
  ir::Placement& placement_;
  std::map<ir::ValueId, ir::ValueId> becomes_;  // the variable of an output that updates it
  std::vector<bool> is_input_;
  std::vector<int> ready_;     // the phase from which on updates may use a value
  std::vector<int> last_use_;  // the phase in which a value is read or written last
};

}  // namespace

void delay_updates(const ir::Training& training, ir::Placement& placement) {
  Delay(training, placement).run();
}

}  // namespace podium::lower
