// Which version of its weights each stage of a pipeline meets in each micro-batch (semantics, section 4.4),
// and what that does to what is learnt (PopART's pipeline_continuous_equivalent_test and
// pipeline_quadratic_epsilon_test).
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/executor/session/acceptance.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ::testing::ElementsAreArray;
using PipelinedRuns = std::vector<std::vector<ir::Datum>>;

// On each processor s a weight ws that loses 1 in every update. fs is what the forward pass finds in it. The
// inputs zs are 0, and so are qs and rs, of which only the gradients are of interest: that of qs is what the
// backward pass finds in ws, that of rs what it finds in fs, which is made by the forward pass or made again.
importer::Model counting(int stages) {
  std::vector<std::string> inputs;
  std::vector<std::string> weights;
  std::string ops;
  std::vector<int> processors;
  for (int s = 0; s < stages; ++s) {
    inputs.push_back(fmt::format("float[1] z{}", s));
    weights.push_back(fmt::format("float[1] w{0} = {{0}}, float[1] o{0} = {{1}}, float[1] p{0} = {{1}}", s));
    ops += fmt::format(
        "q{0} = Mul(o{0}, z{0}) u{0} = Mul(q{0}, w{0}) f{0} = Add(z{0}, w{0}) r{0} = Mul(p{0}, z{0}) v{0} = "
        "Mul(r{0}, f{0})"
        "h{0} = Sum({1}f{0}, u{0}, v{0}) ",
        s, s > 0 ? fmt::format("h{}, ", s - 1) : "");
    processors.insert(processors.end(), 6, s);
  }
  processors.push_back(stages - 1);
  return model_of(
      fmt::format("agraph ({}) => (float loss) <{}> {{ {} loss = ReduceSum <keepdims = 0> (h{}) }}",
                  fmt::join(inputs, ", "), fmt::join(weights, ", "), ops, stages - 1),
      processors);
}

// The versions of a run of `batches` after `before` updates, on each stage.
using Versions = std::function<int(int micro_batch, int stage)>;

void expect_versions(const ir::Tensor& anchor, int run, int batches, const std::function<int(int)>& wanted) {
  std::vector<float> numbers;
  for (int m = 0; m < batches; ++m) numbers.push_back(static_cast<float>(-run * batches - wanted(m)));
  const auto found = anchor.values<float>().subspan(static_cast<std::size_t>(run * batches), numbers.size());
  EXPECT_THAT(std::vector<float>(found.begin(), found.end()), ElementsAreArray(numbers));
}

struct Seen {
  Versions forward;
  Versions backward;
  Versions activation;  ///< that the backward pass reads
};

// Over two runs: a pipeline begins empty in each.
void expect_weights(int stages, Strategy strategy, const Seen& seen) {
  constexpr int kMicroBatches = 9;
  constexpr int kRuns = 2;
  strategy.batches_per_step = kMicroBatches;
  for (int s = 0; s < stages; ++s) {
    for (const char* name : {"w", "f", "Gradient___q", "Gradient___r"})
      strategy.anchors[name + std::to_string(s)] = {};
  }
  const std::size_t zeros = kMicroBatches * static_cast<std::size_t>(strategy.replicas);
  const ir::Datum zero = tensor<float>({static_cast<std::int64_t>(zeros)}, std::vector<float>(zeros, 0));
  const PipelinedRuns runs(kRuns, std::vector<ir::Datum>(static_cast<std::size_t>(stages), zero));
  const TensorsByName found = train(counting(stages), training_with(strategy, 1), runs).outputs;
  for (int s = 0; s < stages; ++s) {
    for (int run = 0; run < kRuns; ++run) {
      SCOPED_TRACE(fmt::format("stage {} of {}, run {}", s, stages, run));
      const auto expect = [&](const char* anchor, const Versions& wanted) {
        expect_versions(found.at(anchor + std::to_string(s)), run, kMicroBatches,
                        [&](int m) { return wanted(m, s); });
      };
      expect("f", seen.forward);
      expect("Gradient___q", seen.backward);
      expect("Gradient___r", seen.activation);
      expect("w", [](int m, int) { return m + 1; });  // after the update
    }
  }
}

// The forward pass of a micro-batch runs so many updates before its backward pass.
int stale(int micro_batch, int stage, int stages) {
  return std::max(0, micro_batch - 2 * (stages - 1 - stage));
}

