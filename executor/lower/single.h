// One processor: load every input, run the whole graph as one block, store every output.
#pragma once

#include "executor/program.h"

namespace podium::lower {

executor::Program single_processor(ir::Graph graph);

}  // namespace podium::lower
