// What comes back of a session that trains, in which shape: of activations, gradients, weights and
// accumulators (PopART's tests anchorreturntype_test, anchor_output_test and anchor_shape_tests).
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/executor/session/acceptance.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

// Shapes and numbers of y = x + w, of which nothing is learnt: the loss is 0.
struct Array {
  ir::Dims dims;
  std::vector<float> numbers;
  bool operator==(const Array&) const = default;
};

void PrintTo(const Array& array, std::ostream* out) {
  *out << ir::to_string(array.dims) << " " << ::testing::PrintToString(array.numbers);
}

Array anchor_of_sum(int batches, int accumulation, const Anchor& anchor, const std::vector<float>& x) {
  TrainingOptions options = training_with(
      {.batches_per_step = batches, .accumulation_factor = accumulation, .anchors = {{"y", anchor}}}, 0.01);
  options.session.fuse = false;
  TrainingSession session(
      model_of("agraph (float[2] x, float nothing) => (float loss) <float[2] w1 = {0, 0}>"
               "{ y = Add(x, w1) z = Mul(y, nothing) loss = ReduceSum <keepdims = 0> (z) }"),
      options);
  ir::Dims micro_batches{batches, accumulation};
  std::erase(micro_batches, 1);
  const std::vector<ir::Datum> inputs{tensor<float>({std::ssize(x)}, x),
                                      tensor<float>(micro_batches, std::vector<float>(x.size() / 2, 0))};
  const auto results = session.run(inputs);
  EXPECT_EQ(session.outputs()[1].name, "y");
  return {results[1].tensor.dims(), values<float>(results[1])};
}

