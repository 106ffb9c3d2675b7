#include "executor/lower/draft/early_outputs.h"

#include <algorithm>
#include <numeric>

#include "ir/at.h"
#include "ir/bodies.h"

namespace podium::lower {

void make_outputs_early(ir::Graph& block) {
  std::vector<bool> is_output(block.values.size(), false);
  for (ir::ValueId id : block.outputs) is_output[at(id)] = true;
  std::vector<std::size_t> after(block.ops.size());  // the op that each follows, itself where it stays
  std::vector<std::size_t> made_after(block.values.size(), 0);
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    const ir::Op& op = block.ops[i];
    const bool moves = !op.spec->random && !ir::has_body(op) &&
                       std::all_of(op.outputs.begin(), op.outputs.end(),
                                   [&](ir::ValueId id) { return !id.valid() || is_output[at(id)]; });
    after[i] = moves ? 0 : i;
    for (ir::ValueId id : op.inputs) {
      if (moves && id.valid()) after[i] = std::max(after[i], made_after[at(id)]);
    }
    for (ir::ValueId id : op.outputs) {
      if (id.valid()) made_after[at(id)] = after[i];
    }
  }
  std::vector<std::size_t> order(block.ops.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return after[a] < after[b]; });
  std::vector<ir::Op> ops;
  ops.reserve(order.size());
  for (std::size_t i : order) ops.push_back(std::move(block.ops[i]));
  block.ops = std::move(ops);
}

}  // namespace podium::lower
