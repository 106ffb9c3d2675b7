// The program as a person types it: exit statuses, one-line errors, tables.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using ::testing::StartsWith;
using testing::TemporaryFolder;

void expect_one_line(const ProgramResult& result, int status) {
  EXPECT_EQ(result.status, status);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("error: "));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
}

std::string digits(const std::string& what) {
  const std::string folder = std::string(PODIUM_SOURCE_DIR) + "/models/data/digits-";
  return folder + what;
}

std::string demo_model() { return std::string(PODIUM_SOURCE_DIR) + "/models/data/mnist-demo.onnx"; }

TEST(CommandLine, NamesTheNearestCommand) {
  const ProgramResult result = run_program("podium rum model.onnx");
  expect_one_line(result, 2);
  EXPECT_THAT(result.err, HasSubstr("unknown command 'rum', the nearest is 'run'"));
}

TEST(CommandLine, NamesTheNearestOption) {
  const ProgramResult result = run_program("podium run model.onnx --inputz x=y");
  expect_one_line(result, 2);
  EXPECT_THAT(result.err, HasSubstr("the nearest is '--input"));
}

TEST(CommandLine, RefusesAnOptionWithoutItsValue) {
  expect_one_line(run_program("podium run m.onnx --input"), 2);
}

TEST(CommandLine, PrintsTheVersionsOfItsLibrariesAndTheLevelOfItsKernels) {
  const ProgramResult result = run_program("podium --version");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("podium 0."), HasSubstr("onnx 1."), HasSubstr("protobuf 3."),
                                HasSubstr("eigen 3."), HasSubstr("onednn "), HasSubstr("kernels ")));
}

TEST(CommandLine, HelpListsEveryCommandWithOneLine) {
  const ProgramResult result = run_program("podium --help");
  EXPECT_EQ(result.status, 0);
  for (const char* command : {"run", "train", "annotate", "compare", "test", "info"}) {
    EXPECT_THAT(result.out, HasSubstr(std::string("\n  ") + command));
  }
}

TEST(CommandLine, HelpOfACommandShowsDefaults) {
  const ProgramResult result = run_program("podium test --help");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("1e-3"));
}

