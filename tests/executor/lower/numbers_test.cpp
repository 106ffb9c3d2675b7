// Programs of the strategies run with numbers: what comes back is what the model says, whatever the strategy.
#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "executor/numeric/engine.h"
#include "tests/executor/lower/placed.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ir::Datum;
using ir::Dims;
using ::testing::ElementsAre;

struct Result {
  Dims dims;
  std::vector<float> values;
  friend bool operator==(const Result&, const Result&) = default;
};

std::vector<Result> run(const executor::Program& program, const std::vector<Datum>& inputs) {
  numeric::Engine engine(program, {.threads = 1});
  std::vector<Result> results;
  for (const Datum& output : engine.run(inputs)) {
    results.push_back({output.tensor.dims(), values<float>(output)});
  }
  return results;
}

std::vector<Result> run(const Placed& model, const Strategy& strategy, const std::vector<Datum>& inputs) {
  return run(lower::lower(model.graph, model.placement, strategy), inputs);
}

Datum counted(Dims dims) {
  std::vector<float> numbers(static_cast<std::size_t>(ir::element_count(dims)));
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  return tensor<float>(std::move(dims), numbers);
}

// Row 1 of PopART's anchor tests: the identity of the numbers that come in.
Result identity(AnchorReturn returns, int every, int batches, int replicas, Dims shape) {
  const std::string type = shape.empty() ? "float" : "float[2]";
  Strategy strategy{.batches_per_step = batches, .replicas = replicas};
  strategy.anchors["y"] = {.returns = returns, .every = every};
  Dims all{batches, replicas};
  all.insert(all.end(), shape.begin(), shape.end());
  const std::string body = "agraph (" + type + " x) => (" + type + " y) { y = Identity(x) }";
  return run(placed(body, {0}), strategy, {counted(all)}).at(0);
}

// So long that its fill is no list of steps. The input goes through all stages, so that each has a stash of
// it.
TEST(LongPipelineNumbers, AreThoseOfOneProcessor) {
  constexpr int kStages = 70;
  std::string body = "agraph (float[2] x) => (float[2] y) { v0 = Neg(x) ";
  std::vector<int> stages{0};
  for (int i = 1; i < kStages; ++i) {
    const std::string made = i + 1 == kStages ? "y" : fmt::format("v{}", i);
    body += i % 7 == 0 ? fmt::format("{} = Sub(v{}, x) ", made, i - 1)
                       : fmt::format("{} = Neg(v{}) ", made, i - 1);
    stages.push_back(i);
  }
  body += "}";
  const Placed pipeline = placed(body, stages);
  const Placed alone = placed(body, std::vector<int>(kStages, 0));
  for (const int batches : {3, 70, 200}) {
    const std::vector<Datum> inputs{counted({batches, 2})};
    const Strategy strategy{.pipelining = true, .batches_per_step = batches};
    const executor::Program program = lower::lower(pipeline.graph, pipeline.placement, strategy);
    EXPECT_EQ(program.steps.size(), 1U);
    EXPECT_EQ(run(program, inputs), run(alone, {.batches_per_step = batches}, inputs)) << batches;
  }
}

TEST(AnchorNumbers, OfAScalar) {
  EXPECT_EQ(identity(AnchorReturn::All, 1, 8, 1, {}), (Result{{8}, {1, 2, 3, 4, 5, 6, 7, 8}}));
  EXPECT_EQ(identity(AnchorReturn::EveryN, 4, 8, 1, {}), (Result{{2}, {4, 8}}));
  EXPECT_EQ(identity(AnchorReturn::Final, 1, 8, 1, {}), (Result{{}, {8}}));
  EXPECT_EQ(identity(AnchorReturn::Sum, 1, 8, 1, {}), (Result{{}, {36}}));
}

