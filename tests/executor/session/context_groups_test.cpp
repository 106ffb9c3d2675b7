// Devices that share out the tokens of a sequence each make a part of the gradient of every weight. Where
// processors do not wait for each other's exchanges these parts are added up where they are made, and come
// together once an update.
#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "ir/passes/set_precision.h"
#include "tests/executor/session/acceptance.h"
#include "tests/support/text_model.h"

namespace podium::testing {
namespace {

constexpr int kGroupTokens = 16;
constexpr int kSamplesAStep = 4;

// A block of a decoder.
importer::Model block_of(ir::DataType type) {
  std::mt19937 random(5);
  std::string weights;
  for (const auto& [name, dims] : {std::pair<const char*, ir::Dims>{"scale", {4}},
                                   {"wq", {4, 4}},
                                   {"wk", {4, 4}},
                                   {"wv", {4, 4}},
                                   {"wo", {4, 4}},
                                   {"up", {4, 8}},
                                   {"down", {8, 4}}}) {
    std::int64_t count = 1;
    for (std::int64_t dim : dims) count *= dim;
    const std::string text = initializer(name, dims, random_numbers(random, count, -0.5, 0.5));
    weights += (weights.empty() ? "" : ", ") + text;
  }
  importer::Model model = model_of(fmt::format(
      "agraph (float[1,{},4] x) => (float loss) <{}> {{ "
      "n = RMSNormalization (x, scale) q = MatMul(n, wq) k = MatMul(n, wk) v = MatMul(n, wv) "
      "a = Attention <q_num_heads = 2, kv_num_heads = 2, is_causal = 1> (q, k, v) p = MatMul(a, wo) "
      "y = Add(x, p) u = MatMul(y, up) r = Relu(u) d = MatMul(r, down) z = Add(y, d) s = Mul(z, z) "
      "loss = ReduceSum <keepdims = 0> (s) }}",
      kGroupTokens, weights));
  if (type != ir::DataType::Float) ir::set_precision(model.graph, type);
  return model;
}

Strategy sharing_out(int groups, int devices, int replicas) {
  Strategy strategy;
  strategy.tensor_parallel = {.devices = devices, .cuts_tokens = devices > 1, .context_groups = groups};
  strategy.replicas = replicas;
  strategy.ipus = groups * devices * replicas;
  strategy.accumulation_factor = kSamplesAStep / replicas;
  strategy.optimizer_state.location.sharded = replicas > 1;
  strategy.optimizer_state.min_elements_for_sharding = 1;
  return strategy;
}

TrainingOptions on_gpus(const Strategy& strategy) {
  TrainingOptions options = training_with(strategy, 0.05);
  options.optimizer = ir::make_optimizer("Adam", {{"learningRate", {0.01}}, {"eps", {1e-3}}});
  options.loss = "loss";
  options.session.device = *device::find_preset("a100-80");
  return options;
}

ir::Tensor singles(const ir::Tensor& tensor) { return ir::in_precision(tensor, ir::DataType::Float); }

TEST(ContextGroups, TrainAsOneProcessorDoes) {
  std::mt19937 random(9);
  const ir::Tensor samples = random_tensor(random, {kSamplesAStep, kGroupTokens, 4}, -1, 1);
  for (const auto& [type, least] : {std::pair{ir::DataType::Float, 1e-4}, {ir::DataType::Float16, 0.05}}) {
    const std::vector<ir::Datum> inputs{ir::in_precision(samples, type)};
    const Trained alone = train(block_of(type), on_gpus(sharing_out(1, 1, 1)), {inputs, inputs});
    for (const auto& [groups, devices, replicas] :
         {std::tuple{2, 1, 1}, {4, 1, 1}, {2, 2, 1}, {2, 1, 2}, {2, 2, 2}}) {
      SCOPED_TRACE(fmt::format("{} groups of {}, {} replicas, {}", groups, devices, replicas, name_of(type)));
      const Trained cut =
          train(block_of(type), on_gpus(sharing_out(groups, devices, replicas)), {inputs, inputs});
      for (const auto& [name, weight] : alone.weights)
        EXPECT_LT(distance(singles(cut.weights.at(name)), singles(weight)), least) << name;
    }
  }
}

// Whether a gradient crosses between processors with each micro-batch.
bool sends_gradients(const std::vector<executor::Step>& steps, const executor::Program& program,
                     bool is_repeated = false) {
  return std::ranges::any_of(steps, [&](const executor::Step& step) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
      return sends_gradients(repeat->body, program, true);
    const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&step.action);
    return is_repeated && copy != nullptr &&
           std::ranges::any_of(copy->transfers, [&](const executor::Transfer& one) {
             return program[one.to.buffer].name.starts_with("Gradient___w");
           });
  });
}

TEST(ContextGroups, SendSumsOfGradientsOnceAnUpdate) {
  for (ir::DataType type : {ir::DataType::Float, ir::DataType::Float16}) {
    TrainingOptions options = on_gpus(sharing_out(2, 1, 2));
    const TrainingSession apart(block_of(type), options);
    EXPECT_FALSE(sends_gradients(apart.program().steps, apart.program())) << name_of(type);
    options.session.device = *device::find_preset("ipu-pod16");
    const TrainingSession together(block_of(type), options);
    EXPECT_TRUE(sends_gradients(together.program().steps, together.program())) << name_of(type);
  }
}

}  // namespace
}  // namespace podium::testing
