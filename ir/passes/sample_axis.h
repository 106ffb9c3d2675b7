// Whether ops keep the samples of a batch apart: what their rows say.
#pragma once

#include "ir/ops/samples.h"

namespace podium::ir {

/// True when each sample of the outputs depends on the same sample of the inputs alone. Asked of an op whose
/// outputs all have an axis. False for every op of which it is not known.
bool keeps_samples_apart(const SampledOp& op);

/// The op broadcasts its inputs against each other, element by element.
inline bool is_elementwise(const Op& op) { return op.spec->elementwise; }

}  // namespace podium::ir
