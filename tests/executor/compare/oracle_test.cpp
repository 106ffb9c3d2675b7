#include "executor/compare/oracle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/optimizer_spec.h"
#include "tests/support/device_configurations.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium::compare {
namespace {

using report::Judgement;
using report::OracleVerdict;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::list;
using testing::model_of;
using ::testing::StartsWith;
using testing::tensor;

constexpr const char* kLayers = R"(agraph (float[2,3] x, float[2,3] wanted) => (float loss)
  <float[3,3] w0 = {0.1,0.2,0.3, -0.1,0.4,0.2, 0.5,-0.2,0.1}, float[3] b0 = {0.1,0.1,0.1},
   float[3,3] w1 = {0.3,-0.2,0.1, 0.2,0.1,-0.3, 0.1,0.1,0.4}, float[3] b1 = {0,0.2,-0.1}>
  { a = MatMul(x, w0) c = Add(a, b0) d = Tanh(c)
    e = MatMul(d, w1) f = Add(e, b1) g = Sub(f, wanted) h = Mul(g, g) loss = ReduceMean <keepdims = 0> (h) })";

TrainingOptions options_with(const Strategy& strategy, const std::string& optimizer = "Adam") {
  TrainingOptions options{.loss = "loss",
                          .optimizer = ir::make_optimizer(optimizer, {{"learningRate", {0.1}}})};
  options.session = watching({.seed = 7, .strategy = strategy});
  return options;
}

// Of one processor, so many micro-batches in an update.
Strategy plain(int micro_batches, int batches = 1) {
  return {.batches_per_step = batches, .accumulation_factor = micro_batches};
}

// Numbers that follow from the step and their place.
std::vector<ir::Datum> numbers(int step, const std::vector<executor::HostTensor>& inputs, int micro_batches) {
  std::vector<ir::Datum> data;
  for (const executor::HostTensor& input : inputs) {
    ir::Dims dims = input.type.dims;
    if (micro_batches > 1) dims.insert(dims.begin(), micro_batches);
    ir::Tensor array(ir::DataType::Float, dims);
    for (std::int64_t i = 0; i < array.size(); ++i)
      array.data<float>()[i] = static_cast<float>((i * 37 + step * 11 + std::ssize(data) * 5) % 23) / 11 - 1;
    data.emplace_back(std::move(array));
  }
  return data;
}

OracleVerdict judged(const importer::Model& model, const importer::Model& beside,
                     const TrainingOptions& options, int steps = 2) {
  const Strategy& strategy = options.session.strategy;
  const int micro_batches = strategy.accumulation_factor * strategy.replicas;
  const auto inputs = [&](int step, const std::vector<executor::HostTensor>& of) {
    return numbers(step, of, micro_batches * strategy.batches_per_step);
  };
  TrainingOptions one = options;
  one.session.strategy = plain(micro_batches, strategy.batches_per_step);
  one.session.strategy.reduction = strategy.reduction;
  TrainingSession alone(beside, one);
  const PlainSteps of_one = run_plainly(alone, steps, inputs);
  TrainingSession session(model, options);
  return judge(session, of_one, inputs, {.seed = 7});
}

OracleVerdict judged(const TrainingOptions& options, int steps = 2) {
  return judged(model_of(kLayers), model_of(kLayers), options, steps);
}

Strategy pipelined() {
  return {
      .virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 2, .pipelining = true, .accumulation_factor = 4};
}

TEST(Oracle, FindsOneProcessorEqualToItself) {
  const OracleVerdict verdict = judged(options_with(plain(2, 2)));
  EXPECT_EQ(verdict.judgement(), Judgement::EqualToTheBit) << sentence(verdict);
  EXPECT_EQ(verdict.steps, 2);
  EXPECT_GT(verdict.tensors, 200);
  EXPECT_EQ(verdict.difference, 0);
}

TEST(Oracle, FindsAPipelineEqualToTheBit) {
  const OracleVerdict verdict = judged(options_with(pipelined()));
  EXPECT_EQ(verdict.judgement(), Judgement::EqualToTheBit) << sentence(verdict);
}

TEST(Oracle, FindsPhasesEqualToTheBit) {
  const OracleVerdict verdict = judged(options_with({.virtual_graph_mode = VirtualGraphMode::ExecutionPhases,
                                                     .accumulation_factor = 2,
                                                     .phases = {.phases = 2}}));
  EXPECT_EQ(verdict.judgement(), Judgement::EqualToTheBit) << sentence(verdict);
}

