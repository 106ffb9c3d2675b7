// Compares a block that the engine has rewritten for speed with the same block as it was given.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/datum.h"
#include "ir/graph.h"

namespace podium::testing {

/// Floats in [-1, 1), the same every time for the same seed.
ir::Tensor random_floats(ir::Dims dims, int seed);

/// The ops of a graph, a line each, without types: "y = Relu(x)".
std::string ops_of(const ir::Graph& graph);

/// The outputs of one run on random inputs (0 and 1 where they are whole numbers).
std::vector<ir::Tensor> run_graph(const ir::Graph& graph, bool fuse);

/// The outputs of one run on these inputs.
std::vector<ir::Tensor> run_graph(const ir::Graph& graph, bool fuse, const std::vector<ir::Datum>& inputs);

/// Every output of the rewritten graph is within `tolerance`, relative to the larger of 1 and its size.
void expect_same_when_fused(const ir::Graph& graph, double tolerance = 1e-5);

/// A graph under construction with short words for what tests need.
struct Sketch {
  ir::Graph graph;
  ir::Builder builder{graph};

  ir::ValueId input(ir::Dims dims);
  /// Uniform in [-limit, limit).
  ir::ValueId weight(ir::Dims dims, float limit = 1.0F);
  ir::ValueId number(float value);
  /// Of float16 or bfloat16.
  ir::ValueId narrow_weight(ir::Dims dims, ir::DataType type);
  ir::ValueId cast(ir::ValueId x, ir::DataType to);
  ir::ValueId op(std::string_view type, std::vector<ir::ValueId> inputs,
                 std::vector<ir::Attribute> attributes = {}) {
    return builder.op(type, std::move(inputs), std::move(attributes));
  }
  ir::ValueId ints(std::vector<std::int64_t> values) {
    return builder.constant(ir::Tensor::ints(values), "ints");
  }
  void output(ir::ValueId value) { builder.output(value); }

 private:
  int seed_ = 0;
};

}  // namespace podium::testing
