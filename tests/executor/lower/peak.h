// Memory, as the two readers of a Program see it.
#pragma once

#include "executor/numeric/engine.h"

namespace podium::testing {

/// Expects the simulator to find, on every processor, the peak of memory that the engine has measured in its
/// run.
void expect_the_simulators_peak(const executor::Program& program, const numeric::Engine& engine);

}  // namespace podium::testing