TEST(Oracle, ExplainsTheSumOverReplicas) {
  const OracleVerdict verdict = judged(options_with({.accumulation_factor = 3, .replicas = 3}));
  EXPECT_EQ(verdict.judgement(), Judgement::Explained) << sentence(verdict);
  EXPECT_THAT(sentence(verdict), AllOf(StartsWith("equal but for the order of "),
                                       HasSubstr("9 micro-batches added up over 3 replicas, 'Accum___")));
  for (const report::Reassociation& one : verdict.explained)
    EXPECT_LE(one.difference, one.bound) << one.tensor;
}

TEST(Oracle, FindsReplicasThatAddUpInTheOrderOfOneProcessorEqualToTheBit) {
  const OracleVerdict verdict = judged(options_with({.replicas = 2}));
  EXPECT_EQ(verdict.judgement(), Judgement::EqualToTheBit) << sentence(verdict);
}

TEST(Oracle, NamesTheOpThatReadsAnotherConstant) {
  std::string other = kLayers;
  other.replace(other.find("h = Mul(g, g)"), 13,
                "k = Constant <value_float = 1.5> () m = Mul(g, k) h = Mul(m, g)");
  std::string same = other;
  same.replace(same.find("1.5"), 3, "2.0");
  const OracleVerdict verdict = judged(model_of(other), model_of(same), options_with(pipelined()));
  ASSERT_EQ(verdict.judgement(), Judgement::Parts) << sentence(verdict);
  EXPECT_EQ(verdict.parting->tensor, "m");
  EXPECT_EQ(verdict.parting->when, "step 1, micro-batch 1");
  EXPECT_FLOAT_EQ(static_cast<float>(verdict.parting->found * 2),
                  static_cast<float>(verdict.parting->expected * 1.5));
  EXPECT_THAT(sentence(verdict), HasSubstr("(Mul), step 1, micro-batch 1: element [1,0] is "));
}

TEST(Oracle, NamesAWeightThatIsAnotherFromTheStart) {
  std::string other = kLayers;
  other.replace(other.find("0.5,-0.2,0.1"), 12, "0.5,-0.2,0.125");
  const OracleVerdict verdict = judged(model_of(other), model_of(kLayers), options_with(pipelined()));
  ASSERT_EQ(verdict.judgement(), Judgement::Parts);
  EXPECT_EQ(sentence(verdict),
            "parts at 'w0', before the first step: element [2,2] is 0.125, 0.100000001 on one processor");
}

TEST(Oracle, NamesAWeightThatSomebodyElseHasSet) {
  const TrainingOptions options = options_with(pipelined());
  const auto inputs = [](int step, const std::vector<executor::HostTensor>& of) {
    return numbers(step, of, 4);
  };
  TrainingOptions one = options;
  one.session.strategy = plain(4);
  TrainingSession alone(model_of(kLayers), one);
  const PlainSteps of_one = run_plainly(alone, 2, inputs);
  TrainingSession session(model_of(kLayers), options);
  const auto disturbed = [&](int step, const std::vector<executor::HostTensor>& of) {
    if (step == 1) session.set_weights({{"b1", list<float>({0, 0, 0})}});
    return inputs(step, of);
  };
  const OracleVerdict verdict = judge(session, of_one, disturbed, {.seed = 7});
  ASSERT_EQ(verdict.judgement(), Judgement::Parts);
  EXPECT_EQ(verdict.parting->tensor, "f");
  EXPECT_EQ(verdict.parting->when, "step 2, micro-batch 1");
}

TEST(Oracle, FollowsEveryOptimizer) {
  for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
    const OracleVerdict verdict = judged(options_with(pipelined(), std::string(spec->name)));
    EXPECT_EQ(verdict.judgement(), Judgement::EqualToTheBit) << spec->name << ": " << sentence(verdict);
  }
}

TEST(Oracle, FollowsStateThatReplicasShare) {
  Strategy strategy{.accumulation_factor = 2, .replicas = 2};
  for (LocationSettings* settings : {&strategy.weights, &strategy.optimizer_state, &strategy.accumulators}) {
    settings->location.sharded = true;
    settings->min_elements_for_sharding = 2;
  }
  for (const char* optimizer : {"Adam", "LAMB"}) {
    const OracleVerdict verdict = judged(options_with(strategy, optimizer));
    EXPECT_EQ(verdict.judgement(), Judgement::Explained) << sentence(verdict);
  }
}

