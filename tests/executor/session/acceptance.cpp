#include "tests/executor/session/acceptance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ir/annotation.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

// The arrays of several runs, one behind the other.
ir::Tensor joined(const std::vector<ir::Tensor>& parts) {
  ir::Dims dims = parts.front().dims();
  dims.insert(dims.begin(), std::ssize(parts));
  ir::Tensor whole(parts.front().type(), dims);
  auto* next = static_cast<std::byte*>(whole.raw());
  for (const ir::Tensor& part : parts) {
    std::memcpy(next, part.raw(), part.bytes());
    next += part.bytes();
  }
  return whole;
}

}  // namespace

importer::Model model_of(const std::string& body, const std::vector<int>& processors,
                         const std::vector<int>& stages) {
  importer::Model model = model_of(body);
  for (std::size_t i = 0; i < model.graph.ops.size(); ++i) {
    ir::set_attribute(model.graph.ops[i], ir::kVirtualGraph, std::int64_t{processors.at(i)});
    ir::set_attribute(model.graph.ops[i], ir::kPipelineStage,
                      std::int64_t{stages.empty() ? processors.at(i) : stages.at(i)});
  }
  return model;
}

std::vector<float> random_numbers(std::mt19937& random, std::int64_t count, float low, float high) {
  constexpr float kRange = 16777216.0F;  // 24 bits, which a float holds
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = low + (high - low) * static_cast<float>(random() >> 8U) / kRange;
  return numbers;
}

ir::Tensor random_tensor(std::mt19937& random, ir::Dims dims, float low, float high) {
  const std::int64_t count = ir::element_count(dims);
  return tensor<float>(std::move(dims), random_numbers(random, count, low, high));
}

std::string initializer(const std::string& name, const ir::Dims& dims, const std::vector<float>& values) {
  return fmt::format("float[{}] {} = {{{}}}", fmt::join(dims, ","), name, fmt::join(values, ","));
}

TrainingOptions training_with(const Strategy& strategy, double learning_rate) {
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = strategy;
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {learning_rate}}});
  return options;
}

Strategy pipeline_of(int processors, int batches, int accumulation) {
  return {.virtual_graph_mode = VirtualGraphMode::Manual,
          .ipus = processors,
          .pipelining = true,
          .batches_per_step = batches,
          .accumulation_factor = accumulation};
}

Trained train(importer::Model model, TrainingOptions options,
              const std::vector<std::vector<ir::Datum>>& runs) {
  options.session.fuse = false;
  TrainingSession session(std::move(model), options);
  std::map<std::string, std::vector<ir::Tensor>> outputs;
  for (const std::vector<ir::Datum>& inputs : runs) {
    const auto results = session.run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      outputs[session.outputs()[i].name].push_back(results[i].tensor.clone());
    }
  }
  Trained trained;
  for (const auto& [name, parts] : outputs) trained.outputs[name] = joined(parts);
  for (const auto& [name, value] : session.weights()) trained.weights[name] = value.clone();
  for (const auto& [name, value] : session.optimizer_state()) trained.state[name] = value.clone();
  return trained;
}

std::string training_refusal(importer::Model model, const TrainingOptions& options) {
  return refusal([&] { TrainingSession(std::move(model), options); });
}

std::string inference_refusal(importer::Model model, const Strategy& options) {
  return refusal([&] { InferenceSession(std::move(model), {.strategy = options}); });
}

double distance(const ir::Tensor& a, const ir::Tensor& b) {
  EXPECT_EQ(a.dims(), b.dims());
  const auto left = a.values<float>();
  const auto right = b.values<float>();
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += std::fabs(static_cast<double>(left[i]) - right[i]);
  return sum;
}

}  // namespace podium::testing
