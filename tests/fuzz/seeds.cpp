#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/target.h"
#include "tests/support/device_configurations.h"

namespace podium::fuzz {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_seed(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void append_unknown(google::protobuf::Message& message, int field, const std::string& bytes) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(field, bytes);
}

std::string cut_spec(const std::string& tensor) {
  return testing::spec(tensor, {0, 1}, {testing::sharded(0, 2)});
}

}  // namespace

Corpus corpus_files(const std::string& name) {
  const fs::path folder = fs::path(PODIUM_SOURCE_DIR) / "tests/fuzz/corpus" / name;
  std::vector<fs::path> paths;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  Corpus corpus;
  for (const fs::path& path : paths) corpus.push_back(bytes_of_seed(path));
  return corpus;
}

Corpus case_models(std::size_t most_bytes) {
  std::vector<fs::path> paths;
  if (fs::exists(PODIUM_CASES)) {
    for (const auto& entry : fs::recursive_directory_iterator(PODIUM_CASES)) {
      if (entry.path().filename() == "model.onnx" && entry.file_size() <= most_bytes)
        paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  Corpus corpus;
  for (const fs::path& path : paths) corpus.push_back(bytes_of_seed(path));
  return corpus;
}

Corpus cut_models(std::size_t most_bytes) {
  Corpus corpus;
  for (const std::string& bytes : case_models(most_bytes)) {
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes)) continue;
    append_unknown(model, testing::kModelConfiguration, testing::device_configuration("tp", 2));
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
      const bool has_inputs = node.input_size() > 0 && !node.input(0).empty();
      if (!has_inputs && node.output_size() == 0) continue;
      append_unknown(
          node, testing::kNodeDeviceConfigurations,
          testing::node_configuration("tp", {cut_spec(has_inputs ? node.input(0) : node.output(0))}));
    }
    corpus.push_back(model.SerializeAsString());
  }
  return corpus;
}

}  // namespace podium::fuzz
