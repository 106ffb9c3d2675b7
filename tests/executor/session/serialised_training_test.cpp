// Batch serialisation in training: the slices of a micro-batch train as the whole does.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "executor/session/training_session.h"
#include "ir/passes/set_precision.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::model_of;
using ::testing::Pointwise;
using testing::tensor;
using testing::values;

// Two layers and a squared error; "{}" is its reduction.
constexpr const char* kSerialisedLayers =
    R"(agraph (float[8,3] x, float[8,3] wanted) => (float loss, float[8,3] d)
  <float[3,3] w0 = {{0.1,0.2,0.3, -0.1,0.4,0.2, 0.5,-0.2,0.1}}, float[3] b0 = {{0.1,0.1,0.1}},
   float[3,3] w1 = {{0.3,-0.2,0.1, 0.2,0.1,-0.3, 0.1,0.1,0.4}}>
  {{ a = MatMul(x, w0) c = Add(a, b0) d = Tanh(c)
    e = MatMul(d, w1) g = Sub(e, wanted) h = Mul(g, g) loss = {} <keepdims = 0> (h) }})";

// Steps first, then samples; what the cell holds before the first step has its samples on the second axis
// too.
constexpr const char* kLstm = R"(agraph (float[3,8,2] x, float[8,1] wanted) => (float loss)
  <float[1,8,2] w = {0.1,0.2,0.3,-0.1,0.4,0.2,0.5,-0.2, 0.1,0.3,-0.2,0.1,0.2,0.1,-0.3,0.1},
   float[1,8,2] r = {0.1,-0.3,0.2,0.1,0.2,-0.4,0.1,0.2,-0.1,0.3,0.2,0.1,0.2,-0.1,-0.2,0.1},
   float[1,8,2] start = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, float[2,1] out = {0.5,-0.4}, int64[1] first = {0}>
  { y, last = LSTM <hidden_size = 2> (x, w, r, , , start)
    state = Squeeze(last, first) e = MatMul(state, out) g = Sub(e, wanted) h = Mul(g, g)
    loss = ReduceMean <keepdims = 0> (h) })";

ir::Tensor drawn(ir::Dims dims, std::mt19937& random) {
  std::uniform_real_distribution<float> range(-1, 1);
  std::vector<float> numbers(static_cast<std::size_t>(ir::element_count(dims)));
  for (float& number : numbers) number = range(random);
  return tensor<float>(dims, numbers);
}

struct Result {
  std::map<std::string, std::vector<float>> tensors;
};

// Three steps with Adam; what comes back in the last one, and all weights.
Result train(const std::string& body, Strategy strategy, int factor,
             const std::vector<std::string>& weights = {}) {
  strategy.batch_serialization.factor = factor;
  TrainingOptions options{.loss = "loss", .weights = weights};
  options.session.strategy = strategy;
  options.optimizer = ir::make_optimizer("Adam", {{"learningRate", {0.01}}});
  TrainingSession session(model_of(body), options);
  std::mt19937 random(3);
  Result result;
  for (int step = 0; step < 3; ++step) {
    std::vector<ir::Datum> inputs;
    for (const executor::HostTensor& input : session.inputs()) {
      ir::Dims dims = whole_type(input).dims;
      const int count = strategy.batches_per_step * strategy.accumulation_factor * strategy.replicas;
      if (count > 1) dims.insert(dims.begin(), count);
      inputs.emplace_back(drawn(dims, random));
    }
    const auto outputs = session.run(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = session.outputs()[i].name;
      result.tensors[name + " " + ir::to_string(outputs[i].tensor.dims())] = values<float>(outputs[i].tensor);
    }
  }
  for (const auto& [name, weight] : session.weights()) result.tensors[name] = values<float>(weight);
  return result;
}

// Sums of the same numbers in another order.
void expect_equal(const Result& found, const Result& wanted) {
  ASSERT_EQ(found.tensors.size(), wanted.tensors.size());
  for (const auto& [name, numbers] : wanted.tensors) {
    ASSERT_TRUE(found.tensors.contains(name)) << name;
    EXPECT_THAT(found.tensors.at(name), Pointwise(FloatNear(1e-5F), numbers)) << name;
  }
}