TEST(AnchorNumbers, OfAVector) {
  EXPECT_EQ(identity(AnchorReturn::All, 1, 4, 1, {2}), (Result{{4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}));
  EXPECT_EQ(identity(AnchorReturn::EveryN, 2, 4, 1, {2}), (Result{{2, 2}, {3, 4, 7, 8}}));
  EXPECT_EQ(identity(AnchorReturn::Final, 1, 4, 1, {2}), (Result{{2}, {7, 8}}));
  EXPECT_EQ(identity(AnchorReturn::Sum, 1, 4, 1, {2}), (Result{{2}, {16, 20}}));
}

TEST(AnchorNumbers, OfTwoReplicas) {
  EXPECT_EQ(identity(AnchorReturn::All, 1, 4, 2, {}), (Result{{4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}));
  EXPECT_EQ(identity(AnchorReturn::EveryN, 2, 4, 2, {}), (Result{{2, 2}, {3, 4, 7, 8}}));
  EXPECT_EQ(identity(AnchorReturn::Final, 1, 4, 2, {}), (Result{{2}, {7, 8}}));
  EXPECT_EQ(identity(AnchorReturn::Sum, 1, 4, 2, {}), (Result{{2}, {16, 20}}));
}

TEST(AnchorNumbers, ASumStartsAnewInEveryRun) {
  Strategy strategy{.batches_per_step = 3};
  strategy.anchors["y"].returns = AnchorReturn::Sum;
  const Placed model = placed("agraph (float x) => (float y) { y = Identity(x) }", {0});
  numeric::Engine engine(lower::lower(model.graph, model.placement, strategy));
  const std::vector<Datum> inputs{counted({3})};
  EXPECT_THAT(values<float>(engine.run(inputs)[0]), ElementsAre(6));
  EXPECT_THAT(values<float>(engine.run(inputs)[0]), ElementsAre(6));
}

const char* const kTwoStages = "agraph (float[3] x) => (float[3] y) { a = Neg(x) y = Exp(a) }";

// The dimensions of one before the micro-batch's own are dropped.
TEST(AnchorNumbers, ShapesOfAllCombinations) {
  const auto without_ones = [](Dims leading) {
    std::erase(leading, 1);
    leading.push_back(3);
    return leading;
  };
  for (int batches : {2, 4}) {
    for (int replicas : {1, 2}) {
      for (bool pipelining : {false, true}) {
        const auto dims = [&](AnchorReturn returns, int every) {
          Strategy strategy{.pipelining = pipelining, .batches_per_step = batches, .replicas = replicas};
          strategy.anchors["y"] = {.returns = returns, .every = every};
          return run(placed(kTwoStages, {0, 1}), strategy, {counted({batches, replicas, 3})}).at(0).dims;
        };
        EXPECT_EQ(dims(AnchorReturn::All, 1), without_ones({batches, replicas}));
        EXPECT_EQ(dims(AnchorReturn::EveryN, 2), without_ones({batches / 2, replicas}));
        EXPECT_EQ(dims(AnchorReturn::Final, 1), without_ones({replicas}));
        EXPECT_EQ(dims(AnchorReturn::Sum, 1), without_ones({replicas}));
      }
    }
  }
}

struct NumbersCase {
  std::string name;
  std::string body;
  std::vector<int> processors;
  std::vector<int> stages;
};

const std::vector<NumbersCase>& cases() {
  static const std::vector<NumbersCase> kCases{
      {"chain", "agraph (float[3] x) => (float[3] y) { a = Neg(x) b = Exp(a) y = Sqrt(b) }", {0, 1, 2}, {}},
      {"skip",
       "agraph (float[3] x) => (float[3] y, float[3] b)"
       "{ a = Neg(x) b = Exp(a) c = Sin(b) d = Add(a, c) y = Add(x, d) }",
       {0, 1, 2, 3, 4},
       {}},
      {"comes back",
       "agraph (float[3] x) => (float[3] y)"
       "{ a = Neg(x) b = Exp(a) c = Add(a, b) d = Mul(b, c) e = Sub(d, x) y = Mul(e, a) }",
       {0, 1, 0, 1, 2, 0},
       {0, 1, 2, 3, 4, 5}},
      {"backwards",
       "agraph (float[3] x) => (float[3] y) { a = Neg(x) b = Exp(a) y = Add(x, b) }",
       {2, 1, 0},
       {0, 1, 2}},
      {"shared weight and late input",
       "agraph (float[3] x, float[3] m) => (float[3] y) <float[3] w = {1, 2, 3}>"
       "{ a = Mul(x, w) b = Exp(a) c = Mul(b, w) y = Add(c, m) }",
       {0, 1, 1, 2},
       {}},
      {"control flow",
       "agraph (float[3] x) => (float[3] y) <float limit = {20}> { s = ReduceSum <keepdims = 0> (x)"
       "c = Less(s, limit) a = Neg(x)"
       "b = If (c) <then_branch = t () => (float[3] u) { u = Add(x, a) },"
       "else_branch = e () => (float[3] v) { v = Mul(x, a) }> y = Add(b, x) }",
       {0, 0, 1, 2, 1},
       {0, 0, 1, 2, 3}},
      {"merged stages",
       "agraph (float[3] x) => (float[3] y) { a = Neg(x) b = Exp(a) c = Add(a, b) y = Sin(c) }",
       {0, 0, 1, 1},
       {0, 1, 2, 3}},
  };
  return kCases;
}

class EveryStrategy : public ::testing::TestWithParam<std::size_t> {};

// Bit for bit: no order of additions changes.
TEST_P(EveryStrategy, GivesTheNumbersOfOneProcessor) {
  const NumbersCase& test = cases()[GetParam()];
  const Placed model = placed(test.body, test.processors, test.stages);
  const Placed alone = placed(test.body, std::vector<int>(test.processors.size(), 0));
  for (const auto& [batches, replicas] : {std::pair{6, 1}, {7, 2}, {12, 1}}) {
    Strategy strategy{.batches_per_step = batches, .replicas = replicas};
    const std::vector<Datum> inputs(model.graph.inputs.size(), counted({batches, replicas, 3}));
    const std::vector<Result> expected = run(alone, strategy, inputs);
    for (bool pipelining : {false, true}) {
      strategy.pipelining = pipelining;
      for (int io_tiles : {0, 32}) {
        strategy.io_tiles = io_tiles;
        for (auto overlap : {ir::ExchangeStrategy::JustInTime, ir::ExchangeStrategy::OverlapInnerLoop}) {
          strategy.overlap_io = overlap;
          EXPECT_EQ(run(model, strategy, inputs), expected)
              << test.name << ", " << batches << " batches, pipelining " << pipelining << ", " << io_tiles
              << " IO tiles, overlap " << static_cast<int>(overlap);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryStrategy, ::testing::Range(std::size_t{0}, cases().size()));

TEST(Numbers, AreTheSameWhereverWeightsLive) {
  const NumbersCase& test = cases()[4];  // w is read in two stages
  const Placed model = placed(test.body, test.processors, test.stages);
  const std::vector<Datum> inputs(2, counted({6, 2, 3}));
  Strategy strategy{.batches_per_step = 6, .replicas = 2};
  strategy.anchors["y"].returns = AnchorReturn::Sum;
  const std::vector<Result> expected =
      run(placed(test.body, std::vector<int>(test.processors.size(), 0)), strategy, inputs);
  strategy.weights = {.min_elements_for_off_chip = 1, .min_elements_for_sharding = 1};
  for (bool pipelining : {false, true}) {
    for (bool is_off_chip : {false, true}) {
      for (bool sharded : {false, true}) {
        for (int io_tiles : {0, 32}) {
          strategy.pipelining = pipelining;
          strategy.weights.location = {.storage = is_off_chip ? ir::Storage::OffChip : ir::Storage::OnChip,
                                       .load_tiles = io_tiles > 0 ? ir::TileSet::IO : ir::TileSet::Compute,
                                       .sharded = sharded};
          strategy.io_tiles = io_tiles;
          strategy.overlap_io = ir::ExchangeStrategy::OverlapLoops;
          EXPECT_EQ(run(model, strategy, inputs), expected)
              << pipelining << is_off_chip << sharded << io_tiles;
        }
      }
    }
  }
}

// A model of `ops` ops that read any two values before them, its stages anywhere on three processors.
Placed random_model(std::mt19937& random, int ops) {
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  std::string body;
  std::vector<std::string> values{"x0", "x1"};
  std::vector<int> stages;
  int stage = 0;
  for (int i = 0; i < ops; ++i) {
    const std::string first = values[below(static_cast<int>(values.size()))];
    values.push_back(fmt::format("v{}", i));
    body += fmt::format("{} = Add({}, {}) ", values.back(), first, values[values.size() - 2]);
    stage += below(3) == 0 ? 0 : 1;
    stages.push_back(std::max(stage - 1, 0));
  }
  std::vector<int> processor_of_stage;
  for (int s = 0; s <= stages.back(); ++s) processor_of_stage.push_back(below(3));
  std::vector<int> processors;
  for (int s : stages) processors.push_back(processor_of_stage[s]);
  const std::string early = values[2 + below(ops)];
  const std::string outputs = early == values.back() ? "" : "float[3] " + early + ", ";
  return placed(fmt::format("agraph (float[3] x0, float[3] x1) => ({}float[3] {}) {{ {}}}", outputs,
                            values.back(), body),
                processors, stages);
}

TEST(Numbers, OfAnyModelAreThoseOfOneProcessor) {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    const Placed model = random_model(random, 4 + i % 9);
    Placed alone = model;
    for (ir::OpPlacement& op : alone.placement.ops) op = {};
    alone.placement.processors = 1;
    Strategy strategy{.batches_per_step = 13};
    const std::vector<Datum> inputs{counted({13, 3}), counted({13, 3})};
    const std::vector<Result> expected = run(alone, strategy, inputs);
    EXPECT_EQ(run(model, strategy, inputs), expected) << i;
    strategy.pipelining = true;
    EXPECT_EQ(run(model, strategy, inputs), expected) << i;
    strategy.io_tiles = 32;
    strategy.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
    EXPECT_EQ(run(model, strategy, inputs), expected) << i;
  }
}

TEST(Numbers, EveryTensorIsTheSameInAPipeline) {
  const NumbersCase& test = cases()[2];
  Strategy strategy{.batches_per_step = 8};
  for (const char* name : {"a", "b", "c", "d", "e", "x"}) strategy.anchors[name] = {};
  const std::vector<Datum> inputs{counted({8, 3})};
  const auto expected = run(placed(test.body, std::vector<int>(6, 0)), strategy, inputs);
  strategy.pipelining = true;
  EXPECT_EQ(run(placed(test.body, test.processors, test.stages), strategy, inputs), expected);
}

// float[2] is 8 bytes. ipu 0 holds three slots of a for good, what has come from stage 1, and x or y.
TEST(Numbers, AStashTakesMemoryOfItsDepth) {
  const Placed model = placed("agraph (float[2] x) => (float[2] y) { a = Neg(x) b = Exp(a) y = Add(a, b) }",
                              {0, 1, 0}, {0, 1, 2});
  numeric::Engine engine(
      lower::lower(model.graph, model.placement, {.pipelining = true, .batches_per_step = 9}));
  engine.run(std::vector<Datum>{counted({9, 2})});
  EXPECT_EQ(engine.peak_bytes(0), 3 * 8 + 8 + 8);
  EXPECT_EQ(engine.peak_bytes(1), 8 + 8);
}

TEST(Numbers, SyntheticInputsAreMadeOnce) {
  const Placed model = placed(kTwoStages, {0, 1});
  for (auto data : {SyntheticData::Zeros, SyntheticData::RandomNormal, SyntheticData::RandomUniform}) {
    const Strategy strategy{.pipelining = true, .batches_per_step = 3, .synthetic_data = data};
    EXPECT_TRUE(run(model, strategy, {}).empty());
  }
}

}  // namespace
}  // namespace podium::testing
