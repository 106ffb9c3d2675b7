// A model with dimensions that only a user knows, as exporters write them, and the first commands one types.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "importer/tensor_file.h"
#include "tests/support/run_program.h"

namespace podium::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FirstContact : public ::testing::Test {
 protected:
  // What behind "such as" or "others by" is flags.
  static std::string flags_in(const std::string& line) {
    std::smatch found;
    return std::regex_search(line, found, std::regex("(?:such as|others by)((?: --dim [^\\s,]+)+)"))
               ? found[1].str()
               : "";
  }

  TemporaryFolder folder;
  const std::string model = folder.write("m.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[batch,seq,4] x, int64[batch] label) => (float[batch,seq,8] y, int64[batch] z)
      <float[4,4] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}> {
        a = MatMul(x, w)
        b = Relu(a)
        c = MatMul(b, w)
        y = Concat<axis = -1>(b, c)
        z = Neg(label)
      })");
};

TEST_F(FirstContact, AModelOfFewPartsIsToldOverHowManyProcessorsItGoes) {
  const std::string cnn = folder.file("cnn.onnx");
  run_program("podium-models mnist-cnn -o " + cnn);
  const auto expect_advice = [&](const std::string& command, const std::string& flags,
                                 const std::string& advice) {
    const ProgramResult refused = run_program(command + flags);
    EXPECT_EQ(refused.status, 1) << flags;
    EXPECT_THAT(refused.err, HasSubstr(" at most (" + advice + ")\n")) << flags;
    std::string typed = flags;
    const std::string flag = advice.substr(0, advice.find(' ') + 1);
    const std::size_t start = typed.find(flag);
    typed.replace(start, typed.find(' ', start + flag.size()) - start, advice);
    EXPECT_EQ(run_program(command + typed).status, 0) << typed;
  };
  const std::string run = "podium run " + cnn + " --estimate --quiet ";
  expect_advice(run, "--ipus 12 --pipeline", "--ipus 10");
  expect_advice(run, "--ipus 40 --replicas 2", "--ipus 20");
  expect_advice(run, "--ipus 24 --pipeline --pipeline-schedule interleaved --chunks 3", "--ipus 3");
  expect_advice(run, "--ipus 64 --tensor-parallel 2 --virtual-graph-mode auto", "--ipus 20");
  const std::string annotate = "podium annotate " + cnn + " -o " + folder.file("placed.onnx") + " ";
  expect_advice(annotate, "--ipus 40 --auto pipeline", "--ipus 10");
  expect_advice(annotate, "--ipus 40 --auto pipeline --schedule interleaved --chunks 2", "--ipus 5");
  expect_advice(annotate, "--phases 40 --auto phases", "--phases 10");
}

