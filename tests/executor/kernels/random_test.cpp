#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/moment.h"
#include "executor/kernels/tools/random_numbers.h"
#include "executor/kernels/tools/thread_limit.h"
#include "ir/random_draws.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Tensor;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

double mean_of(const std::vector<float>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

const std::vector<ir::Datum> kAnything{tensor<float>({1}, {0})};

TEST(RandomNumbers, AreThoseOfNumPyForTheSameSeed) {
  RandomNumbers uniform(0);
  EXPECT_DOUBLE_EQ(uniform.uniform(), 0.5488135039273248);
  EXPECT_DOUBLE_EQ(uniform.uniform(), 0.7151893663724195);
  RandomNumbers normal(0);
  EXPECT_DOUBLE_EQ(normal.normal(), 1.764052345967664);
  EXPECT_DOUBLE_EQ(normal.normal(), 0.4001572083672233);
}

TEST(RandomNormal, HasTheMeanAndTheScaleAskedFor) {
  const auto y = run_text(
      "g (float[1] x) => (float[100,100] y)"
      " { y = RandomNormal <mean = 3.0, scale = 2.0, shape = [100,100], seed = 1.0> () }",
      kAnything);
  const auto numbers = values<float>(y[0]);
  const double mean = mean_of(numbers);
  double square = 0;
  for (float number : numbers) square += (number - mean) * (number - mean);
  EXPECT_NEAR(mean, 3, 0.1);
  EXPECT_NEAR(std::sqrt(square / static_cast<double>(numbers.size())), 2, 0.1);
}

TEST(RandomUniform, StaysInsideItsBoundsInEveryFloatType) {
  const auto y = run_text(
      "g (int8[2000] x) => (bfloat16[2000] y)"
      " { y = RandomUniformLike <low = -1.0, high = 3.0, dtype = 16> (x) }",
      {Tensor(ir::DataType::Int8, {2000})});
  std::vector<float> numbers;
  for (ir::Bfloat16 number : values<ir::Bfloat16>(y[0])) numbers.push_back(static_cast<float>(number));
  EXPECT_TRUE(std::all_of(numbers.begin(), numbers.end(), [](float x) { return x >= -1 && x <= 3; }));
  EXPECT_NEAR(mean_of(numbers), 1, 0.2);
}

TEST(RandomUniform, OfTwoNodesDiffersUnlessTheySayOneSeed) {
  const auto run = [](const std::string& seed) {
    return run_text("g (float[8] x) => (float[8] y, float[8] z) { y = RandomUniformLike" + seed +
                        " (x) z = RandomUniformLike" + seed + " (x) }",
                    {Tensor(ir::DataType::Float, {8})});
  };
  const auto free = run("");
  EXPECT_NE(values<float>(free[0]), values<float>(free[1]));
  const auto seeded = run("<seed = 5.0>");
  EXPECT_EQ(values<float>(seeded[0]), values<float>(seeded[1]));
}

TEST(Bernoulli, HappensAsOftenAsAsked) {
  std::vector<double> probabilities(3000, 0.8);
  probabilities[0] = 0;
  probabilities[1] = 1;
  const auto y = run_text("g (double[3000] x) => (uint8[3000] y) { y = Bernoulli <dtype = 2> (x) }",
                          {tensor<double>({3000}, probabilities)});
  const auto drawn = values<std::uint8_t>(y[0]);
  EXPECT_EQ(drawn[0], 0);
  EXPECT_EQ(drawn[1], 1);
  EXPECT_NEAR(std::accumulate(drawn.begin(), drawn.end(), 0), 2400, 100);
  EXPECT_THROW(
      run_text("g (double[1] x) => (double[1] y) { y = Bernoulli(x) }", {tensor<double>({1}, {1.5})}), Error);
}

TEST(Multinomial, DrawsClassesByTheirLogarithms) {
  const auto y = run_text(
      "g (float[2,3] x) => (int64[2,1000] y) { y = Multinomial <sample_size = 1000, dtype = 7> (x) }",
      {tensor<float>({2, 3}, {-INFINITY, 1000, -INFINITY, 0, std::log(3.0F), -INFINITY})});
  const auto drawn = values<std::int64_t>(y[0]);
  EXPECT_TRUE(std::all_of(drawn.begin(), drawn.begin() + 1000, [](std::int64_t x) { return x == 1; }));
  EXPECT_NEAR(std::accumulate(drawn.begin() + 1000, drawn.end(), 0), 750, 60);
}

// The vectors that come with the authors' library.
TEST(Philox, GivesTheNumbersOfItsAuthors) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  EXPECT_THAT(philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
              ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

TEST(ElementNumbers, AreTheSameOneByOneAndSeveralAtATime) {
  for (const std::int64_t first : std::vector<std::int64_t>{0, 1, 6, 4294967290}) {
    for (const std::int64_t count : {1, 2, 31, 32, 33, 64, 101}) {
      ElementNumbers one_by_one(7, 3, first);
      std::vector<double> expected(count + 1);
      for (double& number : expected) number = one_by_one.uniform();
      ElementNumbers several(7, 3, first);
      std::vector<double> found(count);
      several.uniform(found.data(), count);
      found.push_back(several.uniform());
      EXPECT_EQ(found, expected) << first << ", " << count;
    }
  }
}

const char* const kDrop = "g (float[4,6] x, float r, bool t) => (float[4,6] y) { y = Dropout(x, r, t) }";

// What a Dropout of the graph that `edit` has changed keeps of ones, at a moment.
std::vector<float> kept(const std::function<void(ir::Op&)>& edit, const Moment& moment,
                        const std::string& text = kDrop, ir::Dims dims = {4, 6}) {
  ir::Graph graph = testing::graph_of(text);
  ir::set_stream(graph.ops[0], 3);
  if (edit) edit(graph.ops[0]);
  const std::int64_t count = ir::element_count(dims);
  const MomentScope scope(moment);
  const auto y = evaluate(graph.ops[0],
                          std::vector<ir::Datum>{tensor<float>(std::move(dims), std::vector<float>(count, 1)),
                                                 tensor<float>({}, {0.5F}), tensor<bool>({}, {true})});
  return values<float>(y[0]);
}

TEST(DrawnNumbers, DifferByStreamRunReplicaAndRepeat) {
  const std::vector<float> first = kept(nullptr, {});
  EXPECT_EQ(kept(nullptr, {}), first);
  EXPECT_NE(kept([](ir::Op& op) { ir::set_stream(op, 4); }, {}), first);
  EXPECT_NE(kept(nullptr, {.run = 1}), first);
  EXPECT_NE(kept(nullptr, {.replica = 1, .replicas = 2}), first);
  EXPECT_NE(kept(nullptr, {.repeat = 1}), first);
}

// Four micro-batches of one replica are two of two replicas each, and two of two copies in turns.
TEST(DrawnNumbers, AreThoseOfTheMicroBatchWhoeverDrawsThem) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::vector<float> alone = kept(nullptr, {.run = i});
    EXPECT_EQ(kept(nullptr, {.run = i / 2, .replica = i % 2, .replicas = 2}), alone);
    const ir::DrawnTurn turn{.copies = 2, .copy = static_cast<std::int64_t>(i % 2)};
    EXPECT_EQ(kept([&](ir::Op& op) { ir::set_turn(op, turn); }, {.run = i / 2}), alone);
  }
}

