// Which layer of the model each op of a Program belongs to, those that training appends as well.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "executor/program.h"

namespace podium::cli {

/// The layer of each value by its name, "" where several layers or none have a part in it.
using ValueLayers = std::map<std::string, std::string>;

/// Layers of what blocks make. An op that has a name says its layer itself, and so does a value of the model;
/// what an update computes belongs to the weight that it is for, and all else to what it is made from.
class OpLayers {
 public:
  /// `model` are the names of the model's own values where it trains; empty: all values are.
  OpLayers(const executor::Program& program, const std::set<std::string>& model);

  /// Of all values that the ops of the step's block make. None where an engine has taken the block's graph.
  ValueLayers of(const executor::Compute& step) const;

 private:
  std::optional<std::string> told(const ir::Graph& graph, const ir::Op& op) const;
  void find_weights(const std::vector<executor::Step>& steps);
  void note_readers(const executor::Compute& step);
  void note_transfers(const executor::Step& step);
  bool is_weight(executor::BufferId buffer) const;
  std::string layer_of_weight(executor::BufferId buffer) const;

  const executor::Program& program_;
  const std::set<std::string>& model_;
  std::map<executor::BufferId, std::string> weights_;  ///< and of what moves there
};

}  // namespace podium::cli
