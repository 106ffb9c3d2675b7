#include "ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podium::ir {
namespace {

TEST(Builder, InfersAsItGoes) {
  Graph graph;
  Builder builder(graph);
  const ValueId x = builder.input("x", Type::tensor(DataType::Float, {2, 3}));
  const ValueId row = builder.constant(Tensor::of<float>({3}, {1, 2, 3}));
  const ValueId sum = builder.op("Add", {x, row});
  EXPECT_EQ(to_string(builder.type(sum)), "float[2,3]");
  builder.output(builder.op("Flatten", {sum}, {{"axis", std::int64_t{0}}}));
  verify(graph);
  EXPECT_EQ(to_string(graph[graph.outputs[0]].type), "float[1,6]");
}

TEST(Builder, GivesSeveralOutputs) {
  Graph graph;
  Builder builder(graph);
  const ValueId x = builder.input("x", Type::tensor(DataType::Float, {4}));
  const auto both = builder.ops("", "TopK", {x, builder.constant(Tensor::ints({2}))}, 2);
  EXPECT_EQ(to_string(builder.type(both[0])), "float[2]");
  EXPECT_EQ(to_string(builder.type(both[1])), "int64[2]");
}

TEST(Builder, RefusesWhatDoesNotFit) {
  Graph graph;
  Builder builder(graph);
  const ValueId x = builder.input("x", Type::tensor(DataType::Float, {2}));
  const ValueId z = builder.input("z", Type::tensor(DataType::Float, {3}));
  EXPECT_THROW(builder.op("Add", {x, z}), Error);
  EXPECT_THROW(builder.op("NoSuchOp", {x}), Error);
}

}  // namespace
}  // namespace podium::ir