TEST(StaleWeights, ForwardStagesMeetOlderVersionsThanBackwardStages) {
  for (const int stages : {2, 3, 4}) {
    const Versions old = [&](int m, int s) { return stale(m, s, stages); };
    const Versions newest = [](int m, int) { return m; };
    expect_weights(stages, pipeline_of(stages, 9), {.forward = old, .backward = newest, .activation = old});
  }
}

TEST(StaleWeights, WhatIsMadeAgainForTheBackwardPassMeetsTheNewestVersion) {
  for (const int stages : {2, 3, 4}) {
    const Versions old = [&](int m, int s) { return stale(m, s, stages); };
    const Versions newest = [](int m, int) { return m; };
    Strategy strategy = pipeline_of(stages, 9);
    strategy.recomputation = Recomputation::RecomputeAll;
    expect_weights(stages, strategy, {.forward = old, .backward = newest, .activation = newest});
  }
}

// One weight, added on the first processor and on the last one, loses half of the two gradients' sum. Its
// owner is the first processor, where the gradients come together: each is what the input o holds, 1, as
// processors in between change the sign an even number of times.
TEST(StaleWeights, ACopyMeetsTheVersionsThatItsOwnerWouldInTheSameStage) {
  constexpr int kMicroBatches = 9;
  for (const int stages : {2, 4, 6}) {
    std::string ops = "f = Add(z, w) h0 = Add(f, z) ";
    std::vector<int> processors{0, 0};
    for (int s = 1; s + 1 < stages; ++s) {
      ops += fmt::format("h{} = Mul(h{}, minus_const) ", s, s - 1);
      processors.push_back(s);
    }
    ops += fmt::format("g = Add(w, z) y = Add(h{}, g) t = Mul(y, o) loss = ReduceSum <keepdims = 0> (t)",
                       stages - 2);
    processors.insert(processors.end(), 4, stages - 1);
    Strategy strategy = pipeline_of(stages, kMicroBatches);
    for (const char* name : {"f", "g", "w"}) strategy.anchors[name] = {};
    const ir::Datum zero = tensor<float>({kMicroBatches}, std::vector<float>(kMicroBatches, 0));
    const ir::Datum one = tensor<float>({kMicroBatches}, std::vector<float>(kMicroBatches, 1));
    const PipelinedRuns runs(2, {zero, one});
    const TensorsByName found =
        train(
            model_of(
                fmt::format(
                    "agraph (float[1] z, float[1] o) => (float loss) <float[1] w = {{0}}, float minus_const = {{-1}}> {{ {} }}",
                    ops),
                processors),
            training_with(strategy, 0.5), runs)
            .outputs;
    for (int run = 0; run < 2; ++run) {
      SCOPED_TRACE(fmt::format("{} stages, run {}", stages, run));
      const auto expect = [&](const char* anchor, const std::function<int(int)>& wanted) {
        expect_versions(found.at(anchor), run, kMicroBatches, wanted);
      };
      expect("f", [&](int m) { return stale(m, 0, stages); });
      expect("g", [&](int m) { return std::max(0, m - (stages - 1)); });
      expect("w", [](int m) { return m + 1; });
    }
  }
}

// Six weights are added to the input, between signs that change twice. The gradient is the sign of the input,
// whatever the weights are, so that old ones do not matter.
importer::Model linear(bool spread) {
  std::vector<std::string> weights;
  std::string ops;
  std::vector<int> processors;
  for (int i = 0; i < 6; ++i) {
    weights.push_back(initializer(fmt::format("w{}", i), {8, 8}, std::vector<float>(64, 0)));
    ops += fmt::format("a{0} = Add(x{0}, w{0}) n{0} = Mul(a{0}, minus_const) x{1} = Mul(n{0}, minus_const) ",
                       i, i + 1);
    processors.insert(processors.end(), 3, i / 2);
  }
  processors.insert(processors.end(), 3, 2);
  const std::string body = fmt::format(
      "agraph (float[4,8,8] x0) => (float loss) <{}, float minus_const = {{-1}}, float lambda_const = {{0.1}}> {{ {}"
      "m = Abs(x6) l = Mul(m, lambda_const) loss = ReduceSum <keepdims = 0> (l) }}",
      fmt::join(weights, ", "), ops);
  return spread ? model_of(body, processors) : model_of(body);
}