TEST(Run, ReadsDigitsAndPrintsATable) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program("podium run " + demo_model() + " --input image=" + digits("images-idx3-ubyte") +
                  " --input label=" + digits("labels-idx1-ubyte") + " --output-dir " + folder.file("out") +
                  " --report " + folder.file("report.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("processors"), HasSubstr("digit  int64[100]"), HasSubstr("accuracy  float[]")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("out/digit.npy")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("report.json")));
}

TEST(Run, SaysWhenItDrawsAnInput) {
  const ProgramResult result = run_program("podium run " + demo_model() + " --dim N=2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("random values (seed 0) for image, label"));
}

TEST(Run, WithSyntheticDataCountsSamplesAndSaysWhatItLeavesAlone) {
  const TemporaryFolder folder;
  const std::string model = folder.write("m.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[64,4] x) => (float[64,4] y) { y = Relu(x) })");
  const std::string options = folder.write("o.json", R"({"syntheticDataMode": "Zeros"})");
  const ProgramResult result =
      run_program("podium run " + model + " --options " + options + " --output-dir " + folder.file("out") +
                  " --report " + folder.file("r.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(
      result.err,
      "note: --output-dir: no effect with syntheticDataMode, nothing comes from the host or goes there\n");
  const auto report = nlohmann::json::parse(std::ifstream(folder.file("r.json")));
  EXPECT_EQ(report["samplesPerMicroBatch"], 64);
}

TEST(Run, AsksForADimensionThatNothingBinds) {
  const ProgramResult result = run_program("podium run " + demo_model());
  expect_one_line(result, 1);
  EXPECT_THAT(result.err, HasSubstr("--dim"));
}

TEST(Run, RefusesAnInputTheModelLacks) {
  const ProgramResult result = run_program("podium run " + demo_model() + " --input imag=x.npy");
  expect_one_line(result, 1);
  EXPECT_THAT(result.err, HasSubstr("the nearest is 'image'"));
}

TEST(Run, RefusesAnInputOfTheWrongShape) {
  const ProgramResult result =
      run_program("podium run " + demo_model() + " --input image=" + digits("labels-idx1-ubyte"));
  expect_one_line(result, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("image"), HasSubstr("uint8[100]")));
}

TEST(Run, RefusesAFileThatIsNoModel) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program("podium run " + folder.write("model.onnx", "this is a text file\n"));
  expect_one_line(result, 1);
  EXPECT_THAT(result.err, HasSubstr("model.onnx"));
}

TEST(CommandLine, NamesTheOptionWhoseNumberIsNone) {
  for (const char* option :
       {"--threads abc", "--threads -1", "--threads 1000000", "--repeat 0", "--rtol nan", "--atol -1",
        "--seed 1.5", "--dim N=1e3", "--dim N=", "--input image=", "--dim N=1 --dim N=2"}) {
    const ProgramResult result = run_program(fmt::format("podium run model.onnx {}", option));
    expect_one_line(result, 2);
    EXPECT_THAT(result.err, StartsWith("error: " + std::string(option).substr(0, 5)));
  }
  EXPECT_EQ(run_program("podium run model.onnx --threads abc").err,
            "error: --threads: 'abc' found, a whole number from 0 to 256 needed\n");
}

TEST(CommandLine, NeedsACommand) { expect_one_line(run_program("podium"), 2); }

TEST(CommandLine, AFullDiskIsAnError) {
  EXPECT_EQ(run_program("podium info --ops-supported > /dev/full 2> /dev/null; test $? = 1").status, 0);
}

std::string text_model(const TemporaryFolder& folder, const std::string& graph) {
  return folder.write("model.onnxtxt", "<ir_version: 8, opset_import: [\"\": 17]>\n" + graph);
}

TEST(Run, WritesIntoAPipe) {
  const TemporaryFolder folder;
  const std::string model = text_model(folder, "g (float[2] x) => (float[2] y) { y = Relu(x) }");
  const ProgramResult result = run_program("podium run --quiet " + model + " --report /dev/stdout | cat");
  EXPECT_THAT(result.out, AllOf(StartsWith("{"), HasSubstr("processors"), HasSubstr("y  float[2]")));
}

// c is in the arena; what lives beside it is in the memory of y.
TEST(Run, SaysWithVerboseWhatMemoryItTook) {
  const TemporaryFolder folder;
  const std::string model = text_model(
      folder,
      "g (float[16] x) => (float[16] y) { b = Softmax(x) c = Softmax(b) d = Add(b, c) y = Softmax(d) }");
  const ProgramResult result = run_program("podium run " + model + " --verbose");
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("memory of this machine: [0-9.]+ MiB at most; values between ops "
                                       "64 B, 0.0% above the 64 B that live at once\n"));
  EXPECT_THAT(run_program("podium run " + model).out, ::testing::Not(HasSubstr("memory of this machine")));
}

TEST(Run, SaysThatAReportOrAFolderCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string run =
      "podium run --quiet " + text_model(folder, "g (float[2] x) => (float[2] y) { y = Relu(x) }");
  for (const std::string& option :
       {"--report " + folder.file("none/report.json"), "--report " + folder.path(),
        "--output-dir " + folder.file("model.onnxtxt")}) {
    const ProgramResult result = run_program(run + " " + option);
    expect_one_line(result, 1);
    EXPECT_THAT(result.err, HasSubstr(folder.path()));
  }
}

TEST(Run, NamesTheModelAndTheNodeThatDoesNotFit) {
  const TemporaryFolder folder;
  const std::string model = text_model(folder, "g (float[2,3] x) => (float[2,2] y) { y = MatMul(x, x) }");
  const ProgramResult result = run_program("podium run " + model);
  expect_one_line(result, 1);
  EXPECT_THAT(result.err, StartsWith("error: " + model + ": node 'y' (MatMul): "));
}