TEST_F(FirstContact, InfoNamesTheDimensionsInTheTableAndInJson) {
  const ProgramResult result = run_program("podium info " + model + " --report " + folder.file("info.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("x  float[batch,seq,4]"), HasSubstr("y  float[batch,seq,8]")));
  EXPECT_EQ(result.err, "note: 1 taken for batch, seq: others by --dim batch=2 --dim seq=2\n");
  const auto json = nlohmann::json::parse(std::ifstream(folder.file("info.json")));
  EXPECT_EQ(json["inputs"][0]["type"], "float[batch,seq,4]");
  EXPECT_EQ(json["openDimensions"], (nlohmann::json{"batch", "seq"}));
  EXPECT_GT(json["flop"], 0);
}

TEST_F(FirstContact, InfoShowsTheSizesThatAreGiven) {
  const ProgramResult result = run_program("podium info " + model + " --dim batch=3");
  EXPECT_THAT(result.out, HasSubstr("x  float[3,seq,4]"));
  EXPECT_EQ(result.err, "note: 1 taken for seq: others by --dim seq=2\n");
}

TEST_F(FirstContact, EveryCommandThatNeedsSizesSaysTheFlagsThatGiveThem) {
  for (const char* flags :
       {"", " --estimate", " --batches-per-step 2", " --ipus 2", " --ipus 2 --pipeline"}) {
    const ProgramResult result = run_program("podium run " + model + flags);
    EXPECT_EQ(result.status, 1) << flags;
    EXPECT_EQ(result.err, "error: " + model +
                              ": input 'x' is float[batch,seq,4]: sizes needed, such as --dim batch=2 --dim "
                              "seq=2, or --dim '*=1' for all\n");
    const ProgramResult typed = run_program("podium run " + model + flags + flags_in(result.err));
    EXPECT_EQ(typed.status, 0) << typed.err;
    EXPECT_EQ(run_program("podium run " + model + flags + " --dim '*=1'").status, 0);
  }
}

TEST_F(FirstContact, OthersTakeOneAndSayHowToGiveMore) {
  const std::string placed = folder.file("placed.onnx");
  for (const std::string& command :
       {"podium compare " + model + " --ipus 2 --estimate", "podium compare " + model + " --ipus 2",
        "podium annotate " + model + " --auto pipeline --ipus 2 -o " + placed,
        "podium compare " + model + " --train --loss l1 --output y --optimizer sgd --ipus 2 --estimate",
        "podium train " + model + " --loss l1 --output y --optimizer sgd --estimate"}) {
    const ProgramResult result = run_program(command);
    EXPECT_THAT(result.err, HasSubstr("note: 1 taken for batch, seq: others by --dim batch=2 --dim seq=2\n"))
        << command;
    EXPECT_EQ(result.status, 0) << command << result.err;
    EXPECT_EQ(run_program(command + flags_in(result.err)).status, 0) << command;
  }
  EXPECT_THAT(run_program("podium info " + placed).out, HasSubstr("x  float[batch,seq,4]"));
}

// Models as exporters leave them, and the commands that one types first. What each advises works as well.
TEST_F(FirstContact, DynamicModelsOfFiveKindsGoThroughEveryCommand) {
  const std::string dynamic = folder.file("dynamic.onnx");
  const std::string placed = folder.file("placed.onnx");
  for (const std::string built :
       {"mnist-mlp", "resnet18 classes=5", "bert layers=1 hidden=16 heads=2 vocabulary=10 sequence=8",
        "gpt2 layers=1 hidden=16 heads=2 vocabulary=10 sequence=8", "lstm hidden=8 features=4"}) {
    const std::string line = "podium-models " + built + " shapes=dynamic loss=cross-entropy -o " + dynamic;
    ASSERT_EQ(run_program(line).status, 0) << line;
    const ProgramResult unsized = run_program("podium run " + dynamic);
    EXPECT_EQ(unsized.status, 1) << built;
    ASSERT_THAT(flags_in(unsized.err), HasSubstr(" --dim batch=2")) << built << unsized.err;
    const ProgramResult sized = run_program("podium run " + dynamic + flags_in(unsized.err));
    EXPECT_EQ(sized.status, 0) << built << sized.err;
    for (const std::string& command :
         {"podium info " + dynamic, "podium compare " + dynamic + " --ipus 4 --verify-only 2",
          "podium annotate " + dynamic + " --auto pipeline --ipus 4 -o " + placed,
          "podium train " + dynamic + " --loss-tensor loss --optimizer sgd --estimate"}) {
      const ProgramResult result = run_program(command);
      EXPECT_EQ(result.status, 0) << built << command << result.err;
      ASSERT_THAT(flags_in(result.err), HasSubstr(" --dim batch=2")) << built << command << result.err;
      const ProgramResult typed = run_program(command + flags_in(result.err));
      EXPECT_EQ(typed.status, 0) << built << command << typed.err;
    }
  }
}

TEST_F(FirstContact, WhereOneLeavesNothingTheSmallestSizeThatLeavesSomethingIsTaken) {
  const std::string pool = folder.write("pool.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[1,2,height,width] x) => (float[1,2,1,1] y) {
        p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
        y = GlobalAveragePool(p)
      })");
  EXPECT_THAT(
      run_program("podium compare " + pool + " --ipus 2 --estimate").err,
      HasSubstr("note: 2 taken for height, width: others by --dim height=4 --dim width=4 (with 1 for all of "
                "them: 'p' is float[1,2,0,0], which has no elements)\n"));
}

// A network that halves images four times and joins what it has enlarged again takes multiples of 16.
TEST_F(FirstContact, AUNetOfOpenSizesGetsSizesThatWorkInEveryCommand) {
  const std::string unet = folder.file("unet.onnx");
  const std::string made = "podium-models unet classes=2 channels=4 shapes=dynamic loss=cross-entropy -o ";
  ASSERT_EQ(run_program(made + unet).status, 0);
  const ProgramResult unsized = run_program("podium run " + unet);
  EXPECT_EQ(unsized.status, 1);
  EXPECT_THAT(unsized.err, HasSubstr("sizes needed, such as --dim batch=2 --dim height=32 --dim width=32\n"));
  EXPECT_EQ(run_program("podium run " + unet + flags_in(unsized.err)).status, 0);
  for (const std::string& command :
       {"podium info " + unet, "podium compare " + unet + " --ipus 4 --estimate",
        "podium annotate " + unet + " --auto pipeline --ipus 4 -o " + folder.file("placed.onnx"),
        "podium train " + unet + " --loss-tensor loss --optimizer sgd --estimate"}) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 0) << command << result.err;
    EXPECT_THAT(result.err,
                HasSubstr("note: 1 taken for batch, 16 for height, width: others by --dim batch=2 "
                          "--dim height=32 --dim width=32 (with 1 for all of them: "))
        << command;
    EXPECT_EQ(run_program(command + flags_in(result.err)).status, 0) << command;
  }
  EXPECT_THAT(run_program("podium compare " + unet + " --ipus 4 --estimate --quiet").out,
              HasSubstr("--dim batch=1 --dim height=16 --dim width=16"));
}

