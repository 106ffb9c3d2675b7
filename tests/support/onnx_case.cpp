#include "tests/support/onnx_case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "importer/read_tensor.h"

namespace podium::testing {
namespace {

namespace fs = std::filesystem;

std::string model_file_in(const std::string& folder) { return (fs::path(folder) / "model.onnx").string(); }

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<std::string> case_folders(std::string_view places) {
  std::vector<std::string> folders;
  std::stringstream given{std::string(places)};
  for (std::string place; std::getline(given, place, ':');) {
    if (!fs::exists(place)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
      if (entry.path().filename() == "model.onnx") folders.push_back(entry.path().parent_path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<ir::Datum> read_case_inputs(const std::string& folder) {
  std::vector<ir::Datum> inputs;
  for (const auto& [name, type] : importer::read_signature(model_file_in(folder)).inputs) {
    const fs::path file = fs::path(folder) / "test_data_set_0" / fmt::format("input_{}.pb", inputs.size());
    if (!fs::exists(file)) break;
    inputs.push_back(importer::read_datum(bytes_of(file), type));
  }
  return inputs;
}

importer::Model import_case(const std::string& folder, const std::vector<ir::Datum>& inputs) {
  importer::ImportOptions options{.fed_shapes_win = true};
  const importer::Signature signature = importer::read_signature(model_file_in(folder));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    options.input_types[signature.inputs[i].first] = type_of(inputs[i]);
  return importer::import_model(model_file_in(folder), options);
}

}  // namespace podium::testing
