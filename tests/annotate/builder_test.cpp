#include "annotate/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "annotate/place.h"
#include "importer/export_graph.h"
#include "importer/import.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"

namespace podium::annotate {
namespace {

using ::testing::HasSubstr;

struct Model {
  ir::Graph graph;
  Builder builder{graph};
  ir::ValueId x = builder.input("x", ir::Type::tensor(ir::DataType::Float, {2}));
};

// "a, b": the annotations of each op, as print shows them.
std::vector<std::string> annotations(const ir::Graph& graph) {
  std::vector<std::string> all;
  for (const ir::Op& op : graph.ops) {
    std::string text;
    for (const ir::Attribute& attribute : op.attributes) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", attribute.name, to_string(attribute.value));
    }
    all.push_back(text);
  }
  return all;
}

using Lines = std::vector<std::string>;

TEST(AnnotatingBuilder, AnnotatesTheOpThatMakesATensor) {
  Model model;
  Builder& builder = model.builder;
  const ir::ValueId a = builder.op("Relu", {model.x});
  const ir::ValueId b = builder.op("Neg", {a});
  builder.virtual_graph(b, 1);
  builder.pipeline_stage(b, 2);
  builder.execution_phase(a, 3);
  builder.recompute_output(a);
  builder.tile_set(a, ir::TileSet::IO);
  builder.schedule_priority(b, 1.5F);
  builder.output_tensor_location(b, {.storage = ir::Storage::OffChip});
  EXPECT_EQ(annotations(model.graph),
            (Lines{"__execution_phase=3 __recompute_output_in_backward_pass=2 __tile_set=1",
                   "__ipu_number=1 __pipeline_stage=2 __schedule_priority=1.5 "
                   "__output_tensor_location=[1,0,0,0,0,0]"}));
}

TEST(AnnotatingBuilder, ScopesNestAndRestore) {
  Model model;
  Builder& builder = model.builder;
  ir::ValueId y = model.x;
  {
    const auto outer = builder.in_pipeline_stage(1);
    y = builder.op("Relu", {y});
    {
      const auto inner = builder.in_pipeline_stage(2);
      const auto processor = builder.in_virtual_graph(3);
      y = builder.op("Relu", {y});
    }
    y = builder.op("Relu", {y});
  }
  builder.op("Relu", {y});
  EXPECT_EQ(annotations(model.graph),
            (Lines{"__pipeline_stage=1", "__pipeline_stage=2 __ipu_number=3", "__pipeline_stage=1", ""}));
}

TEST(AnnotatingBuilder, WhatATensorIsGivenCountsBeforeItsScope) {
  Model model;
  const auto scope = model.builder.in_execution_phase(1);
  model.builder.execution_phase(model.builder.op("Relu", {model.x}), 4);
  EXPECT_EQ(annotations(model.graph), Lines{"__execution_phase=4"});
}

TEST(AnnotatingBuilder, RefusesATensorThatNoOpMakesAndNegativeNumbers) {
  Model model;
  EXPECT_EQ(testing::refusal([&] { model.builder.virtual_graph(model.x, 1); }),
            "tensor 'x': no op makes it, so there is nothing to annotate");
  EXPECT_EQ(testing::refusal([&] { const auto scope = model.builder.in_pipeline_stage(-1); }),
            "bad pipeline stage -1 found, 0 or more needed");
}

TEST(AnnotatingBuilder, WritesWhatItIsToldOfInputsAndVariables) {
  Model model;
  Builder& builder = model.builder;
  const ir::ValueId w = builder.constant(ir::Tensor::of<float>({2}, {1, 2}), "w");
  builder.output(builder.op("Mul", {model.x, w}));
  builder.input_tile_set(model.x, ir::TileSet::IO);
  builder.exchange_strategy(model.x, ir::ExchangeStrategy::OverlapLoops);
  builder.broadcast(model.x);
  builder.variable_group(w, {ir::GroupType::Orthogonal, 2});
  EXPECT_THAT(testing::refusal([&] { builder.broadcast(w); }), HasSubstr("is no input of the model"));
  EXPECT_EQ(testing::refusal([&] { builder.variable_group(model.x, {}); }),
            "tensor 'x': is no variable of the model");
  const testing::TemporaryFolder folder;
  importer::export_graph(model.graph, folder.file("model.onnx"), {.metadata = builder.metadata()});
  const importer::Model read = importer::import_model(folder.file("model.onnx"));
  check(read.graph, read.info.metadata, {});
  const ir::Placement placement = place(read.graph, read.info.metadata, {});
  const ir::InputPlacement& input = placement.inputs.at("x");
  EXPECT_EQ(input.tiles, ir::TileSet::IO);
  EXPECT_EQ(input.exchange, ir::ExchangeStrategy::OverlapLoops);
  EXPECT_TRUE(input.broadcast);
  const ir::ReplicaGroup pairs{ir::GroupType::Orthogonal, 2};
  EXPECT_EQ(placement.variable_groups.at(model.graph[w].name), pairs);
}

TEST(AnnotatingBuilder, AModelThatIsBuiltWrittenAndReadIsPlaced) {
  Model model;
  Builder& builder = model.builder;
  ir::ValueId y = model.x;
  for (int stage = 0; stage < 3; ++stage) {
    const auto processor = builder.in_virtual_graph(stage % 2);
    const auto scope = builder.in_pipeline_stage(stage);
    y = builder.op("Mul", {y, builder.constant(ir::Tensor::of<float>({2}, {1, 2}))});
  }
  const ir::ValueId last = builder.op("Relu", {y});
  builder.output(last);
  const testing::TemporaryFolder folder;
  importer::export_graph(model.graph, folder.file("model.onnx"));
  const importer::Model read = importer::import_model(folder.file("model.onnx"));
  const Request request{.mode = Mode::Manual, .pipelining = true, .processors = 2};
  EXPECT_THAT(testing::refusal([&] { check(read.graph, read.info.metadata, request); }),
              HasSubstr("1 have none: node 'Relu:"));
  builder.virtual_graph(last, 0);
  builder.pipeline_stage(last, 2);
  importer::export_graph(model.graph, folder.file("model.onnx"));
  const importer::Model again = importer::import_model(folder.file("model.onnx"));
  check(again.graph, again.info.metadata, request);
  const ir::Placement placement = place(again.graph, again.info.metadata, request);
  EXPECT_EQ(placement.stages, 3);
  EXPECT_EQ(placement.ops[3].processor, 0);
  EXPECT_EQ(placement.ops[3].stage, 2);
  EXPECT_EQ(placement.ops[1].processor, 1);
}

}  // namespace
}  // namespace podium::annotate