TEST_F(FirstContact, AModelThatNoUsualSizeFitsSaysWhatDoesNotAndWhereToGiveSizes) {
  const std::string skip = folder.write("skip.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[1,width] x) => (float[1,width] y) <float[5] w = {1, 2, 3, 4, 5}, int64[2] shape = {1, 5}> {
        r = Reshape(x, shape)
        y = Add(r, w)
      })");
  EXPECT_THAT(
      run_program("podium compare " + skip + " --ipus 2 --estimate").err,
      AllOf(HasSubstr("node"), HasSubstr("(1 taken for width, and no other size fits all of them: give "
                                         "them by --dim width=SIZE)\n")));
  EXPECT_THAT(run_program("podium run " + skip + " --estimate").err,
              HasSubstr("input 'x' is float[1,width]: sizes needed, such as --dim width=SIZE\n"));
  const ProgramResult info = run_program("podium info " + skip);
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.err, HasSubstr("note: described without sizes: "));
  EXPECT_EQ(run_program("podium run " + skip + " --dim width=5").status, 0);
}

TEST_F(FirstContact, AProfileOfWhatOnlyDataDecideIsThatOfARun) {
  const std::string found = folder.write("found.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[n] x) => (int64[k,r] z) { y = NonZero(x)
        z = Transpose(y) })");
  const auto runs_of = [&](const std::string& name) {
    importer::write_npy(ir::Tensor::of<float>({6}, name == "all" ? std::vector<float>(6, 1)
                                                                 : std::vector<float>{0, 0, 3, 0, 0, 0}),
                        folder.file(name + ".npy"));
    const std::string command = "podium profile " + found + " --input x=" + folder.file(name + ".npy") +
                                " --report " + folder.file(name + ".json");
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(
        result.err,
        HasSubstr(
            "note: data decide sizes: the times are those of a run on these inputs, others by --input NAME=FILE\n"));
    const auto json = nlohmann::json::parse(std::ifstream(folder.file(name + ".json")));
    for (const auto& op : json["ops"]) {
      if (op["name"] == "z" || op["type"] == "Transpose") return op["bytes"].get<double>();
    }
    return 0.0;
  };
  EXPECT_EQ(runs_of("all"), 6 * runs_of("one"));  // as many indices as there are elements that are not 0
  const ProgramResult drawn = run_program("podium profile " + found + " --dim n=4");
  EXPECT_EQ(drawn.status, 0);
  EXPECT_THAT(drawn.err, HasSubstr("random values (seed 0) for x"));
}

