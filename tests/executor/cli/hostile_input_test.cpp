// Files and words that nobody means well with: one line, the right status, and nothing harmed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;

constexpr const char* kModel =
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "net (float[2,4] x) => (float[2,4] y) <float w = {2.0}> { y = Mul(x, w) }\n";

std::string bytes_in(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class HostileInput : public ::testing::Test {
 protected:
  // As a shell runs it, with $M for the model and $D for the folder.
  ProgramResult run(const std::string& command) const {
    const testing::TemporaryFolder streams;
    const std::string bin = std::filesystem::path(PODIUM_PROGRAM).parent_path().string();
    streams.write("script",
                  fmt::format("PATH={}:$PATH\nM={}\nD={}\n{}\n", bin, model_, folder_.path(), command));
    const std::string line =
        fmt::format("sh {} >{} 2>{}", streams.file("script"), streams.file("out"), streams.file("err"));
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), bytes_in(streams.file("out")),
            bytes_in(streams.file("err"))};
  }

  void expect_refused(const std::string& command, int status, const std::string& reason) const {
    const ProgramResult result = run(command);
    EXPECT_EQ(result.status, status) << command << ": " << result.err;
    EXPECT_TRUE(result.err.starts_with("error: ")) << command << ": " << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << command << ": " << result.err;
    EXPECT_LT(result.err.size(), 2100U) << command;
    EXPECT_THAT(result.err, AllOf(HasSubstr(reason), Not(HasSubstr("fault of podium")))) << command;
  }

  testing::TemporaryFolder folder_;
  std::string model_ = folder_.write("model.onnxtxt", kModel);
};

const std::vector<std::string>& json_readers() {
  static const std::vector<std::string> kAll{
      "podium run $M --estimate --options ",
      "podium annotate $M --list --from ",
      "podium info --device ",
      "podium compare $M --estimate --strategies ",
      "podium train $M --estimate --loss mse --optimizer ",
      "podium train $M --estimate --loss mse --optimizer sgd --learning-rate-schedule "};
  return kAll;
}

