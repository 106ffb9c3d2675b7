#include "annotate/builder.h"

#include <algorithm>
#include <ranges>

#include "annotate/annotations.h"

namespace podium::annotate {
namespace {

std::int64_t not_negative(std::string_view what, int number) {
  if (number < 0) throw Error("bad {} {} found, 0 or more needed", what, number);
  return number;
}

std::int64_t processor_number(int number) { return not_negative("virtual graph", number); }
std::int64_t stage_number(int number) { return not_negative("pipeline stage", number); }
std::int64_t phase_number(int number) { return not_negative("execution phase", number); }

template <class Enum>
std::int64_t number_of(Enum value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

Builder::Scope::Scope(Builder& builder, std::string_view name, ir::AttributeValue value)
    : builder_(builder), before_(builder.current_) {
  std::erase_if(builder.current_, [&](const ir::Attribute& attribute) { return attribute.name == name; });
  builder.current_.push_back({std::string(name), std::move(value)});
}

std::vector<ir::ValueId> Builder::ops(std::string_view domain, std::string_view type,
                                      std::vector<ir::ValueId> inputs, std::size_t outputs,
                                      std::vector<ir::Attribute> attributes) {
  for (const ir::Attribute& annotation : current_) {
    const bool is_given = std::any_of(attributes.begin(), attributes.end(), [&](const ir::Attribute& given) {
      return given.name == annotation.name;
    });
    if (!is_given) attributes.push_back(annotation);
  }
  return builder_.ops(domain, type, std::move(inputs), outputs, std::move(attributes));
}

void Builder::annotate(ir::ValueId value, std::string_view name, ir::AttributeValue attribute) {
  ir::Graph& made = graph();
  producers_.resize(std::ssize(made.values));
  for (ir::OpId op : made.op_ids() | std::views::drop(indexed_)) {
    for (ir::ValueId output : outputs_of(made[op])) producers_[output] = op;
  }
  indexed_ = std::ssize(made.ops);
  const ir::OpId op = producers_[value];
  if (!op.valid())
    throw Error("tensor '{}': no op makes it, so there is nothing to annotate", made[value].name);
  set_attribute(made[op], name, std::move(attribute));
}

void Builder::virtual_graph(ir::ValueId value, int processor) {
  annotate(value, kVirtualGraph, processor_number(processor));
}
void Builder::pipeline_stage(ir::ValueId value, int stage) {
  annotate(value, kPipelineStage, stage_number(stage));
}
void Builder::execution_phase(ir::ValueId value, int phase) {
  annotate(value, kExecutionPhase, phase_number(phase));
}
void Builder::recompute_output(ir::ValueId value, ir::Recompute recompute) {
  annotate(value, kRecompute, number_of(recompute));
}
void Builder::output_tensor_location(ir::ValueId value, const ir::TensorLocation& location) {
  annotate(value, kOutputLocation, location_to_ints(location));
}
void Builder::schedule_priority(ir::ValueId value, float priority) { annotate(value, kPriority, priority); }
void Builder::tile_set(ir::ValueId value, ir::TileSet tiles) { annotate(value, kTileSet, number_of(tiles)); }

ir::InputPlacement& Builder::input_settings(ir::ValueId input) {
  const auto& inputs = graph().inputs;
  const std::string& name = graph()[input].name;
  if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) {
    throw Error("tensor '{}': is no input of the model", name);
  }
  return settings_.inputs[name];
}

void Builder::variable_group(ir::ValueId variable, const ir::ReplicaGroup& group) {
  const std::string& name = graph()[variable].name;
  if (!graph().is_constant(variable)) throw Error("tensor '{}': is no variable of the model", name);
  settings_.variable_groups[name] = group;
}

Builder::Scope Builder::in_virtual_graph(int processor) {
  return {*this, kVirtualGraph, processor_number(processor)};
}
Builder::Scope Builder::in_pipeline_stage(int stage) { return {*this, kPipelineStage, stage_number(stage)}; }
Builder::Scope Builder::in_execution_phase(int phase) {
  return {*this, kExecutionPhase, phase_number(phase)};
}
Builder::Scope Builder::in_recompute_output(ir::Recompute recompute) {
  return {*this, kRecompute, number_of(recompute)};
}
Builder::Scope Builder::in_output_tensor_location(const ir::TensorLocation& location) {
  return {*this, kOutputLocation, location_to_ints(location)};
}
Builder::Scope Builder::in_schedule_priority(float priority) { return {*this, kPriority, priority}; }
Builder::Scope Builder::in_tile_set(ir::TileSet tiles) { return {*this, kTileSet, number_of(tiles)}; }

}  // namespace podium::annotate