// Decoders of which the first step and all others were merged.
TEST_F(FirstContact, AConstantInputDecidesBeforehand) {
  const std::string merged = folder.write("merged.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (bool[1] first, float[6] x) => (float[k] y) <int64[2] fives = {5, -1}> {
        y = If(first) <
          then_branch = t () => (float[n] p) { e = Exp(x) p = Neg(e) },
          else_branch = o () => (float[m] q) { r = Reshape(x, fives) q = ReduceSum<keepdims = 0>(r) }> })");
  const ProgramResult open = run_program("podium run " + merged + " --device h100 --estimate");
  EXPECT_EQ(open.status, 1);
  EXPECT_THAT(open.err, HasSubstr("the branch of node 'y' (If) is decided by data: a run is needed, not an "
                                  "estimate, or --constant first=N"));
  const std::string decided = "podium run " + merged + " --constant first=true";
  EXPECT_EQ(run_program(decided + " --device h100 --estimate").status, 0);
  const ProgramResult given = run_program(decided + " --random 1");
  EXPECT_EQ(given.status, 0) << given.err;
  EXPECT_THAT(given.out, HasSubstr("y  float[6]"));
  EXPECT_EQ(run_program(decided + " --input first=" + merged).err,
            "error: --input first: --constant gives it already\n");
  EXPECT_EQ(run_program("podium run " + merged + " --constant first=maybe").status, 2);
  const ProgramResult compared =
      run_program("podium compare " + merged + " --constant first=1 --ipus 2 --quiet");
  EXPECT_EQ(compared.status, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr(" --constant first=1"));
}

TEST_F(FirstContact, TrainingNamesTheInputsThatItWantsAndTheLossesThatThereAre) {
  const std::string digits = folder.file("digits.onnx");
  ASSERT_EQ(run_program("podium-models mnist-mlp shapes=dynamic loss=cross-entropy -o " + digits).status, 0);
  const ProgramResult without = run_program("podium train " + digits + " --optimizer sgd");
  EXPECT_EQ(without.status, 2);
  EXPECT_EQ(
      without.err,
      "error: train: no data found, needed: --input image=FILE (float[batch,1,28,28]) --input label=FILE "
      "(int64[batch]); .npy, .pb or IDX files with as many samples each, along their first dimension "
      "(--estimate clocks a step without data)\n");
  importer::write_npy(ir::Tensor::of<float>({4, 1, 28, 28}, std::vector<float>(4 * 784, 0.5F)),
                      folder.file("images.npy"));
  const std::string image = " --input image=" + folder.file("images.npy");
  EXPECT_THAT(
      run_program("podium train " + digits + " --optimizer sgd --loss-tensor loss" + image).err,
      HasSubstr("input 'label': no data found, --input label=FILE (int64[1]) needed with 4 samples\n"));
  EXPECT_THAT(
      run_program("podium train " + model + " --optimizer sgd").err,
      HasSubstr(
          "--input label=FILE (int64[batch]), and a loss: --loss-tensor NAME of a scalar in the graph or "
          "--loss cross-entropy (or another) --output y --target NAME=FILE; .npy"));
  const ProgramResult lossless = run_program("podium train " + model + " --optimizer sgd --estimate");
  EXPECT_EQ(lossless.status, 2);
  EXPECT_THAT(lossless.err,
              HasSubstr("train: no loss found, --loss-tensor NAME of a scalar in the graph or --loss "
                        "cross-entropy (or another) --output y needed\n"));
}