TEST(DrawnNumbers, OfABoxAreThoseOfTheWhole) {
  const std::vector<float> whole = kept(nullptr, {.run = 7});
  const ir::DrawnBox box{.whole = {4, 6}, .ranges = {{{1, 3}}, {{0, 2}, {5, 6}}}};
  const std::vector<float> part =
      kept([&](ir::Op& op) { ir::set_box(op, box); }, {.run = 7},
           "g (float[2,3] x, float r, bool t) => (float[2,3] y) { y = Dropout(x, r, t) }", {2, 3});
  EXPECT_THAT(part, ElementsAre(whole[6], whole[7], whole[11], whole[12], whole[13], whole[17]));
}

TEST(DrawnNumbers, OfSlicesAreThoseOfTheMicroBatch) {
  const std::vector<float> whole = kept(nullptr, {.run = 2});
  const ir::DrawnSlices columns{.count = 2, .axis = 1};
  std::vector<float> joined(24);
  for (std::uint64_t slice = 0; slice < 2; ++slice) {
    const std::vector<float> part =
        kept([&](ir::Op& op) { ir::set_slices(op, columns); }, {.run = 4 + slice},
             "g (float[4,3] x, float r, bool t) => (float[4,3] y) { y = Dropout(x, r, t) }", {4, 3});
    for (std::size_t i = 0; i < part.size(); ++i) joined[i / 3 * 6 + slice * 3 + i % 3] = part[i];
  }
  EXPECT_EQ(joined, whole);
  const auto same = [](ir::Op& op) { ir::set_slices(op, {.count = 2}); };
  EXPECT_EQ(kept(same, {.run = 4}), whole);
  EXPECT_EQ(kept(same, {.run = 5}), whole);
}

TEST(DrawnNumbers, DoNotDependOnThreads) {
  const std::string text =
      "g (float[512,512] x, float r, bool t) => (float[512,512] y) { y = Dropout(x, r, t) }";
  const std::vector<float> all = kept(nullptr, {}, text, {512, 512});
  const ThreadLimit limit(1);
  EXPECT_EQ(kept(nullptr, {}, text, {512, 512}), all);
  EXPECT_NEAR(mean_of(all), 1, 0.01);
}

TEST(DrawnNumbers, OfALoopDifferInEachIterationAndAgainInEachLoop) {
  const auto drawn = run_text(R"(g (int64 n, bool c) => (float[3, 4] first, float[3, 4] second) {
    first = Loop (n, c) <body = b (int64 i, bool go) => (bool on, float[4] u)
      { on = Identity (go) u = RandomUniform <shape = [4]> () }>
    second = Loop (n, c) <body = d (int64 j, bool goes) => (bool ons, float[4] v)
      { ons = Identity (goes) v = RandomUniform <shape = [4]> () }>
  })",
                              {tensor<std::int64_t>({}, {3}), tensor<bool>({}, {true})});
  std::set<float> numbers;
  for (const ir::Datum& one : drawn) {
    const auto some = values<float>(one);
    numbers.insert(some.begin(), some.end());
  }
  EXPECT_EQ(numbers.size(), 24U);
}

}  // namespace
}  // namespace podium::kernels