TEST(AnchorsOfTraining, AllOfTwoBatchesOfTwoMicroBatchesIsEveryOneInItsPlace) {
  EXPECT_EQ(anchor_of_sum(2, 2, {}, {1, 2, 3, 4, 5, 6, 7, 8}), (Array{{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}));
}

// PopART counts micro-batches and gives [[3,4],[7,8]]; its documentation, and this, count batches.
TEST(AnchorsOfTraining, EverySecondBatchIsAllMicroBatchesOfTheSecond) {
  const Anchor every{.returns = AnchorReturn::EveryN, .every = 2};
  EXPECT_EQ(anchor_of_sum(2, 2, every, {1, 2, 3, 4, 5, 6, 7, 8}), (Array{{2, 2}, {5, 6, 7, 8}}));
}

TEST(AnchorsOfTraining, FinalIsTheLastMicroBatchOfTheLastBatch) {
  const Anchor final{.returns = AnchorReturn::Final};
  EXPECT_EQ(anchor_of_sum(1, 1, final, {1, 2}), (Array{{2}, {1, 2}}));
  EXPECT_EQ(anchor_of_sum(1, 2, final, {1, 2, 3, 4}), (Array{{2}, {3, 4}}));
  EXPECT_EQ(anchor_of_sum(2, 1, final, {1, 2, 3, 4}), (Array{{2}, {3, 4}}));
  EXPECT_EQ(anchor_of_sum(2, 2, final, {1, 2, 3, 4, 5, 6, 7, 8}), (Array{{2}, {7, 8}}));
}

TEST(AnchorsOfTraining, SumIsOverMicroBatchesAndBatches) {
  const Anchor sum{.returns = AnchorReturn::Sum};
  EXPECT_EQ(anchor_of_sum(1, 1, sum, {1, 2}), (Array{{2}, {1, 2}}));
  EXPECT_EQ(anchor_of_sum(1, 2, sum, {1, 2, 3, 4}), (Array{{2}, {4, 6}}));
  EXPECT_EQ(anchor_of_sum(2, 1, sum, {1, 2, 3, 4}), (Array{{2}, {4, 6}}));
  EXPECT_EQ(anchor_of_sum(2, 2, sum, {1, 2, 3, 4, 5, 6, 7, 8}), (Array{{2}, {16, 20}}));
}

// How a session of the tests below is spread.
struct Spread {
  int batches = 7;
  int accumulation = 1;
  int replicas = 1;
  bool pipelined = false;

  Strategy options() const {
    Strategy options{.batches_per_step = batches, .accumulation_factor = accumulation, .replicas = replicas};
    options.ipus = replicas * (pipelined ? 2 : 1);
    options.pipelining = pipelined;
    if (pipelined) options.virtual_graph_mode = VirtualGraphMode::Auto;
    return options;
  }
  std::string name() const {
    return fmt::format("{} batches, accumulation {}, {} replicas, pipelining {}", batches, accumulation,
                       replicas, pipelined);
  }
};

// Seven batches of 16 samples with a learning rate of 1, each of four micro-batches on two replicas of a
// pipeline.
TEST(AnchorsOfTraining, WeightsStayDuringAccumulationAndThenLoseTheSumOfAllReplicas) {
  std::mt19937 random(4);
  const std::string body =
      "agraph (float[2,2,3,3] x, int64[2] label) => (float loss) <" +
      initializer("w", {2, 2, 3, 3}, random_numbers(random, 36, 0, 1)) +
      ", int64[2] shape = {2, 18}> { a = MatMul(x, w) b = Reshape(a, shape) c = Relu(b) o = Softmax(c)"
      "  l = Log(o) loss = NegativeLogLikelihoodLoss(l, label) }";
  const Spread spread{.accumulation = 4, .replicas = 2, .pipelined = true};
  Strategy strategy = spread.options();
  for (const char* name : {"o", "a", "x", "w", "Gradient___w", "Accum___w"}) strategy.anchors[name] = {};
  const std::vector<std::vector<ir::Datum>> runs{
      {random_tensor(random, {7, 4, 2, 2, 2, 3, 3}, 0, 1),
       tensor<std::int64_t>({112}, std::vector<std::int64_t>(112, 1))}};
  const Trained trained = train(model_of(body), training_with(strategy, 1), runs);
  constexpr std::size_t kElements = 36;
  const auto all = [&](const char* name) {
    const ir::Tensor& found = trained.outputs.at(name);
    EXPECT_EQ(found.dims(), (ir::Dims{1, 7, 4, 2, 2, 2, 3, 3})) << name;
    return found.values<float>();
  };
  const auto w = all("w");
  const auto accumulated = all("Accum___w");
  const auto gradient = all("Gradient___w");
  const auto at = [&](std::size_t batch, std::size_t micro_batch, std::size_t replica, std::size_t element) {
    return ((batch * 4 + micro_batch) * 2 + replica) * kElements + element;
  };
  bool moves = false;
  for (std::size_t batch = 0; batch < 7; ++batch) {
    for (std::size_t e = 0; e < kElements; ++e) {
      for (std::size_t replica = 0; replica < 2; ++replica) {
        float sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          EXPECT_EQ(w[at(batch, i, replica, e)], w[at(batch, 0, 0, e)]);
          sum += gradient[at(batch, i, replica, e)];
          EXPECT_EQ(accumulated[at(batch, i, replica, e)], sum);
        }
        if (batch == 6) continue;
        const float reduced = accumulated[at(batch, 3, 0, e)] + accumulated[at(batch, 3, 1, e)];
        EXPECT_EQ(w[at(batch + 1, 0, replica, e)], w[at(batch, 3, replica, e)] - reduced);
        moves = moves || reduced != 0;
      }
    }
  }
  EXPECT_TRUE(moves);
}

// Where a weight lives and what its last anchor is then.
void expect_last_is_the_weight(const Strategy& asked) {
  Strategy strategy = asked;
  strategy.batches_per_step = 7;
  strategy.anchors["w"] = {};
  strategy.anchors["v"] = {.returns = AnchorReturn::Final};
  const auto replicas = static_cast<std::size_t>(strategy.replicas);
  const Trained trained =
      train(model_of("agraph (float[2] x) => (float loss) <float[2] w = {1, 2}, float[2] v = {3, 4}>"
                     "{ a = Mul(x, w) b = Tanh(a) c = Mul(b, v) loss = ReduceSum <keepdims = 0> (c) }"),
            training_with(strategy, 0.01),
            {{tensor<float>({14 * strategy.replicas}, std::vector<float>(14 * replicas, 1))}});
  const auto w = values<float>(trained.outputs.at("w"));
  const auto v = values<float>(trained.outputs.at("v"));
  ASSERT_EQ(w.size(), 14 * replicas);
  EXPECT_LT(w[0], 1);  // after the first update
  for (std::size_t i = 0; i < 2 * replicas; ++i) {
    EXPECT_EQ(w[w.size() - 2 * replicas + i], trained.weights.at("w").values<float>()[i % 2]);
    EXPECT_EQ(v[i], trained.weights.at("v").values<float>()[i % 2]);
  }
}