TEST_F(HostileInput, DeepJsonIsRefusedWhereverItIsRead) {
  folder_.write("deep.json", std::string(200'000, '['));
  for (const std::string& reader : json_readers()) expect_refused(reader + "$D/deep.json", 1, "nest deeper");
}

TEST_F(HostileInput, WhatIsNoRegularFileIsRefusedBeforeItIsRead) {
  ASSERT_EQ(::mkfifo(folder_.file("pipe.json").c_str(), 0600), 0);
  for (const std::string& reader : json_readers()) {
    expect_refused(reader + "$D/pipe.json", 1, "is no regular file");
    if (!reader.ends_with("--optimizer ")) expect_refused(reader + "/dev/zero", 1, "is no regular file");
  }
  expect_refused("podium run $M --options $D", 1, "is a directory");
}

TEST_F(HostileInput, APipeInACaseIsNotWaitedFor) {
  std::filesystem::create_directories(folder_.file("case/test_data_set_0"));
  std::filesystem::copy_file(std::string(PODIUM_SOURCE_DIR) + "/models/data/mnist-demo.onnx",
                             folder_.file("case/model.onnx"));
  ASSERT_EQ(::mkfifo(folder_.file("case/test_data_set_0/input_0.pb").c_str(), 0600), 0);
  const ProgramResult result = run("podium test $D/case");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("is no regular file"));
}

TEST_F(HostileInput, DeepModelsAndWideNumbersInTextAreRefused) {
  std::string deep = "<ir_version: 10, opset_import: [\"\" : 21]> g (bool c) => (float y) {";
  for (int i = 0; i < 5000; ++i) deep += " y = If (c) <then_branch = g () => (float y) {";
  folder_.write("deep.onnxtxt", deep);
  expect_refused("podium info $D/deep.onnxtxt", 1, "nest deeper");
  folder_.write("wide.onnxtxt",
                "<ir_version: 10,\nopset_import: [\"\" : 99999999999999999999]> g () => () {}");
  expect_refused("podium info $D/wide.onnxtxt", 1, "line 2: a number found that is too large");
}

TEST_F(HostileInput, LongWordsAndLongFilesGiveShortMessages) {
  const std::string word(60'000, 'x');
  expect_refused("podium run $M --ipus=" + word, 2, "60007 characters found");
  expect_refused("podium run $M --ipus " + word.substr(0, 8000), 2, "...");
  folder_.write("long.json", "\"" + std::string(1'000'000, 'x'));
  expect_refused("podium run $M --options $D/long.json", 1, "long.json");
}

TEST_F(HostileInput, NumbersBeyondAllBoundsAreRefused) {
  folder_.write("rules.json", R"([{"match": "*", "priority": 1e999}])");
  expect_refused("podium annotate $M --list --from $D/rules.json", 1, "too large");
  folder_.write("wide.json", R"([{"match": "*", "priority": 1e99}])");
  expect_refused("podium annotate $M --list --from $D/wide.json", 1, "a number that a float holds");
  expect_refused("podium run $M --estimate --batches-per-step 2147483647", 1, "at most 1000000000 needed");
  expect_refused(
      "podium train $M --estimate --loss mse --optimizer sgd --accumulate 65536 --batches-per-step 32768", 1,
      "2147483648 micro-batches in a step found");
  expect_refused("podium run $M --estimate --batches-per-step 65536 --replicas 65536", 1,
                 "4294967296 micro-batches in a step found");
  expect_refused("podium compare $M --estimate --batches-per-step 65536 --replicas 65536", 1,
                 "4294967296 micro-batches in a step found");
  expect_refused("podium run $M --estimate --ipus 2147483647", 1, "numIPUs 2147483647 found");
  expect_refused("podium compare $M --estimate --ipus 2147483647", 1, "numIPUs 2147483647 found");
}

TEST_F(HostileInput, NoFileIsWrittenUnderAnEmptyName) {
  for (const std::string flag : {"--report", "--trace", "--html", "--output-dir"})
    expect_refused("podium run $M " + flag + " ''", 2, flag + ": '' found");
  expect_refused("podium train $M --loss mse --optimizer sgd --save ''", 2, "--save: '' found");
}

TEST_F(HostileInput, TwoResultsAreNotWrittenToOneFile) {
  expect_refused("podium run $M --report $D/a.json --trace $D/../$(basename $D)/a.json", 2,
                 "one file found for both");
  expect_refused("podium run $M --html $D/a.html --report $D/a.html", 2,
                 "--report and --html: one file found");
  expect_refused("podium compare $M --html $D/none/a.html", 1, "none/a.html");
  expect_refused("podium compare $M --ipus 1,2 --html $D/a.html", 2, "1,2 found for --ipus");
  folder_.write("two.onnx", "");
  folder_.write("two.onnxtxt",
                "<ir_version: 10, opset_import: [\"\" : 21]>\n"
                "net (float[1] x) => (float[1] a_b, float[1] c) { a_b = Neg(x)  c = Abs(x) }");
  EXPECT_EQ(run("podium run $D/two.onnxtxt --output-dir $D/out").status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("out/a_b.npy")));
}

TEST_F(HostileInput, NamesReachTheTerminalWithoutTheirEscapes) {
  folder_.write("named.json", "[{\"name\": \"" + std::string("a\\u001b[31m\\nerror: fake\\u009b") + "\"}]");
  const ProgramResult found =
      run("podium compare $M --estimate --strategies $D/named.json; podium run $D/$(printf '" +
          std::string("a\\033[31m\\nerror: fake\\302\\233\\377") + "').onnx");
  for (const char* escape : {"\033", "\302\233", "\377", "\nerror: fake"}) {
    EXPECT_THAT(found.out, Not(HasSubstr(escape)));
    EXPECT_THAT(found.err, Not(HasSubstr(escape)));
  }
}

TEST_F(HostileInput, BytesThatAreNoTextAreReplacedInReports) {
  const ProgramResult result = run(
      "cp $M \"$D/$(printf 'm\\377').onnxtxt\"; podium run \"$D/$(printf 'm\\377').onnxtxt\" --report $D/r.json");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(bytes_in(folder_.file("r.json")), HasSubstr("m\\ufffd.onnxtxt"));
}

TEST_F(HostileInput, StreamsThatCannotBeWrittenAreNoFault) {
  EXPECT_EQ(run("podium run $M 2>&-").status, 0);
  EXPECT_EQ(run("podium run $D/nothing.onnx 2>/dev/full").status, 1);
  EXPECT_EQ(run("podium run $M --verbose >/dev/full 2>&-").status, 1);
  for (const std::string words : {"info --ops-supported", "run --help", "--version"})
    expect_refused("podium " + words + " >/dev/full", 1, "standard output: cannot be written");
}

TEST_F(HostileInput, AFileThatIsWrittenAgainKeepsItsModeAndItsLinks) {
  ASSERT_EQ(
      run("podium annotate $M -o $D/a.onnx --ipu '*=0' && chmod 640 $D/a.onnx && touch $D/a.onnx.part99999999 "
          "$D/a.onnx.part99999 $D/a.onnx.part01 $D/b.part99999999 && ln -s later.onnx $D/link.onnx")
          .status,
      0);
  ASSERT_EQ(
      run("podium annotate $M -o $D/a.onnx --ipu '*=0' && podium annotate $M -o $D/link.onnx --ipu '*=0'")
          .status,
      0);
  EXPECT_EQ(static_cast<int>(std::filesystem::status(folder_.file("a.onnx")).permissions()), 0640);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("a.onnx.part99999999")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("a.onnx.part99999")));  // of an earlier release
  EXPECT_TRUE(std::filesystem::exists(folder_.file("a.onnx.part01")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("b.part99999999")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.file("link.onnx")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("later.onnx")));
}

TEST_F(HostileInput, RingsOfLinksAndClosedFoldersAreNamed) {
  ASSERT_EQ(run("mkdir $D/ring && ln -s input_0.pb $D/ring/input_0.pb").status, 0);
  expect_refused("podium run $M --inputs $D/ring", 1, "ring/input_0.pb: cannot be looked up");
}

TEST_F(HostileInput, AModelWhoseResultsAreKnownIsPlacedInOnePhase) {
  folder_.write(
      "constant.onnxtxt",
      "<ir_version: 10, opset_import: [\"\" : 21]> g () => (float[1] y) <float[1] w = {2.0}> { y = Neg(w) }");
  EXPECT_EQ(run("podium annotate $D/constant.onnxtxt --list --auto phases").status, 0);
}

}  // namespace
}  // namespace podium::cli