std::string refusal(const std::string& body, const Strategy& strategy) {
  return testing::refusal([&] {
    TrainingOptions options{.loss = "loss", .weights = {}};
    options.session.strategy = strategy;
    options.optimizer = ir::make_optimizer("Adam");
    TrainingSession session(model_of(body), options);
  });
}

TEST(SerialisedTraining, FourSlicesTrainAsTheWholeMicroBatch) {
  for (const char* reduction : {"ReduceMean", "ReduceSum"}) {
    const std::string body = fmt::format(fmt::runtime(kSerialisedLayers), reduction);
    expect_equal(train(body, {}, 4), train(body, {}, 1));
    const Strategy mean{.batches_per_step = 2, .accumulation_factor = 3, .reduction = Reduction::Mean};
    expect_equal(train(body, mean, 4), train(body, mean, 1));
  }
}

TEST(SerialisedTraining, ALstmsSamplesAreOnItsSecondAxis) {
  const std::vector<std::string> weights{"w", "r", "out"};
  expect_equal(train(kLstm, {}, 4, weights), train(kLstm, {}, 1, weights));
}

// The loss of a micro-batch, gradients of its weights and of what each sample has, however much of them comes
// back.
TEST(SerialisedTraining, TensorsComeBackAsOfTheWholeMicroBatch) {
  for (const AnchorReturn returns :
       {AnchorReturn::All, AnchorReturn::Final, AnchorReturn::Sum, AnchorReturn::EveryN}) {
    SCOPED_TRACE(static_cast<int>(returns));
    Strategy options{.batches_per_step = 4, .accumulation_factor = 2, .reduction = Reduction::Mean};
    options.mean_strategy = MeanStrategy::Running;
    for (const char* name : {"Gradient___w0", "Gradient___d", "d"})
      options.anchors[name] = {.returns = returns, .every = 2};
    const std::string body = fmt::format(fmt::runtime(kSerialisedLayers), "ReduceMean");
    expect_equal(train(body, options, 4), train(body, options, 1));
  }
}

// The model of PopART's batchserialize_ir_test: 6 segments that take turns on two processors, a product and a
// Relu in each on processor 0, two of both on processor 1, and the loss 0.1 * |y| on it.
std::string taking_turns() {
  const std::string zeros = fmt::format("{{{}}}", fmt::join(std::vector<int>(10000, 0), ","));
  std::string weights;
  std::string ops;
  std::string last = "x";
  int layer = 0;
  for (int segment = 0; segment < 6; ++segment) {
    for (int i = 0; i <= segment % 2; ++i, ++layer) {
      weights += fmt::format("float[100,100] w{} = {}, ", layer, zeros);
      ops += fmt::format(
          "m{0} = MatMul <__ipu_number = {1}> ({2}, w{0}) r{0} = Relu <__ipu_number = {1}> (m{0})\n", layer,
          segment % 2, last);
      last = fmt::format("r{}", layer);
    }
  }
  return fmt::format(
      "agraph (float[6,100] x) => (float loss) <{}float lambda = {{0.1}}> {{\n{}"
      "a = Abs <__ipu_number = 1> ({}) s = ReduceMean <keepdims = 0, __ipu_number = 1> (a)"
      "loss = Mul <__ipu_number = 1> (s, lambda) }}",
      weights, ops, last);
}

