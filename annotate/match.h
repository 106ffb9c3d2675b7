// Finds the ops of a graph that a pattern names.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::annotate {

/// A pattern is one of:
/// - a glob ('*', '?', '[...]') on the name of a node, or of its first output; '*' matches '/' too. Without
///   wildcards also all nodes under that name, as those of a function are: "encoder" matches "encoder/Add";
/// - "type:GLOB" on the type of an op;
/// - "A..B": every op on the paths from tensor A to tensor B; A's producer is none of them, B's is the last.
class Matcher {
 public:
  explicit Matcher(const ir::Graph& graph) : graph_(graph) {}

  /// The ops, in order. Error names the nearest name when the pattern matches nothing.
  std::vector<ir::OpId> find(const std::string& pattern) const;

 private:
  std::vector<ir::OpId> find_types(const std::string& glob) const;
  std::vector<ir::OpId> find_names(const std::string& glob) const;
  std::vector<ir::OpId> find_paths(ir::ValueId from, ir::ValueId to) const;
  ir::ValueId tensor(std::string_view name) const;
  [[noreturn]] void refuse_tensor(const std::string& pattern, std::string_view name) const;
  [[noreturn]] void refuse_name(const std::string& pattern) const;

  const ir::Graph& graph_;
};

/// The name of an op for people: its own, else its first output's.
std::string_view name_of(const ir::Graph& graph, const ir::Op& op);

}  // namespace podium::annotate
