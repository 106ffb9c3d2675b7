#include "tests/support/fusing.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "executor/kernels/tools/convert.h"
#include "executor/numeric/prepared_block.h"

namespace podium::testing {

using ir::Tensor;
using ir::ValueId;

Tensor random_floats(ir::Dims dims, int seed) {
  Tensor tensor(ir::DataType::Float, std::move(dims));
  std::mt19937 generator(static_cast<unsigned>(seed));
  for (float& value : tensor.values<float>())
    value = static_cast<float>(generator() >> 8) / 8388608.0F - 1.0F;
  return tensor;
}

std::string ops_of(const ir::Graph& graph) {
  std::istringstream lines(print(graph));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" = ") != std::string::npos) text += line.substr(0, line.find("  #")) + "\n";
  }
  return text;
}

std::vector<Tensor> run_graph(const ir::Graph& graph, bool fuse) {
  std::vector<ir::Datum> inputs;
  int seed = 100;
  for (ValueId id : graph.inputs) inputs.emplace_back(random_floats(graph[id].type.dims, seed++));
  return run_graph(graph, fuse, inputs);
}

std::vector<Tensor> run_graph(const ir::Graph& graph, bool fuse, const std::vector<ir::Datum>& inputs) {
  numeric::PreparedBlock block(graph, {.fuse = fuse});
  std::vector<const ir::Datum*> pointers;
  for (const ir::Datum& input : inputs) pointers.push_back(&input);
  std::vector<Tensor> results;
  for (const ir::Datum* result : block.run(pointers)) results.push_back(result->tensor.clone());
  return results;
}

void expect_same_when_fused(const ir::Graph& graph, double tolerance) {
  const std::vector<Tensor> expected = run_graph(graph, false);
  const std::vector<Tensor> found = run_graph(graph, true);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].dims(), expected[i].dims());
    for (std::int64_t k = 0; k < found[i].size(); ++k) {
      const double wanted = expected[i].data<float>()[k];
      ASSERT_NEAR(found[i].data<float>()[k], wanted, tolerance * std::max(1.0, std::abs(wanted)))
          << "output " << i << " element " << k;
    }
  }
}

ValueId Sketch::input(ir::Dims dims) {
  return builder.input(fmt::format("x{}", graph.inputs.size()),
                       ir::Type::tensor(ir::DataType::Float, std::move(dims)));
}

ValueId Sketch::weight(ir::Dims dims, float limit) {
  const int seed = ++seed_;
  Tensor tensor = random_floats(std::move(dims), seed);
  for (float& value : tensor.values<float>()) value *= limit;
  return graph.add_constant(fmt::format("w{}", seed), std::move(tensor));
}

ValueId Sketch::narrow_weight(ir::Dims dims, ir::DataType type) {
  const Tensor floats = random_floats(std::move(dims), seed_++);
  Tensor narrow(type, floats.dims());
  kernels::from_float(floats.data<float>(), narrow, 0, floats.size());
  return builder.constant(std::move(narrow), "narrow");
}

ValueId Sketch::cast(ValueId x, ir::DataType to) {
  return op("Cast", {x}, {{"to", std::int64_t{static_cast<int>(to)}}});
}

ValueId Sketch::number(float value) {
  return graph.add_constant(fmt::format("{}", value), Tensor::scalar(value));
}

}  // namespace podium::testing
