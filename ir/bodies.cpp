#include "ir/bodies.h"

#include <algorithm>

namespace podium::ir {
namespace {

bool edit_body(Body& body, const std::function<bool(Graph&)>& edit) {
  Graph copy = *body;
  if (!edit(copy)) return false;
  body = std::make_shared<const Graph>(std::move(copy));
  return true;
}

}  // namespace

bool has_body(const Op& op) {
  // The rows of a few ops say that they have one, and so spare a look at the attributes of all others.
  const auto is_body = [](const AttributeSpec& one) {
    return one.kind == AttributeKind::Graph || one.kind == AttributeKind::Graphs;
  };
  if (std::ranges::none_of(op.spec->attributes, is_body)) return false;
  return std::any_of(op.attributes.begin(), op.attributes.end(), [](const Attribute& candidate) {
    return std::holds_alternative<Body>(candidate.value) ||
           std::holds_alternative<std::vector<Body>>(candidate.value);
  });
}

bool edit_bodies(Op& op, const std::function<bool(Graph&)>& edit) {
  bool changed = false;
  for (Attribute& attribute : op.attributes) {
    if (Body* body = std::get_if<Body>(&attribute.value)) changed |= edit_body(*body, edit);
    if (auto* bodies = std::get_if<std::vector<Body>>(&attribute.value)) {
      for (Body& body : *bodies) changed |= edit_body(body, edit);
    }
  }
  return changed;
}

}  // namespace podium::ir
