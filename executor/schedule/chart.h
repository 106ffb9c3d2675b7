// A schedule as a picture in the terminal.
#pragma once

#include <string>

#include "executor/schedule/schedule.h"

namespace podium::schedule {

/// A line for each processor, to scale: every pass of a chunk takes a column, a whole backward pass two. Hops
/// take none. Behind it what each processor holds at most.
std::string chart(const Schedule& schedule);

}  // namespace podium::schedule
