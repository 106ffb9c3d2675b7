// --memory-limit, and how much memory a file can cost.
#include "executor/cli/memory_limit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "executor/cli/usage_error.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::ProgramResult;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounts = false;
#else
constexpr bool kCounts = true;
#endif

TEST(MemoryLimit, IsACountOfBytesWithAUnit) {
  EXPECT_EQ(byte_count("--memory-limit", "1000"), 1000);
  EXPECT_EQ(byte_count("--memory-limit", "512MiB"), 512 << 20);
  EXPECT_EQ(byte_count("--memory-limit", "2 GB"), 2'000'000'000);
  for (const char* text : {"", "0", "-1", "MiB", "1.5GB", "1GX", "99999999TiB", "1 GB "})
    EXPECT_THROW(byte_count("--memory-limit", text), UsageError) << text;
}

ProgramResult run_podium(const std::string& words) { return testing::run_program("podium " + words); }

class MemoryLimitOfAProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kCounts) GTEST_SKIP() << "sanitizers bring their own memory";
  }
  testing::TemporaryFolder folder_;
  std::string digits_ = std::string(PODIUM_SOURCE_DIR) + "/models/data/mnist-demo.onnx";
};

TEST_F(MemoryLimitOfAProgram, EndsACommandWithOneLineAndStatus3) {
  const std::string large = folder_.write(
      "large.onnxtxt",
      "<ir_version: 10, opset_import: [\"\" : 21]>\n"
      "net (float[4000,4000] x) => (float[4000,4000] y) { h = MatMul(x, x)  y = MatMul(h, x) }\n");
  for (const std::string& command :
       std::vector<std::string>{"run {}", "run {} --virtual-graph-mode auto --ipus 2", "compare {}"}) {
    const std::string words = fmt::format(fmt::runtime(command), large) + " --memory-limit 100MiB";
    const ProgramResult result = run_podium(words);
    EXPECT_EQ(result.status, 3) << words << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("out of memory")) << words;
    EXPECT_THAT(result.err, HasSubstr("(--memory-limit 100MiB)")) << words;
  }
  EXPECT_EQ(run_podium(fmt::format("run {} --memory-limit 1GiB", large)).status, 0);
}

TEST_F(MemoryLimitOfAProgram, HoldsForEveryCommandThatLoadsAModel) {
  for (const std::string& command :
       std::vector<std::string>{"run {}", "train {} --estimate --loss mse --optimizer sgd",
                                "annotate {} --list", "compare {} --estimate", "info {}"}) {
    const std::string words = fmt::format(fmt::runtime(command), digits_);
    const ProgramResult refused = run_podium(words + " --memory-limit 20KB");
    EXPECT_EQ(refused.status, 3) << words << ": " << refused.err;
    EXPECT_EQ(refused.err.find('\n'), refused.err.size() - 1) << words << ": " << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("(--memory-limit 20KB)")) << words;
    EXPECT_EQ(run_podium(words + " --memory-limit 500MiB").status, run_podium(words).status) << words;
  }
}

// oneDNN writes code where it was given no memory for it, so a kernel looks before it asks for a primitive.
// With less than 12 MB the libraries do not come up, and the program's own code never runs.
TEST_F(MemoryLimitOfAProgram, OfTheSystemEndsARunWithOneLine) {
  int refused = 0;
  for (int kib = 12000; kib <= 44000; kib += 1000) {
    const ProgramResult result =
        testing::run_program(fmt::format("podium run {} --dim N=1 --threads 1 --quiet", digits_),
                             fmt::format("ulimit -d {};", kib));
    if (result.status == 0) continue;
    ++refused;
    EXPECT_EQ(result.status, 1) << kib << " KiB: " << result.err;
    EXPECT_THAT(result.err, AnyOf(HasSubstr("out of memory"), HasSubstr("Thread creation failed"))) << kib;
  }
  EXPECT_GT(refused, 0);
}

TEST_F(MemoryLimitOfAProgram, LeavesNoFileBehind) {
  const std::string saved = folder_.file("saved.onnx");
  const ProgramResult result =
      run_podium(fmt::format("annotate {} --ipu '*=0' -o {} --memory-limit 20KB", digits_, saved));
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

std::string length_delimited_field(int number, const std::string& bytes) {
  std::string result(1, static_cast<char>(number << 3 | 2));
  for (std::size_t rest = bytes.size();; rest >>= 7) {
    result += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
    if (rest <= 127) return result + bytes;
  }
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// As SECURITY.md has it: what is refused, or read, has cost no more for each byte of the file. The worst are
// messages of no bytes, of which a model may have one every two bytes.
TEST_F(MemoryLimitOfAProgram, IsNotReachedByAFileThatDeclaresMoreThanItHas) {
  constexpr int kMany = 200'000;
  constexpr std::size_t kMost = 160;
  constexpr std::size_t kProgram = 8 << 20;
  const std::string relu = length_delimited_field(4, "Relu");
  std::vector<std::pair<std::string, std::string>> files;
  for (const int field : {1, 5, 11, 13, 14, 15})  // of a graph: nodes, initializers, inputs, ...
    files.emplace_back("graph.onnx",
                       length_delimited_field(7, repeated(length_delimited_field(field, ""), kMany)));
  for (const int field : {1, 2, 5})  // of a node: inputs, outputs, attributes
    files.emplace_back(
        "node.onnx",
        length_delimited_field(
            7, length_delimited_field(1, relu + repeated(length_delimited_field(field, ""), kMany))));
  const std::string functions = repeated(std::string("\xca\x01\x00", 3), kMany);
  files.emplace_back("functions.onnx", length_delimited_field(7, "") + functions);
  for (const auto& [name, bytes] : files) {
    const std::string file = folder_.write(name, "\x08\x0a" + length_delimited_field(8, "\x10\x15") + bytes);
    const ProgramResult result =
        run_podium(fmt::format("info {} --memory-limit {}", file, kMost * bytes.size() + kProgram));
    EXPECT_LT(result.status, 3) << name << ": " << result.err;
  }
  for (const std::string value : {"1", "[]", "{}", "\"\"", "null"}) {
    const std::string file = folder_.write("options.json", "[" + repeated(value + ",", kMany) + value + "]");
    const ProgramResult result =
        run_podium(fmt::format("run {} --estimate --dim N=1 --options {} --memory-limit {}", digits_, file,
                               kMost * std::filesystem::file_size(file) + kProgram));
    EXPECT_EQ(result.status, 1) << value << ": " << result.err;
  }
}

}  // namespace
}  // namespace podium::cli