TEST_F(FirstContact, DataOfAPipelineAloneTellTheSizesOfItsMicroBatches) {
  const std::string plain = folder.write("plain.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[batch,2] x) => (float[batch,2] y) <float[2,2] w = {1, 2, 3, 4}> {
        a = MatMul(x, w)
        b = MatMul(a, w)
        y = MatMul(b, w)
      })");
  importer::write_npy(ir::Tensor::of<float>({16, 2}, std::vector<float>(32, 1)), folder.file("x.npy"));
  const ProgramResult result =
      run_program("podium run " + plain + " --ipus 2 --pipeline --input x=" + folder.file("x.npy"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("y  float[8,2,2]"));
  const std::string command = "podium run " + plain + " --pipeline --input x=" + folder.file("x.npy");
  const ProgramResult uneven = run_program(command + " --ipus 3");
  EXPECT_EQ(uneven.status, 1);
  EXPECT_THAT(uneven.err,
              HasSubstr("input 'x': 16 rows found, a multiple of 12 needed for 12 micro-batches of 1 "
                        "replicas, or --batches-per-step 8\n"));
  EXPECT_EQ(run_program(command + " --ipus 3 --batches-per-step 8").status, 0);
}

TEST_F(FirstContact, AFileHoldsTheMicroBatchesOfAModelWhoseBatchIsFixed) {
  const std::string fixed = folder.write("fixed.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) })");
  importer::write_npy(ir::Tensor::of<float>({8, 2}, std::vector<float>(16, 1)), folder.file("eight.npy"));
  const ProgramResult result =
      run_program("podium run " + fixed + " --batches-per-step 4 --input x=" + folder.file("eight.npy"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("y  float[4,2,2]"), HasSubstr("what would help")));
}

TEST_F(FirstContact, TrainingDataTellAllSizesButThatOfTheBatch) {
  const std::string steps = folder.write("steps.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[batch,length,2] x) => (float[batch,length,2] y) <float[2,2] w = {1, 2, 3, 4}> {
        y = MatMul(x, w)
      })");
  importer::write_npy(ir::Tensor::of<float>({4, 3, 2}, std::vector<float>(24, 0.5F)), folder.file("x.npy"));
  const std::string command = "podium train " + steps +
                              " --loss l1 --output y --optimizer sgd --input x=" + folder.file("x.npy") +
                              " --target t=" + folder.file("x.npy");
  const ProgramResult result = run_program(command);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "note: 1 taken for batch: others by --dim batch=2\n");
  EXPECT_EQ(run_program(command + flags_in(result.err)).status, 0);
}

TEST_F(FirstContact, ProcessorsAloneArePlacedByCost) {
  const ProgramResult result = run_program("podium run " + model + " --dim '*=2' --ipus 2 --estimate");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("sharded over 2"));
  EXPECT_EQ(result.err, "note: ops are placed by cost (--virtual-graph-mode auto)\n");
}

TEST_F(FirstContact, APipelineAloneTakesFourMicroBatchesAStage) {
  const ProgramResult result =
      run_program("podium run " + model + " --dim '*=2' --ipus 2 --pipeline --estimate --report " +
                  folder.file("r.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("pipelined over 2"));
  EXPECT_THAT(result.err, HasSubstr("note: the pipeline takes 8 micro-batches a step, 4 a stage "
                                    "(--batches-per-step 8)\n"));
  const auto json = nlohmann::json::parse(std::ifstream(folder.file("r.json")));
  EXPECT_EQ(json["microBatches"], 8);
  EXPECT_EQ(json["options"]["virtualGraphMode"], "Auto");
  EXPECT_EQ(json["options"]["batchesPerStep"], 8);
}

TEST_F(FirstContact, AnnotationsSayWhereProcessorsAloneArePlaced) {
  const std::string placed = folder.file("placed.onnx");
  ASSERT_EQ(run_program("podium annotate " + model + " --auto pipeline --ipus 2 -o " + placed).status, 0);
  const ProgramResult result = run_program("podium run " + placed + " --dim '*=2' --ipus 2 --estimate");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("note: ops are placed as their annotations say"));
}

TEST_F(FirstContact, AModeThatIsGivenIsKept) {
  const ProgramResult result =
      run_program("podium run " + model + " --dim '*=2' --ipus 2 --virtual-graph-mode off");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("virtualGraphMode Off needs a processor a replica"));
}