TEST(StaleWeights, DoNotMatterWhereGradientsDoNotDependOnThem) {
  constexpr float kMagnitude = 100;
  std::mt19937 random(1011);
  std::vector<double> sum(64, 0);  // of the samples' signs
  PipelinedRuns runs;
  for (int run = 0; run < 3; ++run) {
    std::vector<float> x(100 * 4 * 64);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = random() % 2 == 0 ? -kMagnitude : kMagnitude;
      sum[i % 64] += x[i] / kMagnitude;
    }
    runs.push_back({tensor<float>({100, 4, 8, 8}, x)});
  }
  const TensorsByName exact =
      train(linear(false), training_with({.batches_per_step = 100}, 0.01), runs).weights;
  const TensorsByName found = train(linear(true), training_with(pipeline_of(3, 100), 0.01), runs).weights;
  double difference = 0;
  for (const auto& [name, weight] : found) {
    EXPECT_TRUE(ir::identical(weight, exact.at(name))) << name;
    for (std::size_t i = 0; i < 64; ++i) {
      difference += std::fabs(static_cast<double>(weight.values<float>()[i]) + 0.01 * 0.1 * sum[i]);
    }
  }
  EXPECT_LT(difference, 1e-5);
}

// Three sigmoids of sums with weights on each of two ways that meet at the end, as PopART splits them over
// three processors: the first way begins on the second.
importer::Model quadratic(const std::vector<std::vector<float>>& weights, bool spread) {
  std::vector<std::string> initializers;
  std::string ops;
  for (int i = 0; i < 6; ++i) {
    initializers.push_back(initializer(fmt::format("w{}", i), {2, 2}, weights[i]));
    const std::string before = i == 0 ? "x" : i == 3 ? "y" : fmt::format("s{}", i - 1);
    ops += fmt::format("a{0} = Add({1}, w{0}) s{0} = Sigmoid(a{0}) ", i, before);
  }
  const std::string body = fmt::format(
      "agraph (float[4,2,2] x, float[4,2,2] y) => (float loss) <{}, float lambda_const = {{0.1}}> {{ {}"
      "e = Add(s2, s5) m = Abs(e) l = Mul(m, lambda_const) loss = ReduceSum <keepdims = 0> (l) }}",
      fmt::join(initializers, ", "), ops);
  return spread ? model_of(body, {1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2}) : model_of(body);
}

struct Drift {
  double exact = 0;       ///< how far the weights went on one processor
  double pipelined = 0;   ///< and in the pipeline
  double difference = 0;  ///< between where they ended
};

// Three runs, of the numbers that the generator which PopART's table was made with gives.
Drift drift(double rate, int batches) {
  std::minstd_rand random(1011);
  const auto number = [&] { return 2 * (static_cast<float>(random() - 1) / 2147483646.0F) - 1; };
  std::vector<std::vector<float>> weights(6, std::vector<float>(4));
  for (std::vector<float>& weight : weights) std::generate(weight.begin(), weight.end(), number);
  PipelinedRuns runs;
  for (int run = 0; run < 3; ++run) {
    std::vector<float> x(static_cast<std::size_t>(batches) * 16);
    for (float& element : x) element = 1 + 2 * number();
    const ir::Datum inputs = tensor<float>({batches, 4, 2, 2}, x);
    runs.push_back({inputs, inputs});
  }
  const TensorsByName exact =
      train(quadratic(weights, false), training_with({.batches_per_step = batches}, rate), runs).weights;
  const TensorsByName found =
      train(quadratic(weights, true), training_with(pipeline_of(3, batches), rate), runs).weights;
  Drift drift;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string name = "w" + std::to_string(i);
    const ir::Tensor start = tensor<float>({2, 2}, weights[i]);
    drift.exact += distance(exact.at(name), start);
    drift.pipelined += distance(found.at(name), start);
    drift.difference += distance(found.at(name), exact.at(name));
  }
  return drift;
}

TEST(StaleWeights, CostAnErrorThatFallsWithTheLearningRateAsPopartHasIt) {
  struct Row {
    double rate;
    int batches;
    double exact;
    double pipelined;
    double difference;
  };
  const Row rows[] = {{0.04, 20, 2.15029, 2.14938, 0.00147016},
                      {0.02, 40, 2.1499, 2.14942, 0.000760384},
                      {0.01, 80, 2.15091, 2.15066, 0.000388138},
                      {0.005, 160, 2.15162, 2.15149, 0.000195466}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.rate);
    const Drift found = drift(row.rate, row.batches);
    // What six digits and the rounding of 480 updates of 24 numbers leave; another split is ten times as far
    // off.
    EXPECT_NEAR(found.exact, row.exact, 1e-5);
    EXPECT_NEAR(found.pipelined, row.pipelined, 1e-5);
    EXPECT_NEAR(found.difference, row.difference, 3e-7);
  }
  EXPECT_LT(drift(0.005, 160).difference, 0.0006);
}

