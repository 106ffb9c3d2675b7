// Random models with random layouts of their nodes' tensors over devices, under random strategies, train as
// on one processor: the oracle follows every value. PODIUM_ORACLE_CASES=N explores N cases,
// PODIUM_ORACLE_FIRST=S those from seed S on. PODIUM_ORACLE_SAVE=FOLDER keeps the model and the session
// options of each case that fails.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "executor/compare/oracle.h"
#include "executor/session/read_options.h"
#include "importer/write_model.h"
#include "ir/infer.h"
#include "tests/strategies/micro_batches.h"
#include "tests/strategies/random_case.h"
#include "tests/support/jumps.h"
#include "tests/support/run_program.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using report::Judgement;
using report::OracleVerdict;
using testing::Random;
using testing::RandomCase;

constexpr int kOracleSteps = 2;

struct CutCase {
  RandomCase made;
  importer::Model model;
  importer::Sharding sharding = {};
  int devices = 1;
};

// So many shards over some of the devices, or each on several.
std::vector<std::vector<std::int64_t>> random_holders(Random& random, std::int64_t shards, int devices) {
  std::vector<std::vector<std::int64_t>> holders(static_cast<std::size_t>(shards));
  const bool share = random.coin();
  for (std::int64_t device = 0; device < devices; ++device) {
    if (device < shards) {
      holders[device].push_back(device);
    } else if (share) {
      holders[device % shards].push_back(device);
    }
  }
  return holders;
}

ir::ShardingSpec random_spec(Random& random, const ir::Type& type, int devices) {
  if (random.one_in(8)) {
    ir::ShardingSpec spec{.holders = {{}}, .axes = {}};
    for (int device = 0; device < devices; ++device) spec.holders[0].push_back(device);
    return spec;
  }
  const int axis = random.below(type.rank());
  const bool nests = devices == 4 && type.rank() > 1 && random.one_in(4);
  if (nests) {
    const int other = (axis + 1 + random.below(type.rank() - 1)) % type.rank();
    return {.holders = {{0}, {1}, {2}, {3}}, .axes = {{axis, {{.shards = 2}}}, {other, {{.shards = 2}}}}};
  }
  const std::int64_t shards = 2 + random.below(devices - 1);
  return {.holders = random_holders(random, shards, devices), .axes = {{axis, {{.shards = shards}}}}};
}

// Some nodes say how some of their operands are cut.
importer::Sharding random_sharding(Random& random, const importer::Model& model, int devices) {
  ir::Graph graph = model.graph;
  ir::infer(graph);
  importer::Sharding sharding{
      .configurations = {{.name = "cut", .devices = devices, .names = {}}}, .nodes = {}, .warnings = {}};
  for (const ir::Op& op : graph.ops) {
    if (random.coin()) continue;
    importer::NodeSharding node{.node = op.name, .configuration = "cut"};
    const auto say = [&](ir::ValueId id) {
      const ir::Value& value = graph[id];
      const bool is_named =
          std::ranges::any_of(node.tensors, [&](const auto& one) { return one.name == value.name; });
      if (is_named || !value.type.is_static() || value.type.rank() == 0) return;
      node.tensors.push_back({value.name, random_spec(random, value.type, devices)});
    };
    const std::size_t formal = op.formal_inputs();
    if (formal > 0 && random.coin()) {
      const ir::ValueId input = op.inputs[random.below(static_cast<int>(formal))];
      if (input.valid()) say(input);
    }
    if (node.tensors.empty() || random.one_in(4)) say(op.outputs[0]);
    if (!node.tensors.empty()) sharding.nodes.push_back(std::move(node));
  }
  return sharding;
}

importer::Model with_sharding(const importer::Model& model, const importer::Sharding& sharding) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("cut.onnx");
  importer::write_model(model, path, {.sharding = sharding});
  return importer::import_model(path);
}

// What cannot be followed, or not beside a cut, is left out of the case.
CutCase cut_case(unsigned seed) {
  Random random(seed + 1234567);
  CutCase made{.made = testing::random_case(seed, testing::Layers::Many), .model = {}};
  RandomCase& given = made.made;
  Strategy& strategy = given.options.session.strategy;
  strategy.batch_serialization = {};
  given.broadcast = false;
  made.model = testing::model_of(given.model.text);
  if (random.one_in(4)) return made;
  made.devices = 2 + random.below(3);
  made.sharding = random_sharding(random, made.model, made.devices);
  made.model = with_sharding(made.model, made.sharding);
  strategy.device_configuration = "cut";
  if (strategy.ipus > 0) strategy.ipus *= made.devices;
  // LAMB makes a step of any gradient that is not 0, such as one that rounding leaves of a sum that is.
  const bool is_scaled = given.options.optimizer.defaults.contains("maxWeightNorm");
  if (is_scaled || testing::jumps(given.options.optimizer))
    given.options.optimizer.defaults["learningRate"].value = 1e-7;
  return made;
}

