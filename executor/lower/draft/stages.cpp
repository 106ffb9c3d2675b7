#include "executor/lower/draft/stages.h"

#include "ir/error.h"

namespace podium::lower {

Stages merge_stages(const ir::Placement& placement) {
  constexpr int kEmpty = -1;
  std::vector<int> processor(static_cast<std::size_t>(placement.stages), kEmpty);
  for (const ir::OpPlacement& op : placement.ops) {
    int& found = processor.at(static_cast<std::size_t>(op.stage));
    IR_CHECK(found == kEmpty || found == op.processor, "stage {} is on ipu {} and {}", op.stage, found,
             op.processor);
    found = op.processor;
  }
  Stages stages;
  std::vector<int> renumbered(processor.size(), 0);
  for (std::size_t s = 0; s < processor.size(); ++s) {
    const bool is_new =
        processor[s] != kEmpty && (stages.processor.empty() || stages.processor.back() != processor[s]);
    if (is_new) stages.processor.push_back(processor[s]);
    renumbered[s] = static_cast<int>(stages.processor.size()) - 1;
  }
  for (const ir::OpPlacement& op : placement.ops) {
    stages.of_op.push_back(renumbered[op.stage]);
  }
  return stages;
}

}  // namespace podium::lower
