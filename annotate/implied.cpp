#include "annotate/implied.h"

#include <algorithm>

#include "annotate/spots.h"

namespace podium::annotate {

Request implied_request(const ir::Graph& graph) {
  Request request;
  bool in_turns = true;  // phase and processor of every op that has both are even or odd together
  for (const Annotations& op : read_all(graph)) {
    if (op.processor && request.mode == Mode::Off) request.mode = Mode::Manual;
    if (op.stage) request.pipelining = true;
    if (!op.phase) continue;
    request.mode = Mode::ExecutionPhases;
    request.phases = std::max(request.phases, *op.phase + 1);
    if (op.processor && *op.processor % 2 != *op.phase % 2) in_turns = false;
  }
  if (!in_turns) request.phase_stages = 1;
  if (request.mode != Mode::Manual) request.pipelining = false;
  return request;
}

}  // namespace podium::annotate
