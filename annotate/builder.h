// Builds models with annotations: for the op that makes a tensor, or for every op made inside a scope.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "annotate/metadata.h"
#include "ir/builder.h"
#include "ir/placement.h"

namespace podium::annotate {

/// An ir::Builder whose ops are annotated. `builder.pipeline_stage(y, 1)` annotates the op that makes y;
/// `const auto scope = builder.in_pipeline_stage(1);` annotates the ops that are made while `scope` lives. An
/// annotation by tensor goes before one by scope.
class Builder {
 public:
  explicit Builder(ir::Graph& graph) : builder_(graph) {}

  /// A scope: while it lives, new ops carry an annotation; afterwards they carry what they did before.
  class [[nodiscard]] Scope {
   public:
    ~Scope() { builder_.current_ = std::move(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class Builder;
    Scope(Builder& builder, std::string_view name, ir::AttributeValue value);

    Builder& builder_;
    std::vector<ir::Attribute> before_;
  };

  // As in ir::Builder.
  ir::ValueId input(std::string name, ir::Type type) {
    return builder_.input(std::move(name), std::move(type));
  }
  ir::ValueId constant(ir::Tensor tensor, std::string_view name = "constant") {
    return builder_.constant(std::move(tensor), name);
  }
  ir::ValueId op(std::string_view type, std::vector<ir::ValueId> inputs,
                 std::vector<ir::Attribute> attributes = {}) {
    return ops("", type, std::move(inputs), 1, std::move(attributes))[0];
  }
  std::vector<ir::ValueId> ops(std::string_view domain, std::string_view type,
                               std::vector<ir::ValueId> inputs, std::size_t outputs,
                               std::vector<ir::Attribute> attributes = {});
  void output(ir::ValueId value) { builder_.output(value); }
  ir::Graph& graph() { return builder_.graph(); }
  const ir::Type& type(ir::ValueId value) const { return builder_.type(value); }

  // Error when no op makes the tensor, or a number is negative.
  void virtual_graph(ir::ValueId value, int processor);
  void pipeline_stage(ir::ValueId value, int stage);
  void execution_phase(ir::ValueId value, int phase);
  void recompute_output(ir::ValueId value, ir::Recompute recompute = ir::Recompute::Recompute);
  void output_tensor_location(ir::ValueId value, const ir::TensorLocation& location);
  void schedule_priority(ir::ValueId value, float priority);
  void tile_set(ir::ValueId value, ir::TileSet tiles);

  /// Settings of the model's inputs and variables; `metadata` goes into the file beside the graph.
  void input_tile_set(ir::ValueId input, ir::TileSet tiles) { input_settings(input).tiles = tiles; }
  void exchange_strategy(ir::ValueId input, ir::ExchangeStrategy exchange) {
    input_settings(input).exchange = exchange;
  }
  void broadcast(ir::ValueId input) { input_settings(input).broadcast = true; }
  void variable_group(ir::ValueId variable, const ir::ReplicaGroup& group);
  Metadata metadata() const { return write_metadata(settings_); }

  Scope in_virtual_graph(int processor);
  Scope in_pipeline_stage(int stage);
  Scope in_execution_phase(int phase);
  Scope in_recompute_output(ir::Recompute recompute = ir::Recompute::Recompute);
  Scope in_output_tensor_location(const ir::TensorLocation& location);
  Scope in_schedule_priority(float priority);
  Scope in_tile_set(ir::TileSet tiles);

 private:
  void annotate(ir::ValueId value, std::string_view name, ir::AttributeValue attribute);
  ir::InputPlacement& input_settings(ir::ValueId input);

  ir::Builder builder_;
  TensorSettings settings_;
  std::vector<ir::Attribute> current_;          // annotations of the scopes that live
  ir::IdMap<ir::ValueId, ir::OpId> producers_;  // the producer of each value, up to op `indexed_`
  std::int64_t indexed_ = 0;
};

}  // namespace podium::annotate
