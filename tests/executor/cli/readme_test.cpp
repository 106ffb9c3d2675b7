// What the first screen of README.md shows is what comes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using testing::run_program;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> cells_of(const std::string& row) {
  const std::regex gap("  +");
  return {std::sregex_token_iterator(row.begin(), row.end(), gap, -1), {}};
}

// The first block of the document, without its command and what stands behind it.
std::vector<std::string> first_block() {
  std::ifstream file(PODIUM_SOURCE_DIR "/README.md");
  std::vector<std::string> block;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("```")) {
      if (is_inside) block.push_back(line);
    } else if (is_inside) {
      break;
    } else {
      is_inside = true;
    }
  }
  return block;
}

// Rows and columns are left out there: a row's cells are those of a row that comes out, in their order.
bool is_part_of(const std::string& shown, const std::string& row) {
  const std::vector<std::string> all = cells_of(row);
  auto place = all.begin();
  for (const std::string& cell : cells_of(shown)) {
    place = std::find(place, all.end(), cell);
    if (place == all.end()) return false;
    ++place;
  }
  return true;
}

TEST(FirstScreen, OfTheReadmeIsWhatComesOut) {
  const std::vector<std::string> block = first_block();
  ASSERT_GT(block.size(), 10U);
  const std::string start = "$ podium compare bert.onnx ";
  ASSERT_TRUE(block[0].starts_with(start)) << block[0];
  const std::string flags = block[0].substr(start.size(), block[0].find('#') - start.size());
  const testing::TemporaryFolder folder;
  const std::string model = folder.file("bert.onnx");
  ASSERT_EQ(run_program("podium-models bert -o " + model).status, 0);
  const auto result = run_program("podium compare " + model + " " + flags + " --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  std::string out = result.out;
  for (std::size_t at = out.find(model); at != std::string::npos; at = out.find(model))
    out.replace(at, model.size(), "bert.onnx");
  const std::vector<std::string> lines = lines_of(out);
  for (std::size_t i = 1; i < block.size(); ++i) {
    EXPECT_TRUE(std::ranges::any_of(lines, [&](const std::string& line) {
      return is_part_of(block[i], line);
    })) << block[i];
  }
}

}  // namespace
}  // namespace podium::cli