TEST(StashedWeights, AreOneVersionForAllThatAMicroBatchDoesInAStage) {
  for (const int stages : {2, 3, 4}) {
    const Versions old = [&](int m, int s) { return stale(m, s, stages); };
    Strategy strategy = pipeline_of(stages, 9);
    strategy.weight_stashing = true;
    for (const Recomputation recomputation :
         {Recomputation::None, Recomputation::Pipeline, Recomputation::RecomputeAll}) {
      strategy.recomputation = recomputation;
      expect_weights(stages, strategy, {.forward = old, .backward = old, .activation = old});
    }
    strategy.weights.location.storage = ir::Storage::OffChip;
    strategy.weights.min_elements_for_off_chip = 1;
    expect_weights(stages, strategy, {.forward = old, .backward = old, .activation = old});
  }
}

// Products of an input with a weight of each of three stages, and the sum of the squares as the loss.
constexpr int kStages = 3;
constexpr int kElements = 5;
constexpr double kRate = 0.05;

importer::Model products() {
  return model_of(
      "agraph (float[5] x) => (float loss) <float[5] w0 = {0.5, 0.6, 0.7, 0.8, 0.9}, float[5] w1 = {0.5, "
      "0.6, 0.7, 0.8, 0.9},"
      " float[5] w2 = {0.5, 0.6, 0.7, 0.8, 0.9}>"
      "{ h0 = Mul(x, w0) h1 = Mul(h0, w1) h2 = Mul(h1, w2) y = Mul(h2, h2) loss = ReduceSum <keepdims = 0> "
      "(y) }",
      {0, 1, 2, 2, 2});
}

// What the three weights come to over micro-batches of `x`, [runs][batches][replicas][elements], by hand.
// Gradients are means over the replicas.
std::vector<std::vector<double>> by_hand(const std::vector<std::vector<float>>& x, int replicas,
                                         bool stashed) {
  std::vector<std::vector<double>> newest(kStages, {0.5, 0.6, 0.7, 0.8, 0.9});
  for (const std::vector<float>& of_run : x) {
    std::vector<std::vector<std::vector<double>>> versions{newest};  // by updates of this run
    const int batches = static_cast<int>(of_run.size()) / (replicas * kElements);
    for (int m = 0; m < batches; ++m) {
      const auto weight = [&](int stage, bool forward, int e) {
        const int version = forward || stashed ? stale(m, stage, kStages) : m;
        return versions[version][stage][e];
      };
      for (int replica = 0; replica < replicas; ++replica) {
        for (int e = 0; e < kElements; ++e) {
          double h[kStages + 1] = {of_run[(m * replicas + replica) * kElements + e]};
          for (int s = 0; s < kStages; ++s) h[s + 1] = h[s] * weight(s, true, e);
          double gradient = 2 * h[kStages];
          for (int s = kStages; s-- > 0; gradient *= weight(s, false, e)) {
            newest[s][e] -= kRate * gradient * h[s] / replicas;
          }
        }
      }
      versions.push_back(newest);
    }
  }
  return newest;
}

// Two runs of 12 batches.
void expect_as_by_hand(Strategy strategy) {
  SCOPED_TRACE(fmt::format("{} replicas, stashed {}", strategy.replicas, strategy.weight_stashing));
  constexpr int kMicroBatches = 12;
  strategy.batches_per_step = kMicroBatches;
  strategy.ipus = kStages * strategy.replicas;
  strategy.reduction = Reduction::Mean;
  std::mt19937 random(8);
  std::vector<std::vector<float>> x;
  PipelinedRuns runs;
  for (int run = 0; run < 2; ++run) {
    x.push_back(
        random_numbers(random, std::int64_t{kMicroBatches} * strategy.replicas * kElements, -1.5F, 1.5F));
    runs.push_back({tensor<float>({std::ssize(x.back())}, x.back())});
  }
  const TensorsByName found = train(products(), training_with(strategy, kRate), runs).weights;
  const auto wanted = by_hand(x, strategy.replicas, strategy.weight_stashing);
  for (std::size_t s = 0; s < kStages; ++s) {
    const ir::Tensor& weight = found.at("w" + std::to_string(s));
    for (std::size_t e = 0; e < kElements; ++e)
      EXPECT_NEAR(weight.values<float>()[e], wanted[s][e], 2e-6) << s << " " << e;
  }
}

struct ReplicaWay {
  const char* name;
  void (*apply)(Strategy&);
};