// What the table of a model that is too large says, typed behind the command.
TEST_F(FirstContact, TheAdviceForAModelThatDoesNotFitWorks) {
  const std::string large = folder.file("large.onnx");
  ASSERT_EQ(run_program("podium-models mnist-mlp batch=2 -o " + large).status, 0);
  const std::string device =
      folder.write("d.json", R"({"base": "ipu-pod16", "tiles": 40, "tileMemoryBytes": 40000})");
  const std::string command = "podium run " + large + " --estimate --device " + device;
  const ProgramResult result = run_program(command);
  ASSERT_EQ(result.status, 3) << result.out << result.err;
  const std::regex flags("\\((--[^)]*)\\)");
  int tried = 0;
  for (std::sregex_iterator found(result.out.begin(), result.out.end(), flags), end; found != end; ++found) {
    const ProgramResult typed = run_program(command + " " + (*found)[1].str());
    EXPECT_THAT(typed.status, ::testing::AnyOf(0, 3)) << (*found)[1] << typed.err;
    ++tried;
  }
  EXPECT_GE(tried, 2);
}

// The flags in the brackets of an error, in the place of those that were typed.
TEST_F(FirstContact, ReplicasThatDoNotDivideTheMachineRunAndAreToldWhatWouldHelp) {
  const ProgramResult result = run_program("podium run " + model + " --dim '*=2' --replicas 3");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("what would help, by the clock:\n  --batches-per-step 2: "));
}

TEST_F(FirstContact, WhereProcessorsLackTheFlagsThatGiveThemWork) {
  const std::string wide = folder.file("wide.onnx");
  ASSERT_EQ(run_program("podium annotate " + model + " --auto pipeline --ipus 3 -o " + wide).status, 0);
  const std::string sized = " --dim '*=2' --estimate";
  const std::pair<std::string, const char*> cases[] = {
      {"podium run " + model + sized + " --replicas 16 --ipus 16 --device h100", "--device h100:nodes=2"},
      {"podium run " + model + sized + " --replicas 3 --device bow-2000 --virtual-graph-mode auto --ipus 6",
       "--device bow-pod16"},
      {"podium run " + wide + sized + " --virtual-graph-mode manual --replicas 2 --pipeline",
       "--device ipu-pod16"},
      {"podium run " + wide + sized + " --virtual-graph-mode manual --ipus 2", "--ipus 3"},
      {"podium run " + wide + sized + " --pipeline --ipus 1", "--ipus 3"},
      {"podium run " + model + sized + " --pipeline --ipus 1", "--ipus 2"},
      {"podium train " + wide +
           " --loss l1 --output y --optimizer sgd --estimate --virtual-graph-mode manual "
           "--replicas 3 --device h100",
       "--device h100:nodes=2"},
  };
  for (const auto& [command, flags] : cases) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 1) << command << result.out;
    EXPECT_THAT(result.err, HasSubstr(fmt::format("({})\n", flags))) << command;
    std::string typed = command;
    for (const char* flag : {"--ipus", "--device"}) {
      if (std::string(flags).find(flag) != std::string::npos)
        typed = std::regex_replace(typed, std::regex(fmt::format(" {} \\S+", flag)), "");
    }
    const ProgramResult again = run_program(typed + " " + flags);
    EXPECT_EQ(again.status, 0) << typed << flags << again.err;
  }
}

TEST_F(FirstContact, ACompareOverMoreProcessorsThanThereAreSaysWhereThereAreEnough) {
  const std::string command = "podium compare " + model + " --estimate --ipus 9 --quiet --device h100";
  EXPECT_THAT(run_program(command).err,
              HasSubstr("numIPUs: 9 found, device 'h100' has 8 (--device h100:nodes=2)\n"));
  const ProgramResult typed = run_program(command + ":nodes=2");
  EXPECT_EQ(typed.status, 0);
  EXPECT_THAT(typed.out, ::testing::Not(HasSubstr("numIPUs")));
}

}  // namespace
}  // namespace podium::testing
