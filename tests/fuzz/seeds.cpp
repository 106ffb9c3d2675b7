#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/target.h"

namespace podium::fuzz {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_seed(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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

}  // namespace podium::fuzz
