// The names that the nodes of one graph, or of one call of a function, can read.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace podium::importer {

/// Names to values of one ir::Graph. In a body, a name that is not defined is looked up outside; a value
/// found there is captured: a value of the body's graph stands for it.
class Scope {
 public:
  struct Capture {
    ir::ValueId outer;
    ir::ValueId inner;
  };

  /// The scope of the main graph, or of a function's call: values defined in it are called `prefix` + name.
  explicit Scope(ir::Graph& graph, std::string prefix = {}) : graph_(graph), prefix_(std::move(prefix)) {}
  /// The scope of a body. `outer` is the scope of the node that has the body; `writer` is the scope in which
  /// the body was written, another one when the body was passed to a function as an attribute.
  Scope(ir::Graph& graph, Scope& outer, Scope& writer) : graph_(graph), outer_(&outer), writer_(&writer) {}

  /// A new value. Error when the scope has the name already.
  ir::ValueId define(const std::string& name);
  /// Another name for a value of the graph; kNoValue: for an optional one that is left out.
  void alias(const std::string& name, ir::ValueId value);
  /// Error when no scope has the name.
  ir::ValueId lookup(const std::string& name);
  bool defines(const std::string& name) const { return names_.contains(name); }

  /// What a value of this name is called in the graph.
  std::string full_name(const std::string& name) const { return prefix_ + name; }

  ir::Graph& graph() { return graph_; }
  const ir::Graph& graph() const { return graph_; }
  /// The scope around a body, nullptr elsewhere.
  const Scope* outer() const { return outer_; }
  /// Outer values that the body reads, each once, in the order in which they were asked for.
  const std::vector<Capture>& captures() const { return captures_; }

 private:
  ir::ValueId capture(ir::ValueId outer);
  ir::ValueId bring_in(ir::ValueId value, const ir::Graph& home);

  ir::Graph& graph_;
  Scope* outer_ = nullptr;
  Scope* writer_ = nullptr;
  std::string prefix_;
  std::unordered_map<std::string, ir::ValueId> names_;
  std::vector<Capture> captures_;
  std::map<ir::ValueId, ir::ValueId> captured_;  ///< by the outer value
};

}  // namespace podium::importer
