// Exported models with trained weights, where tools/setup --real-models has fetched them, with the reference
// outputs of another runtime.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "importer/import.h"
#include "tests/support/run_program.h"

namespace podium::models {
namespace {

namespace fs = std::filesystem;

struct RealModel {
  std::string name;
  std::string tolerance;  ///< as a part of the largest number of an output
  fs::path folder;
};

fs::path cache() {
  if (const char* given = std::getenv("PODIUM_CACHE")) return fs::path(given) / "real-models";
  const char* home = std::getenv("HOME");
  return fs::path(home == nullptr ? "" : home) / ".cache" / "podium" / "real-models";
}

// Those of the list that are there with inputs and reference outputs.
std::vector<RealModel> fetched_models() {
  std::vector<RealModel> models;
  std::ifstream list(std::string(PODIUM_SOURCE_DIR) + "/tools/lib/real-models.txt");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string package;
    std::string version;
    std::string file;
    std::string sum;
    RealModel model;
    words >> model.name >> package >> version >> file >> sum >> model.tolerance;
    model.folder = cache() / model.name;
    const bool is_there = line[0] != '#' && fs::exists(model.folder / "model.onnx") &&
                          fs::exists(model.folder / "test_data_set_0" / "output_0.pb");
    if (is_there) models.push_back(model);
  }
  return models;
}

struct Way {
  std::string flags;
  std::set<std::string> whole = {};  ///< models that are one op, an If, and so stay in one phase
};

class RealModels : public ::testing::TestWithParam<Way> {};

TEST_P(RealModels, GiveTheOutputsOfTheReference) {
  const std::vector<RealModel> models = fetched_models();
  if (models.empty())
    GTEST_SKIP() << "no models in " << cache() << ": tools/setup --real-models fetches them";
  for (const RealModel& model : models) {
    SCOPED_TRACE(model.name);
    const testing::ProgramResult result = testing::run_program(
        fmt::format("podium test --quiet --verbose --rtol 0 --atol 0 --tolerance-of-largest {} {} {}",
                    model.tolerance, GetParam().flags, model.folder.string()));
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, ::testing::HasSubstr("1 passed, 0 failed, 0 skipped"));
    const bool is_whole = result.out.find("on one processor " + model.name) != std::string::npos;
    EXPECT_EQ(is_whole, GetParam().whole.contains(model.name)) << result.out;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, RealModels,
    ::testing::Values(Way{""}, Way{"--virtual-graph-mode auto --ipus 2"},
                      Way{"--virtual-graph-mode auto --ipus 2 --pipeline --batches-per-step 3"},
                      Way{"--virtual-graph-mode execution-phases --phases 2",
                          {"silero-vad-v4", "whisper-tiny-decoder-int8"}},
                      Way{"--replicas 2 --batches-per-step 2"}, Way{"--off-chip weights"}));

// A flag for each weight of a product, cut in columns, or of a convolution, cut in output channels.
std::vector<std::string> cuts_of_weights(const fs::path& file, std::int64_t devices) {
  const importer::Model model = importer::import_model(file.string());
  std::vector<std::string> flags;
  std::set<std::string> seen;
  for (const ir::Op& op : model.graph.ops) {
    const bool is_convolution = op.is("Conv");
    if (!is_convolution && !op.is("MatMul") && !op.is("MatMulInteger")) continue;
    const ir::Value& weight = model.graph[op.inputs[1]];
    if (!model.graph.is_constant(op.inputs[1]) || weight.type.rank() < 2 || weight.name.empty()) continue;
    const std::int64_t axis = is_convolution ? 0 : weight.type.rank() - 1;
    if (weight.type.dims[static_cast<std::size_t>(axis)] < devices || !seen.insert(weight.name).second)
      continue;
    flags.push_back(fmt::format("--shard '{}:{}={}'", weight.name, axis, devices));
  }
  return flags;
}

TEST(RealModel, IsCutOverDevices) {
  const std::vector<RealModel> models = fetched_models();
  if (models.empty())
    GTEST_SKIP() << "no models in " << cache() << ": tools/setup --real-models fetches them";
  std::size_t cut = 0;
  for (const RealModel& model : models) {
    SCOPED_TRACE(model.name);
    const std::vector<std::string> cuts = cuts_of_weights(model.folder / "model.onnx", 4);
    if (cuts.empty()) continue;
    ++cut;
    const testing::TemporaryFolder folder;
    const testing::ProgramResult made = testing::run_program(
        fmt::format("podium annotate {} {} --configuration four -o {}",
                    (model.folder / "model.onnx").string(), fmt::join(cuts, " "), folder.file("model.onnx")));
    ASSERT_EQ(made.status, 0) << made.err;
    fs::copy(model.folder / "test_data_set_0", folder.file("test_data_set_0"));
    const testing::ProgramResult result = testing::run_program(
        fmt::format("podium test --quiet --rtol 0 --atol 0 --tolerance-of-largest {} --configuration four {}",
                    model.tolerance, folder.path()));
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, ::testing::HasSubstr("1 passed, 0 failed, 0 skipped"));
  }
  EXPECT_GE(cut + 6, models.size());  // those without such weights are few
}

// By the tool: images by their rows or columns, blocks of transformers by their weights.
TEST(RealModel, IsCutOverDevicesByTheTool) {
  const std::vector<RealModel> models = fetched_models();
  if (models.empty())
    GTEST_SKIP() << "no models in " << cache() << ": tools/setup --real-models fetches them";
  const std::map<std::string, std::string> flags{{"modnet", "spatial"},
                                                 {"yolov8n", "spatial"},
                                                 {"yolo11n-dyn", "spatial"},
                                                 {"retinaface-mnet25", "spatial"},
                                                 {"sface", "spatial"},
                                                 {"ppocrv4-rec", "tensor"},
                                                 {"ddddocr-common", "spatial"},
                                                 {"minilm-l6-int8", "tensor"},
                                                 {"bert-tiny-toxicity-int8", "tensor"}};
  std::size_t cut = 0;
  for (const RealModel& model : models) {
    SCOPED_TRACE(model.name);
    if (!flags.contains(model.name)) continue;
    ++cut;
    const testing::ProgramResult result = testing::run_program(fmt::format(
        "podium test --quiet --rtol 0 --atol 0 --tolerance-of-largest {} --device ipu-pod16 --{}-parallel 4 {}",
        model.tolerance, flags.at(model.name), model.folder.string()));
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, ::testing::HasSubstr("1 passed, 0 failed, 0 skipped"));
  }
  EXPECT_EQ(cut, flags.size());
}

}  // namespace
}  // namespace podium::models