// Three slices of two samples: every slice runs the same blocks, and crosses each of the five cuts once
// forward and once backward. PopART has as many copies, 4 * 3 - 2, by default each of the whole batch put
// together (concatOnVirtualGraphChange); here a slice goes on as soon as it is there, so that no processor
// holds what other slices send, and the bytes are the same.
TEST(SerialisedTraining, EverySliceRunsTheSameBlocksAndCopies) {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::Manual};
  strategy.batch_serialization.factor = 3;
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = strategy;
  options.session.clock = options.session.estimate = true;  // the engine would take the blocks' ops
  const TrainingSession session(model_of(taking_turns()), options);
  const executor::Program& program = session.program();
  int loops = 0;
  for (const executor::Step& step : program.steps) {
    const auto* repeat = std::get_if<executor::Repeat>(&step.action);
    if (repeat == nullptr) {
      EXPECT_FALSE(std::holds_alternative<executor::LoadFromHost>(step.action));
      EXPECT_FALSE(std::holds_alternative<executor::CopyBetweenProcessors>(step.action));
      continue;
    }
    ++loops;
    EXPECT_EQ(repeat->count, 3);
    std::vector<ir::Dims> copied;
    std::size_t products = 0;
    for (const executor::Step& inner : repeat->body) {
      if (const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&inner.action)) {
        ASSERT_EQ(copy->transfers.size(), 1U);
        copied.push_back(program[copy->transfers[0].from.buffer].type.dims);
      } else if (const auto* compute = std::get_if<executor::Compute>(&inner.action)) {
        const std::vector<ir::Op>& ops = program[compute->block].graph.ops;
        products += static_cast<std::size_t>(
            std::count_if(ops.begin(), ops.end(), [](const ir::Op& op) { return op.is("MatMul"); }));
      }
    }
    EXPECT_EQ(copied, std::vector<ir::Dims>(10, {2, 100}));
    // 9 forward; backward one for each weight, and one for what each but the first reads.
    EXPECT_EQ(products, 9U + 9U + 8U);
  }
  EXPECT_EQ(loops, 1);
}

// The update of each phase reads the loss scale of the micro-batch, which the phase of the loss has made in
// its loop over slices, on another processor.
TEST(SerialisedTraining, UpdatesOfOtherPhasesReadWhatTheLastSliceHasLeft) {
  const auto trained = [](const Strategy& strategy) {
    importer::Model model = model_of(fmt::format(fmt::runtime(kSerialisedLayers), "ReduceMean"));
    ir::set_precision(model.graph, ir::DataType::Float16);
    TrainingOptions options{.loss = "loss"};
    options.session.strategy = strategy;
    options.session.fuse = false;
    options.session.strategy.loss_scaling.automatic = true;
    options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.1}}});
    options.optimizer.loss_scaling = {8, false};
    TrainingSession session(std::move(model), options);
    std::mt19937 random(3);
    for (int step = 0; step < 2; ++step) {
      std::vector<ir::Datum> inputs;
      for (const executor::HostTensor& input : session.inputs())
        inputs.emplace_back(ir::in_precision(drawn(whole_type(input).dims, random), ir::DataType::Float16));
      session.run(inputs);
    }
    return session.weights();
  };
  Strategy slices;
  slices.batch_serialization.factor = 2;
  const TensorsByName wanted = trained(slices);
  Strategy phases = slices;
  phases.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  phases.phases.phases = 2;
  for (const IoMode mode : {IoMode::Compute, IoMode::Io, IoMode::IoOverlapped}) {
    phases.batch_serialization.io_mode = mode;
    phases.io_tiles = mode == IoMode::Compute ? 0 : 64;
    for (const auto& [name, weight] : trained(phases))
      EXPECT_TRUE(ir::identical(weight, wanted.at(name))) << name << " " << static_cast<int>(mode);
  }
}

TEST(SerialisedTraining, RefusesWhatHasNoSlices) {
  Strategy options;
  options.batch_serialization.factor = 3;
  const std::string body = fmt::format(fmt::runtime(kSerialisedLayers), "ReduceMean");
  EXPECT_THAT(refusal(body, options),
              HasSubstr("input 'x': a batch of 8 found, a multiple of 3 slices needed"));
  options.batch_serialization.factor = 2;
  options.anchors["Accl1___w0"] = {};
  EXPECT_THAT(refusal(body, options), HasSubstr("output 'Accl1___w0': it is not known"));
  EXPECT_THAT(refusal(kLstm, {.batch_serialization = {.factor = 2}}),
              HasSubstr("initial_h is [1,8,2], [1,4,2] needed"));
}

}  // namespace
}  // namespace podium
