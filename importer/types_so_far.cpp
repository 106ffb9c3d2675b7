#include "importer/types_so_far.h"

#include "ir/infer_bodies.h"

namespace podium::importer {

const ir::Type& TypesSoFar::of(ir::ValueId id) {
  catch_up();
  return typed_[id].type;
}

void TypesSoFar::catch_up() {
  const ir::Graph& graph = scope_.graph();
  for (std::size_t i = typed_.values.size(); i < graph.values.size(); ++i)
    typed_.values.push_back(graph.values[i]);
  for (; captures_ < scope_.captures().size(); ++captures_) {
    const Scope::Capture& capture = scope_.captures()[captures_];
    typed_[capture.inner].type = around_->of(capture.outer);
  }
  for (std::size_t i = typed_.ops.size(); i < graph.ops.size(); ++i) {
    ir::Op& op = typed_.ops.emplace_back(graph.ops[i]);
    try {
      infer_with_bodies(typed_, op);
    } catch (const Error& error) {
      const std::string where = typed_.describe(op);
      throw error.is_at(where) ? error : error.at(where);
    }
  }
}

}  // namespace podium::importer
