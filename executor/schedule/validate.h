// Whether a schedule can run.
#pragma once

#include <vector>

#include "executor/schedule/schedule.h"

namespace podium::schedule {

/// Error in one line when an action is missing, comes twice, is on another processor than its chunk, does not
/// come in the order of micro-batches, or when actions wait for each other in a circle, which is written out.
void validate(const Schedule& schedule);

/// What a processor holds at most of what its forward passes leave for the way back, in parts of what one
/// micro-batch leaves on it. An input gradient gives back all but `kept_for_weights` of it, which the weight
/// gradient gives back.
std::vector<double> peaks(const Schedule& schedule, double kept_for_weights = 1);

}  // namespace podium::schedule