// Without accumulation a micro-batch ends with the update.
TEST(AnchorsOfTraining, TheLastOfAWeightIsTheWeightWhereverItLives) {
  const LocationSettings off_chip{.location = {.storage = ir::Storage::OffChip}};
  const LocationSettings in_parts{.location = {.sharded = true}, .min_elements_for_sharding = 2};
  for (const bool pipelined : {false, true}) {
    for (const int replicas : {1, 2}) {
      SCOPED_TRACE(fmt::format("{} replicas, pipelining {}", replicas, pipelined));
      Strategy strategy = Spread{.replicas = replicas, .pipelined = pipelined}.options();
      expect_last_is_the_weight(strategy);
      strategy.weights = off_chip;
      expect_last_is_the_weight(strategy);
      strategy.weights = in_parts;
      expect_last_is_the_weight(strategy);
    }
  }
  Strategy phases{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases, .phases = {.phases = 2}};
  expect_last_is_the_weight(phases);
  phases.weights = off_chip;
  expect_last_is_the_weight(phases);
}

// Numbers without a common divisor, so that no shape is right by accident.
void expect_shapes(const Spread& spread, AnchorReturn returns) {
  const std::int64_t samples = 8 / (spread.accumulation * spread.replicas);
  const std::string body = fmt::format(
      "agraph (float[{0},2,5,5] x, int64[{0}] label) => (float loss) <float[5,5] w = {{{1}}}, float[5] b = "
      "{{1,1,1,1,1}},"
      " int64[2] shape = {{{0}, 50}}> {{ p = MatMul(x, w) q = Add(p, b) o = Reshape(q, shape)"
      " l = Log(o) loss = NegativeLogLikelihoodLoss(l, label) }}",
      samples, fmt::join(std::vector<int>(25, 1), ","));
  Strategy strategy = spread.options();
  std::map<std::string, ir::Dims> wanted{{"o", {samples, 50}}, {"Gradient___w", {5, 5}}, {"w", {5, 5}}};
  if (spread.accumulation > 1) wanted["Accum___w"] = {5, 5};
  for (const auto& [name, dims] : wanted) strategy.anchors[name] = {.returns = returns};
  ir::Dims leading{spread.batches, spread.accumulation, spread.replicas};
  if (returns != AnchorReturn::All) leading = {spread.replicas};
  std::erase(leading, 1);
  TrainingSession session(model_of(body), training_with(strategy, 1));
  const std::int64_t micro_batches = std::int64_t{spread.batches} * spread.accumulation * spread.replicas;
  const auto count = static_cast<std::size_t>(samples * micro_batches);
  ir::Dims images{micro_batches, samples, 2, 5, 5};
  ir::Dims labels{micro_batches, samples};
  for (ir::Dims* dims : {&images, &labels}) {
    if (micro_batches == 1) dims->erase(dims->begin());
  }
  const std::vector<ir::Datum> inputs{tensor<float>(images, std::vector<float>(count * 50, 1)),
                                      tensor<std::int64_t>(labels, std::vector<std::int64_t>(count, 3))};
  const auto results = session.run(inputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto found = wanted.find(session.outputs()[i].name);
    if (found == wanted.end()) continue;
    ir::Dims dims = leading;
    dims.insert(dims.end(), found->second.begin(), found->second.end());
    EXPECT_EQ(results[i].tensor.dims(), dims) << found->first;
    wanted.erase(found);
  }
  EXPECT_TRUE(wanted.empty());
}

TEST(AnchorsOfTraining, HaveADimensionForBatchesMicroBatchesAndReplicasThatAreSeveral) {
  for (const int batches : {7, 1}) {
    for (const int accumulation : {4, 1}) {
      for (const int replicas : {1, 2}) {
        for (const bool pipelined : {false, true}) {
          if (pipelined && batches * accumulation == 1) continue;  // shorter than the pipeline
          for (const AnchorReturn returns : {AnchorReturn::All, AnchorReturn::Final, AnchorReturn::Sum}) {
            const Spread spread{batches, accumulation, replicas, pipelined};
            SCOPED_TRACE(spread.name() + ", return " + std::to_string(static_cast<int>(returns)));
            expect_shapes(spread, returns);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace podium::testing
