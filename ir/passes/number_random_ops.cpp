#include "ir/passes/number_random_ops.h"

#include "ir/bodies.h"
#include "ir/random_draws.h"

namespace podium::ir {
namespace {

bool number(Graph& graph, Seeded seeded, std::int64_t& next) {
  bool changed = false;
  for (Op& op : graph.ops) {
    if (has_body(op)) changed |= edit_bodies(op, [&](Graph& body) { return number(body, seeded, next); });
    if (!op.spec->random) continue;
    const std::int64_t stream = next++;
    const bool has_seed = find_attribute(op, "seed") != nullptr;
    if (draws_of(op).stream || (has_seed && seeded == Seeded::AsOnnxDoes)) continue;
    set_stream(op, stream);
    changed = true;
  }
  return changed;
}

}  // namespace

bool number_random_ops(Graph& graph, Seeded seeded) {
  std::int64_t next = 0;
  return number(graph, seeded, next);
}

}  // namespace podium::ir
