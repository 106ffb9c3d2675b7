#include "executor/lower/draft/early_outputs.h"

#include <algorithm>
#include <numeric>

#include "ir/bodies.h"

namespace podium::lower {

void make_outputs_early(ir::Graph& block) {
  ir::IdMap<ir::ValueId, bool> is_output(std::ssize(block.values), false);
  for (ir::ValueId id : block.outputs) is_output[id] = true;
  std::vector<int> after(block.ops.size());  // the op that each follows, itself where it stays
  ir::IdMap<ir::ValueId, int> made_after(std::ssize(block.values), 0);
  for (int i = 0; i < std::ssize(block.ops); ++i) {
    const ir::Op& op = block.ops[i];
    const bool moves = !op.spec->random && !ir::has_body(op) &&
                       std::all_of(op.outputs.begin(), op.outputs.end(),
                                   [&](ir::ValueId id) { return !id.valid() || is_output[id]; });
    after[i] = moves ? 0 : i;
    for (ir::ValueId id : inputs_of(op)) {
      if (moves) after[i] = std::max(after[i], made_after[id]);
    }
    for (ir::ValueId id : outputs_of(op)) made_after[id] = after[i];
  }
  std::vector<int> order(block.ops.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return after[a] < after[b]; });
  std::vector<ir::Op> ops;
  ops.reserve(order.size());
  for (int i : order) ops.push_back(std::move(block.ops[i]));
  block.ops = std::move(ops);
}

}  // namespace podium::lower
