// What is not where blocks read it: tensors in streaming memory, or sharded over the replicas, and the steps
// that bring and store them (semantics, section 7.4).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/lower/draft/cycle.h"
#include "executor/lower/draft/draft.h"
#include "executor/lower/placed/locations.h"

namespace podium::lower {

class Remote {
 public:
  /// Finds the weights that have to be brought; what cannot be as asked is warned of.
  explicit Remote(Draft& draft);

  /// The location of a weight that reaches blocks as a read; nothing for every other value.
  const std::optional<ir::TensorLocation>& weight(ir::ValueId value) const { return weights_[value]; }
  /// Whether a value is such a weight, for make_parts. Valid as long as the object.
  std::function<bool(ir::ValueId)> streamed() const {
    return [this](ir::ValueId value) { return weight(value).has_value(); };
  }
  /// Sections of each processor's ops, such that a section reads weights in parts of as many bytes together
  /// as the largest of them has: what is gathered for one is not there for the next.
  ir::IdMap<ir::OpId, int> sections() const;
  /// The steps that bring a weight or a stored activation to a processor, where draft.buffer then gives the
  /// buffer that holds it: from streaming memory, gathered when it is sharded, and from the IO tiles when it
  /// is loaded there. Each call brings it anew, into buffers of its own: `w__l0`, `w__g0`, then `w__l1`, ...
  std::vector<executor::Step> bring(ir::ValueId value, int processor, const ir::TensorLocation& location);
  /// The same for every weight that a part reads and steps have to bring, added to `steps` in cycle `offset`.
  void bring_weights(const Part& part, int offset, std::vector<TimedStep>& steps);
  /// The steps that store an activation in its processor's streaming memory.
  std::vector<executor::Step> store(ir::ValueId value, int processor, const ir::TensorLocation& location);

 private:
  executor::BufferId home(ir::ValueId value, int processor, const ir::TensorLocation& location);

  Draft& draft_;
  ir::IdMap<ir::ValueId, std::optional<ir::TensorLocation>> weights_;
  std::map<std::pair<ir::ValueId, int>, executor::BufferId> homes_;  ///< per value and processor
  std::map<ir::ValueId, int> times_brought_;
};

}  // namespace podium::lower