TEST(Run, RefusesAnOutputOfAnotherElementTypeThanDeclared) {
  const TemporaryFolder folder;
  const std::string model = text_model(folder, "g (float[2] x) => (int64[2] y) { y = Relu(x) }");
  const ProgramResult result = run_program("podium run " + model);
  expect_one_line(result, 1);
  EXPECT_THAT(result.err, HasSubstr("output 'y': declared as int64[2], its node gives float[2]"));
}

TEST(Run, WritesNoOutputWhenOneCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string model = text_model(
      folder, "g (float[2] x) => (float[2] y, string[2] s) { y = Relu(x)  s = Cast <to = 8> (x) }");
  const ProgramResult result =
      run_program("podium run --quiet " + model + " --output-dir " + folder.file("out"));
  expect_one_line(result, 1);
  EXPECT_THAT(result.err, HasSubstr("output 's'"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
}

TEST(Run, RefusesWhatNoMemoryHolds) {
  const TemporaryFolder folder;
  for (const char* node : {"y = ConstantOfShape(n)", "m = Cast <to = 1> (n)  f = Expand(m, n)  y = Neg(f)"}) {
    const std::string model = text_model(
        folder, fmt::format("g () => (float[M] y) <int64[1] n = {{4611686018427387904}}> {{ {} }}", node));
    const ProgramResult result = run_program("podium run " + model);
    expect_one_line(result, 1);
    EXPECT_THAT(result.err, HasSubstr("does not fit memory"));
  }
}

TEST(Run, LeavesNoReportBehindWhenItFails) {
  const TemporaryFolder folder;
  run_program("podium run " + folder.file("absent.onnx") + " --report " + folder.file("report.json"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Run, ClocksAStrategyAndRunsIt) {
  const TemporaryFolder folder;
  const std::string command = "podium run " + demo_model() + " --input image=" + digits("images-idx3-ubyte") +
                              " --input label=" + digits("labels-idx1-ubyte") +
                              " --virtual-graph-mode auto --ipus 2 --pipeline --batches-per-step 4";
  const ProgramResult result = run_program(command + " --trace " + folder.file("trace.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("pipelined over 2"), HasSubstr("simulated"), HasSubstr("samples per second"),
                    HasSubstr("utilisation"), HasSubstr("ipu->ipu"), HasSubstr("real time"),
                    HasSubstr("digit  int64[4,25]"), HasSubstr("accuracy  float[4]")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("trace.json")));
}

TEST(Run, EstimatesAModelWithoutWeights) {
  const TemporaryFolder folder;
  const std::string model = folder.file("cnn.onnx");
  ASSERT_EQ(run_program("podium-models mnist-cnn weights=none -o " + model).status, 0);
  const ProgramResult result = run_program("podium run " + model + " --estimate --replicas 2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("2 (2 replicas of 1)"), HasSubstr("nothing computed")));
  EXPECT_EQ(run_program("podium run " + model).status, 1);
}

TEST(Run, SaysWhatDoesNotFit) {
  const TemporaryFolder folder;
  const std::string model = folder.file("bert.onnx");
  ASSERT_EQ(run_program("podium-models bert layers=24 hidden=1024 heads=16 weights=none -o " + model).status,
            0);
  const ProgramResult result = run_program("podium run " + model + " --estimate");
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("over by"), HasSubstr("ipu 0"), HasSubstr("embeddings/word.weight"),
                                HasSubstr("--off-chip weights")));
  EXPECT_EQ(run_program("podium run " + model + " --estimate --precision float16").status, 0);
}

TEST(Run, ReadsOptionsFromAFile) {
  const TemporaryFolder folder;
  const std::string file = folder.write("o.json", "{\"replicatedGraphCount\": 2,\n \"logDir\": \"x\"}");
  const ProgramResult result =
      run_program("podium run " + demo_model() + " --dim N=1 --estimate --options " + file);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 (2 replicas of 1)"));
  EXPECT_THAT(result.err, HasSubstr("no effect on a simulated device: logDir"));
  const std::string bad = folder.write("bad.json", "{\"replicatedGraphCount\": 2,\n oops}");
  const ProgramResult refused = run_program("podium run " + demo_model() + " --options " + bad);
  expect_one_line(refused, 1);
  EXPECT_THAT(refused.err, HasSubstr("bad.json: line 2: "));
}

TEST(Run, TakesTheSamplesOfAllMicroBatchesAndReplicas) {
  const std::string command = "podium run --quiet " + demo_model() +
                              " --input image=" + digits("images-idx3-ubyte") +
                              " --input label=" + digits("labels-idx1-ubyte");
  const ProgramResult result = run_program(command + " --batches-per-step 5 --replicas 2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("digit  int64[5,2,10]"));
  const ProgramResult odd = run_program(command + " --batches-per-step 3 --dim N=4");
  expect_one_line(odd, 1);
  EXPECT_THAT(
      odd.err,
      HasSubstr("78400 elements found, 9408 needed: 3136 of a micro-batch x 3 micro-batches x 1 replicas "
                "(--batches-per-step 25)\n"));
  EXPECT_EQ(run_program(command + " --dim N=4 --batches-per-step 25").status, 0);
}

// Labels of a file of bytes, as training takes them, and no numbers that the model's type does not hold.
TEST(Run, TakesNarrowerIntegersForWiderOnes) {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.onnx");
  EXPECT_EQ(run_program("podium-models mnist-cnn batch=20 pixels=byte loss=cross-entropy -o " + model).status,
            0);
  const std::string command = "podium run " + model +
                              " --batches-per-step 5 --input image=" + digits("images-idx3-ubyte") +
                              " --input label=";
  const ProgramResult result = run_program(command + digits("labels-idx1-ubyte"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err,
            "note: input 'label': uint8[100] found, taken as the int64 that the model declares\n");
  const std::string wide = text_model(folder, "g (float[4] x) => (int64[4] y) { y = Cast<to = 7>(x) }");
  EXPECT_EQ(run_program("podium run " + wide + " --output-dir " + folder.path()).status, 0);
  const std::string narrow = text_model(folder, "g (uint8[4] x) => (uint8[4] z) { z = Identity(x) }");
  const ProgramResult back = run_program("podium run " + narrow + " --input x=" + folder.file("y.npy"));
  EXPECT_EQ(back.status, 1);
  EXPECT_THAT(back.err, HasSubstr("input 'x': int64[4] found, uint8[4] needed"));
}

TEST(Info, DescribesAModel) {
  const ProgramResult result = run_program("podium info " + demo_model() + " --dim N=100");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("uint8[100,28,28]"), HasSubstr("50.8"), HasSubstr("2 Gemm")));
}

TEST(Info, DescribesAModelWhoseRanksOnlyDataDecides) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program("podium info " + text_model(folder,
                                              "g (float[4] x, int64[N] s, float[2,2] w) => (float[M,K] y) "
                                              "{ r = Reshape(x, s)  y = MatMul(r, w) }"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 MatMul"));
}

TEST(Info, ListsEveryOpWithItsTypes) {
  const ProgramResult result = run_program("podium info --ops-supported");
  EXPECT_EQ(result.status, 0);
  for (const char* word :
       {"Conv ", "TreeEnsemble ", "float8e4m3fn", "no: its output is not a floating point number",
        "read as ops of ai.onnx", "GroupQueryAttention", "ai.graphcore"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word;
  }
}

TEST(Info, CountsOpsWithADerivativeAndSaysWhyOthersHaveNone) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program("podium info --ops-supported --report " + folder.file("ops.json"));
  const auto json = nlohmann::json::parse(std::ifstream(folder.file("ops.json")));
  const std::size_t with = json["withDerivative"];
  const std::size_t all = json["ops"].size();
  std::size_t without = 0;
  for (const auto& group : json["withoutDerivative"]) {
    without += group["ops"].size();
    EXPECT_NE(group["why"], "");
  }
  EXPECT_EQ(with + without, all);
  EXPECT_THAT(result.out,
              EndsWith(fmt::format("derivatives: {} ops have one, {} have none\n", with, without)));
  EXPECT_THAT(result.out, HasSubstr(": its output is not a floating point number: "));
  EXPECT_THAT(result.out, HasSubstr("inputs taken as given: Dropout.ratio, "));
  EXPECT_THAT(json["rewritten"],
              ::testing::Contains(nlohmann::json{{"domain", "com.microsoft"}, {"name", "FusedConv"}}));
  EXPECT_GT(with, 150U);
}

TEST(Test, CountsCasesOnItsLastLine) {
  const std::string cases =
      "/usr/share/libonnx-testdata/data/node/test_relu /usr/share/libonnx-testdata/data/node/test_add";
  const ProgramResult result = run_program("podium test --quiet " + cases);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "2 passed, 0 failed, 0 skipped\n");
}

TEST(Test, RunsCasesUnderAStrategyAndCountsThoseItCannotSplit) {
  const std::string cases =
      "/usr/share/libonnx-testdata/data/node/test_relu "
      "/usr/share/libonnx-testdata/data/node/test_celu_expanded";
  const ProgramResult result =
      run_program("podium test --quiet --verbose --virtual-graph-mode auto --ipus 2 " + cases);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("on one processor test_relu: "), HasSubstr("passed  test_celu_expanded\n"),
                    HasSubstr("1 ran on one processor: they cannot be split as asked\n2 passed, 0 failed")));
}

TEST(Test, RefusesAStrategyThatNoModelCanHave) {
  const ProgramResult result =
      run_program("podium test --phases 2 /usr/share/libonnx-testdata/data/node/test_relu");
  expect_one_line(result, 1);
  EXPECT_THAT(result.err, HasSubstr("needs virtualGraphMode ExecutionPhases, Off found"));
}

TEST(Test, SaysWhichOutputDiffers) {
  const TemporaryFolder folder;
  const std::string relu = "/usr/share/libonnx-testdata/data/node/test_relu/";
  std::filesystem::copy(relu, folder.file("case"), std::filesystem::copy_options::recursive);
  std::filesystem::copy_file(relu + "test_data_set_0/input_0.pb",
                             folder.file("case/test_data_set_0/output_0.pb"),
                             std::filesystem::copy_options::overwrite_existing);
  const ProgramResult result = run_program("podium test --quiet " + folder.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("FAILED  case: output 'y': 28 of 60 elements differ, most at [1,0,0]: "),
                    HasSubstr("0 passed, 1 failed, 0 skipped\n")));
}

TEST(Test, TellsAnotherShapeFromOtherNumbersInItsTable) {
  const TemporaryFolder folder;
  const std::string nodes = "/usr/share/libonnx-testdata/data/node/";
  std::filesystem::copy(nodes + "test_relu", folder.file("case"), std::filesystem::copy_options::recursive);
  std::filesystem::copy_file(nodes + "test_matmul_3d/test_data_set_0/output_0.pb",
                             folder.file("case/test_data_set_0/output_0.pb"),
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy(folder.file("case"), folder.file("other"), std::filesystem::copy_options::recursive);
  const ProgramResult result = run_program("podium test --quiet " + folder.path());
  EXPECT_THAT(result.out, HasSubstr("\ncase    another type or shape  y"));
}

TEST(Test, RefusesAFolderWithoutCases) {
  const TemporaryFolder folder;
  expect_one_line(run_program("podium test " + folder.path()), 1);
}

}  // namespace
}  // namespace podium::cli
