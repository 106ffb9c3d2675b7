#include "executor/cli/case_runner.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "executor/cli/compare.h"
#include "executor/session/session.h"
#include "importer/read_tensor.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("{}: cannot be opened", path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_")) {
      sets.push_back(entry.path());
    }
  }
  std::sort(sets.begin(), sets.end());
  return sets;
}

std::string run_set(const fs::path& model_path, const fs::path& set, const Tolerance& tolerance) {
  importer::ImportOptions options;
  const auto declared = importer::read_signature(model_path.string());
  std::vector<ir::Datum> inputs;
  for (std::size_t i = 0; i < declared.inputs.size(); ++i) {
    const fs::path file = set / fmt::format("input_{}.pb", i);
    if (!fs::exists(file)) break;
    inputs.push_back(importer::read_datum(read_file(file), declared.inputs[i].second));
    const ir::Type type = type_of(inputs.back());
    if (declared.inputs[i].second.is_tensor()) options.input_types[declared.inputs[i].first] = type;
  }
  InferenceSession session(importer::import_model(model_path.string(), options));
  const auto results = session.run(inputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const fs::path file = set / fmt::format("output_{}.pb", i);
    const ir::Datum expected = importer::read_datum(read_file(file), declared.outputs[i].second);
    const std::string text = difference(results[i], expected, tolerance);
    if (!text.empty()) return fmt::format("output '{}': {}", declared.outputs[i].first, text);
  }
  return "";
}

}  // namespace

CaseResult run_case(const std::string& folder, const Tolerance& tolerance) try {
  for (const fs::path& set : data_sets(folder)) {
    const std::string reason = run_set(fs::path(folder) / "model.onnx", set, tolerance);
    if (!reason.empty()) return {false, reason};
  }
  return {true, ""};
} catch (const std::exception& error) {
  return {false, error.what()};
}

}  // namespace podium::cli