// The micro-batches of a step, in the order of a session's inputs.
compare::InputsOfStep random_inputs(const RandomCase& made) {
  return [&made](int step, const std::vector<executor::HostTensor>& inputs) {
    std::mt19937 random(static_cast<unsigned>(step) + 7);
    std::map<std::string, std::vector<ir::Tensor>> data;
    for (const std::string name : {"x", "z", "wanted", "ids", "labels"})
      data[name] = testing::micro_batches(name, made, random);
    std::vector<ir::Datum> given;
    for (const executor::HostTensor& input : inputs) {
      const std::vector<ir::Tensor>& parts = data.at(input.name);
      given.emplace_back(parts.size() == 1 ? parts[0] : testing::joined(parts, parts.size()));
    }
    return given;
  };
}

OracleVerdict judged(const CutCase& given) {
  const RandomCase& made = given.made;
  if (const auto reason = compare::why_not_judged(made.options.session.strategy, Task::Training))
    return {.why_not = *reason};
  TrainingOptions options = made.options;
  options.session = compare::watching(options.session);
  TrainingSession session(given.model, options);
  TrainingOptions one = alone(made);
  one.session = compare::watching(one.session);
  TrainingSession plain(given.model, one);
  const compare::InputsOfStep inputs = random_inputs(made);
  const compare::PlainSteps steps = compare::run_plainly(plain, kOracleSteps, inputs);
  return compare::judge(session, steps, inputs, {.threads = options.session.threads});
}

// What random models and layouts may ask for that nothing can be, by what the refusals say.
constexpr std::string_view kRefusals[] = {
    "the model has no tensor of this name", "pipelining needs more than 1 processor",
    "does not depend on any weight", "sharded over a group of replicas, another one is needed",
    "no device computes some of the results"};

struct Judged {
  int equal = 0;
  int explained = 0;
  int not_judged = 0;
  std::map<std::string_view, int> refused = {};
};

void judge_case(unsigned seed, Judged& counts) {
  const CutCase given = cut_case(seed);
  SCOPED_TRACE(fmt::format("seed {}, {} devices\n{}", seed, given.devices, given.made.model.text));
  try {
    const OracleVerdict verdict = judged(given);
    if (verdict.judgement() == Judgement::NotJudged) {
      ++counts.not_judged;
      return;
    }
    EXPECT_NE(verdict.judgement(), Judgement::Parts) << sentence(verdict);
    for (const report::Reassociation& one : verdict.explained)
      EXPECT_LE(one.difference, one.bound) << one.tensor;
    ++(verdict.judgement() == Judgement::EqualToTheBit ? counts.equal : counts.explained);
  } catch (const Error& error) {
    const auto known = std::ranges::find_if(kRefusals, [&](std::string_view refusal) {
      return std::string_view(error.what()).find(refusal) != std::string_view::npos;
    });
    if (known == std::end(kRefusals)) {
      ADD_FAILURE() << error.what();
    } else {
      ++counts.refused[*known];
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

// SEED.onnx and SEED.json, for the program's own commands.
void save_case(unsigned seed, const std::string& folder) {
  const CutCase given = cut_case(seed);
  const std::string path = fmt::format("{}/{}", folder, seed);
  importer::write_model(given.model, path + ".onnx", {.sharding = given.sharding});
  std::ofstream(path + ".json") << write_options(given.made.options.session.strategy).dump(2) << "\n";
}

unsigned number_of_environment(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

int failed_so_far() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

TEST(RandomOracle, FindsLayoutsAndStrategiesEqualToOneProcessorButForTheOrderOfSums) {
  const unsigned first = number_of_environment("PODIUM_ORACLE_FIRST", 0);
  const unsigned count = number_of_environment("PODIUM_ORACLE_CASES", 250);
  const bool explores = std::getenv("PODIUM_ORACLE_CASES") != nullptr;
  Judged counts;
  for (unsigned seed = first; seed < first + count; ++seed) {
    if (HasFailure() && !explores) break;
    const int failures = failed_so_far();
    judge_case(seed, counts);
    if (const char* folder = std::getenv("PODIUM_ORACLE_SAVE");
        folder != nullptr && failed_so_far() > failures)
      save_case(seed, folder);
  }
  fmt::print("{} equal to the bit, {} but for the order of sums, {} not judged\n", counts.equal,
             counts.explained, counts.not_judged);
  for (const auto& [reason, times] : counts.refused) fmt::print("  {} times: {}\n", times, reason);
  EXPECT_GT(counts.equal, static_cast<int>(count) / 10);
  EXPECT_GT(counts.explained, static_cast<int>(count) / 4);
}

// Cases that once ended in a fault or parted, by what was wrong.
TEST(RandomOracle, KeepsWhatHasBeenMended) {
  constexpr unsigned kSeeds[] = {
      1027,                           // statistics off chip
      367,  644,   1101, 1889,        // outputs of earlier stages
      3686,                           // constants in exchanges
      2796,                           // a Scan without captures
      1094, 2442,  2583,              // names of other values on one processor
      792,  2322,  4402, 4887, 5924,  // weights that updates read elsewhere, in phases
      3995, 20173,                    // norms that devices made of copies, in orders of their own
      21654                           // a statistic whose part several devices have, in phases
  };
  Judged counts;
  for (unsigned seed : kSeeds) judge_case(seed, counts);
  EXPECT_EQ(counts.equal + counts.explained, 18);
}

}  // namespace
}  // namespace podium