const ReplicaWay kWays[] = {
    {"as it is", [](Strategy&) {}},
    {"recomputed", [](Strategy& o) { o.recomputation = Recomputation::RecomputeAll; }},
    {"weights off chip", [](Strategy& o) { o.weights.location.storage = ir::Storage::OffChip; }},
    {"state off chip", [](Strategy& o) { o.optimizer_state.location.storage = ir::Storage::OffChip; }},
    {"weights in parts",
     [](Strategy& o) {
       o.weights.location.sharded = true;
       o.weights.min_elements_for_sharding = 2;
     }},
    {"weights in parts off chip",
     [](Strategy& o) {
       o.weights.location.sharded = true;
       o.weights.location.storage = ir::Storage::OffChip;
       o.weights.min_elements_for_sharding = 2;
     }},
    {"IO overlaps",
     [](Strategy& o) {
       o.io_tiles = 32;
       o.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
     }},
};

TEST(StaleWeights, TrainAsALoopByHand) {
  for (const int replicas : {1, 2}) {
    for (const ReplicaWay& way : kWays) {
      SCOPED_TRACE(way.name);
      Strategy strategy = pipeline_of(kStages, 0);
      strategy.replicas = replicas;
      way.apply(strategy);
      expect_as_by_hand(strategy);
    }
  }
}

TEST(StashedWeights, TrainAsALoopByHand) {
  for (const int replicas : {1, 2}) {
    for (const ReplicaWay& way : kWays) {
      SCOPED_TRACE(way.name);
      Strategy strategy = pipeline_of(kStages, 0);
      strategy.weight_stashing = true;
      strategy.replicas = replicas;
      way.apply(strategy);
      expect_as_by_hand(strategy);
    }
  }
}

// As deep as an activation's stash would be: one version for each micro-batch between its two passes.
TEST(StashedWeights, WaitInAsManySlotsAsMicroBatchesAreOnTheirWay) {
  for (const int stages : {2, 3, 4}) {
    Strategy strategy = pipeline_of(stages, 9);
    strategy.weight_stashing = true;
    const TrainingSession session(counting(stages), training_with(strategy, 1));
    std::vector<int> slots(static_cast<std::size_t>(stages), 0);
    for (const executor::Buffer& buffer : session.program().buffers) {
      if (buffer.name.find("__stash") == std::string::npos) continue;
      EXPECT_EQ(buffer.role, executor::Role::Stash);
      slots[buffer.processor] += buffer.slots;
    }
    for (int s = 0; s < stages; ++s) {
      EXPECT_EQ(slots[s], s == stages - 1 ? 0 : 2 * (stages - 1 - s) + 1) << s;
    }
  }
}

TEST(StashedWeights, AreMemoryThatSimulatorAndEngineCountAlike) {
  for (const ReplicaWay& way : kWays) {
    SCOPED_TRACE(way.name);
    for (const int replicas : {1, 2}) {
      Strategy strategy = pipeline_of(kStages * replicas, 12);
      strategy.weight_stashing = true;
      strategy.replicas = replicas;
      way.apply(strategy);
      TrainingOptions options = training_with(strategy, kRate);
      options.session.clock = true;
      TrainingSession session(products(), options);
      const auto count = static_cast<std::size_t>(60 * replicas);
      const std::vector<ir::Datum> inputs{tensor<float>({60 * replicas}, std::vector<float>(count, 1))};
      session.run(inputs);
      for (int processor = 0; processor < kStages; ++processor) {
        EXPECT_EQ(session.timeline()->processors[processor].memory.peak_data, session.peak_bytes(processor));
      }
    }
  }
}

// What a stash costs a processor: so many versions of its weight.
TEST(StashedWeights, CostTheirSlotsAndNothingElse) {
  const auto peak = [](bool stashed, int processor) {
    Strategy strategy = pipeline_of(kStages, 12);
    strategy.weight_stashing = stashed;
    TrainingSession session(products(), training_with(strategy, kRate));
    const std::vector<ir::Datum> inputs{tensor<float>({60}, std::vector<float>(60, 1))};
    session.run(inputs);
    return session.peak_bytes(processor);
  };
  constexpr int kBytes = 4 * kElements;
  // On the first processor nothing goes further back, so that only the update reads the weight later.
  EXPECT_EQ(peak(true, 0) - peak(false, 0), 0);
  EXPECT_EQ(peak(true, 1) - peak(false, 1), 3 * kBytes);
  EXPECT_EQ(peak(true, 2) - peak(false, 2), 0);
}

}  // namespace
}  // namespace podium::testing