// Two products, the second of which sums up over what the first leaves cut.
std::string pair_of_products() {
  std::string text = "agraph (float[3,8] x, float[3,8] wanted) => (float loss) <";
  for (const char* name : {"a", "b"}) {
    std::string numbers;
    for (int i = 0; i < 64; ++i)
      numbers += fmt::format("{}{}", i == 0 ? "" : ", ", (i * 29 % 31) / 40.0 - 0.3);
    text += fmt::format("{}float[8,8] {} = {{{}}}", *name == 'a' ? "" : ", ", name, numbers);
  }
  return text + R"(> { h = MatMul(x, a) r = Relu(h) s = MatMul(r, b) t = Add(s, x) n = Softmax(t)
    d = Sub(n, wanted) e = Mul(d, d) loss = ReduceSum <keepdims = 0> (e) })";
}

Strategy cut_over(int devices) {
  Strategy strategy{.accumulation_factor = 2};
  strategy.tensor_parallel.devices = devices;
  return strategy;
}

TEST(Oracle, ExplainsTheSumsOfProductsThatAreCutOverDevices) {
  const std::string text = pair_of_products();
  for (const int devices : {2, 4}) {
    const OracleVerdict verdict = judged(model_of(text), model_of(text), options_with(cut_over(devices)));
    EXPECT_EQ(verdict.judgement(), Judgement::Explained) << sentence(verdict);
    std::vector<std::string> tensors;
    for (const report::Reassociation& one : verdict.explained) {
      tensors.push_back(one.tensor);
      EXPECT_THAT(one.why, HasSubstr(fmt::format("over {} devices", devices)));
      EXPECT_LE(one.difference, one.bound) << one.tensor;
      EXPECT_LT(one.bound, 1e-4) << one.tensor;
    }
    EXPECT_THAT(tensors, ::testing::Contains("s"));
  }
}

TEST(Oracle, FindsACutThatSumsNothingUpEqualToTheBit) {
  const std::string bytes = testing::cut_model(1);
  const auto inputs = [](int step, const std::vector<executor::HostTensor>& of) {
    return numbers(step, of, 1);
  };
  InferenceSession alone(importer::import_bytes(bytes), watching({}));
  const PlainSteps of_one = run_plainly(alone, 1, inputs);
  InferenceSession session(importer::import_bytes(bytes),
                           watching({.strategy = {.device_configuration = "tp"}}));
  EXPECT_EQ(sentence(judge(session, of_one, inputs, {})), "equal to the bit (1 step, 1 tensor)");
}

TEST(Oracle, RefusesWhatIsNotThatOfOneProcessor) {
  EXPECT_EQ(*why_not_judged({.pipelining = true, .batches_per_step = 4}, Task::Training),
            "its pipeline updates with weights of earlier micro-batches (accumulation needed)");
  EXPECT_EQ(*why_not_judged({.batch_serialization = {.factor = 2}}, Task::Inference),
            "its values are those of 2 slices of a micro-batch");
  EXPECT_FALSE(why_not_judged({.pipelining = true, .batches_per_step = 4}, Task::Inference));
}

TEST(Oracle, FollowsStrings) {
  const char* const body = "agraph (string[2] x) => (string[2] y) { y = StringConcat(x, x) }";
  const auto inputs = [](int /*step*/, const std::vector<executor::HostTensor>& /*of*/) {
    return std::vector<ir::Datum>{list<std::string>({"a text that is not in the string itself", "b"})};
  };
  InferenceSession alone(model_of(body), watching({}));
  const PlainSteps of_one = run_plainly(alone, 1, inputs);
  InferenceSession session(model_of(body), watching({.strategy = {.replicas = 1}}));
  EXPECT_EQ(sentence(judge(session, of_one, inputs, {})), "equal to the bit (1 step, 1 tensor)");
}

// The scores of two classes, twice.
TEST(Oracle, FollowsInference) {
  const char* const body = R"(agraph (float[2,3] x) => (float[2,2] y) <float[3,2] w = {1,2,3,4,5,6}>
    { a = MatMul(x, w) b = Tanh(a) y = Softmax(b) })";
  const auto inputs = [](int step, const std::vector<executor::HostTensor>& of) {
    return numbers(step, of, 3);
  };
  InferenceSession alone(model_of(body), watching({.strategy = {.batches_per_step = 3}}));
  const PlainSteps of_one = run_plainly(alone, 2, inputs);
  InferenceSession session(model_of(body),
                           watching({.strategy = {.virtual_graph_mode = VirtualGraphMode::Auto,
                                                  .ipus = 2,
                                                  .pipelining = true,
                                                  .batches_per_step = 3}}));
  const OracleVerdict verdict = judge(session, of_one, inputs, {});
  EXPECT_EQ(sentence(verdict), "equal to the bit (2 steps, 18 tensors)");
}

}  // namespace
}  // namespace podium::compare
