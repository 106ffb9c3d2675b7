#include "executor/lower/placed/stages.h"

#include "ir/error.h"

namespace podium::lower {

Stages merge_stages(const ir::Placement& placement) {
  constexpr int kEmpty = -1;
  std::vector<int> processors(placement.stages, kEmpty);
  for (const ir::OpPlacement& op : placement.ops) {
    int& found = processors.at(op.stage);
    IR_CHECK(found == kEmpty || found == op.processor, "stage {} is on ipu {} and {}", op.stage, found,
             op.processor);
    found = op.processor;
  }
  Stages stages;
  for (int processor : processors) {
    const bool is_new =
        processor != kEmpty && (stages.processor.empty() || stages.processor.back() != processor);
    if (is_new) stages.processor.push_back(processor);
    stages.merged.push_back(stages.count() - 1);
  }
  // Without ops there is one stage, for what lowering adds.
  if (stages.processor.empty()) stages = {.merged = std::vector<int>(processors.size(), 0), .processor = {0}};
  return stages;
}

}  // namespace podium::lower
