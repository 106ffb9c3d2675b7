#pragma once

#include "importer/scope.h"

namespace podium::importer {

/// The types of a graph that is being read, as far as they follow from what has been read. Each op is
/// inferred once, however often somebody asks.
class TypesSoFar {
 public:
  /// `around`: those of the graph around a body.
  explicit TypesSoFar(const Scope& scope, TypesSoFar* around = nullptr) : scope_(scope), around_(around) {}

  TypesSoFar* around() const { return around_; }
  /// Error when an op that has been read does not fit its inputs.
  const ir::Type& of(ir::ValueId id);

 private:
  void catch_up();

  const Scope& scope_;
  TypesSoFar* around_;
  ir::Graph typed_;
  std::size_t captures_ = 0;  ///< whose types have been taken over
};

}  // namespace podium::importer
