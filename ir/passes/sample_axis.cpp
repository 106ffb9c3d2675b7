#include "ir/passes/sample_axis.h"

namespace podium::ir {

bool keeps_samples_apart(const SampledOp& op) {
  const OpSpec& spec = *op.typed.op.spec;
  const SampleRule rule = spec.elementwise ? each_element : spec.samples;
  return rule != nullptr && rule(op);
}

}  // namespace podium::ir
