#include "importer/scope.h"

namespace podium::importer {

using ir::ValueId;

ValueId Scope::define(const std::string& name) {
  const ValueId id = graph_.add_value(prefix_ + name);
  alias(name, id);
  return id;
}

void Scope::alias(const std::string& name, ValueId value) {
  if (name.empty()) throw Error("a value without a name is defined");
  if (!names_.emplace(name, value).second) throw Error("value '{}' is defined twice", name);
}

ValueId Scope::lookup(const std::string& name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  if (writer_ == nullptr) throw Error("value '{}' is no input, no initializer and no output of a node", name);
  const ValueId value = bring_in(writer_->lookup(name), writer_->graph_);
  names_.emplace(name, value);
  return value;
}

// From the graph `home`, through the bodies between it and this one.
ValueId Scope::bring_in(ValueId value, const ir::Graph& home) {
  if (!value.valid() || &graph_ == &home) return value;
  IR_CHECK(outer_ != nullptr, "a body reads a graph that is not around it");
  return capture(outer_->bring_in(value, home));
}

ValueId Scope::capture(ValueId outer) {
  const auto known = captured_.find(outer);
  if (known != captured_.end()) return known->second;
  const ValueId inner = graph_.add_value(outer_->graph_[outer].name);
  captures_.push_back({outer, inner});
  captured_.emplace(outer, inner);
  return inner;
}

}  // namespace podium::importer
