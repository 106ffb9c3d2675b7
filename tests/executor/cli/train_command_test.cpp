// `podium train` as a person types it, on the digits_file that are shipped.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "importer/import.h"
#include "importer/tensor_file.h"
#include "ir/optimizer_spec.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;
using testing::run_program;
using ::testing::StartsWith;
using testing::TemporaryFolder;

std::string digits_file(const std::string& what) {
  return fmt::format("{}/models/data/digits-{}-ubyte", PODIUM_SOURCE_DIR, what);
}

std::string data_flags() {
  return fmt::format(" --input image={} --target label={}", digits_file("images-idx3"),
                     digits_file("labels-idx1"));
}

// A small network without a loss: scores of ten digits_file from bytes, `rows` images at once.
std::string small_model(const TemporaryFolder& folder, const std::string& rows = "N") {
  std::ostringstream weights;
  for (int i = 0; i < 7840; ++i) weights << (i > 0 ? "," : "") << (i * 7919 % 97 - 48) * 1e-3;
  return folder.write("small.onnxtxt", fmt::format(R"(<ir_version: 8, opset_import: ["" : 20]>
g (uint8[{},28,28] image) => (float[{},10] scores)
  <float scale = {{0.003921569}}, float[784,10] w = {{{}}}, float[10] b = {{0,0,0,0,0,0,0,0,0,0}}>
{{ pixels = Cast <to = 1> (image) scaled = Mul(pixels, scale) flat = Flatten(scaled)
   product = MatMul(flat, w) scores = Add(product, b) }}
)",
                                                   rows, rows, weights.str()));
}

std::string train(const std::string& model, const std::string& flags) {
  return fmt::format("podium train {} --quiet --optimizer sgd,lr=0.1{} {}", model, data_flags(), flags);
}

// The number behind the last `what` of a text.
double last_number(const std::string& text, const std::string& what) {
  const std::size_t at = text.rfind(what);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + what.size()));
}

// The lines of epochs, without what takes real time.
std::string epochs_of(const std::string& out) {
  std::istringstream lines(out);
  std::string line;
  std::string text;
  while (std::getline(lines, line)) {
    if (line.starts_with("epoch")) text += line.substr(0, line.find("simulated")) + "\n";
  }
  return text;
}

// Losses and accuracies of the epochs, without any time.
std::string numbers_of(const ProgramResult& result) {
  EXPECT_EQ(result.status, 0) << result.err;
  std::istringstream lines(result.out);
  std::string line;
  std::string text;
  while (std::getline(lines, line)) {
    if (line.starts_with("epoch")) text += line.substr(0, line.rfind('%')) + "\n";
  }
  return text;
}

void expect_refused(const std::string& command, int status, const std::string& text) {
  const ProgramResult result = run_program(command);
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(text)));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
}

TEST(Train, LearnsTheShippedDigits) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(
      train(small_model(folder), fmt::format("--micro-batch 20 --loss cross-entropy --epochs 20 --shuffle 1 "
                                             "--eval-input image={} --eval-target label={}",
                                             digits_file("images-idx3"), digits_file("labels-idx1"))));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("epoch 1 of 20  loss "), HasSubstr("held-out loss"), HasSubstr("simulated"),
                    HasSubstr("real"), HasSubstr("time of a step"), HasSubstr("samples per second")));
  EXPECT_GT(last_number(result.out, "accuracy "), 95);
}

TEST(Train, LearnsWithEveryOptimizer) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
    for (const ir::TypedName& typed : spec->typed) {
      const ProgramResult result =
          run_program(fmt::format("podium train {} --quiet --optimizer {},lr=1e-3,weight-decay=1e-3{} "
                                  "--micro-batch 20 --loss cross-entropy --epochs 2 --shuffle 1",
                                  model, typed.name, data_flags()));
      EXPECT_EQ(result.status, 0) << typed.name << ": " << result.err;
      const std::string epochs = epochs_of(result.out);
      const double first = last_number(epochs.substr(0, epochs.find("epoch 2")), "loss ");
      EXPECT_LE(last_number(epochs, "loss "), first) << typed.name << ": " << result.out;
    }
  }
}

// At a rate that is lost in rounding the weights stay what they are.
TEST(Train, EvaluatesHeldOutDataWithTheWeightsThatItTrains) {
  const TemporaryFolder folder;
  const auto losses = [&](const std::string& rate) {
    const ProgramResult result = run_program(fmt::format(
        "podium train {} --quiet --optimizer sgd,lr={} --loss cross-entropy --micro-batch 20 --epochs 2{} "
        "--eval-input image={} --eval-target label={}",
        small_model(folder), rate, data_flags(), digits_file("images-idx3"), digits_file("labels-idx1")));
    EXPECT_EQ(result.status, 0) << result.err;
    const std::string line = result.out.substr(result.out.find("epoch 2"));
    return std::pair(std::stod(line.substr(line.find("  loss ") + 7)), last_number(line, "held-out loss "));
  };
  const auto [still, still_held_out] = losses("1e-30");
  EXPECT_DOUBLE_EQ(still, still_held_out);
  const auto [loss, held_out] = losses("0.1");
  EXPECT_LT(held_out, loss) << "held out are the same digits_file, after the last update";
}

TEST(Train, TakesALossOfTheModel) {
  const TemporaryFolder folder;
  const std::string model = folder.file("mlp.onnx");
  ASSERT_EQ(run_program("podium-models mnist-mlp batch=10 pixels=byte loss=cross-entropy -o " + model).status,
            0);
  const ProgramResult result = run_program(train(model, "--loss-tensor loss --steps 3"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(epochs_of(result.out), HasSubstr("accuracy"));
  const ProgramResult unnamed = run_program(train(model, "--steps 3"));
  EXPECT_EQ(epochs_of(unnamed.out), epochs_of(result.out));
  std::string told = train(model, "--steps 3");
  told.erase(told.find(" --quiet"), std::string_view(" --quiet").size());
  EXPECT_THAT(run_program(told).err,
              HasSubstr("note: 'loss', the only output, is the loss (--loss-tensor loss)\n"));
  expect_refused(
      train(small_model(folder), "--micro-batch 20"), 2,
      "no loss found, --loss-tensor NAME of a scalar in the graph or --loss cross-entropy (or another) "
      "--output scores --target NAME=FILE needed");
}

TEST(Train, PrintsALossEveryFewStepsWhenAsked) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  const std::string flags = "--loss cross-entropy --micro-batch 20 --steps 5";
  const ProgramResult result = run_program(train(model, flags + " --log-every 2"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("step 2 of 5  loss "), HasSubstr("step 4 of 5  loss ")));
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("step 3 of 5")));
  EXPECT_THAT(run_program(train(model, flags)).out, ::testing::Not(HasSubstr("step 2 of")));
  EXPECT_EQ(run_program(train(model, flags + " --log-every 0")).err,
            "error: --log-every: '0' found, a whole number of at least 1 needed\n");
  EXPECT_THAT(run_program("podium train --help").out, HasSubstr("--log-every"));
}

// A limit that is never reached changes no number; one that is, is what the norm is held against.
TEST(Train, TellsTheNormOfTheGradients) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  const std::string flags = "--loss cross-entropy --micro-batch 20 --steps 2 --log-every 1 --gradient-norm";
  const auto steps_of = [&](const std::string& more) {
    const std::string file = folder.file("r.json");
    const ProgramResult result = run_program(train(model, flags + more + " --report " + file));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("  gradient norm "));
    return nlohmann::json::parse(std::ifstream(file))["training"]["steps"];
  };
  const nlohmann::json measured = steps_of("");
  EXPECT_GT(measured[0]["gradientNorm"], 0.0);
  const nlohmann::json clipped = steps_of(" --clip-norm 0.001");
  EXPECT_EQ(clipped[0]["gradientNorm"], measured[0]["gradientNorm"]);
  EXPECT_NE(clipped[1]["loss"], measured[1]["loss"]);
}

TEST(Train, StashesWeightsInAPipelineThatUpdatesEveryMicroBatch) {
  const TemporaryFolder folder;
  const std::string model = folder.file("mlp.onnx");
  ASSERT_EQ(run_program("podium-models mnist-mlp batch=5 pixels=byte loss=cross-entropy -o " + model).status,
            0);
  const std::string flags =
      "--loss-tensor loss --steps 2 --virtual-graph-mode auto --ipus 4 --pipeline --batches-per-step 10";
  const ProgramResult stale = run_program(train(model, flags));
  const ProgramResult stashed = run_program(train(model, flags + " --weight-stashing"));
  EXPECT_EQ(stashed.status, 0) << stashed.err;
  EXPECT_THAT(stashed.out, HasSubstr("pipelined over 4, weights stashed"));
  EXPECT_NE(last_number(stashed.out, "loss "), last_number(stale.out, "loss "));
  EXPECT_THAT(run_program("podium train --help").out, HasSubstr("--weight-stashing"));
}

TEST(Train, TheSameSeedGivesTheSameNumbersOnAnyProcessors) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  const std::string flags = "--loss cross-entropy --micro-batch 5 --accumulate 4 --epochs 2 --shuffle ";
  const ProgramResult one = run_program(train(model, flags + "7"));
  const ProgramResult other = run_program(train(model, flags + "8"));
  const ProgramResult sharded = run_program(train(model, flags + "7 --virtual-graph-mode auto --ipus 2"));
  const ProgramResult pipelined =
      run_program(train(model, flags + "7 --virtual-graph-mode auto --ipus 2 --pipeline"));
  EXPECT_EQ(numbers_of(sharded), numbers_of(one));
  EXPECT_EQ(numbers_of(pipelined), numbers_of(one));
  EXPECT_NE(numbers_of(other), numbers_of(one));
}

// Two epochs at once, and one after another with a file between them.
void expect_goes_on(const std::string& flags) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  const auto command = [&](const std::string& more) {
    return fmt::format("podium train {} --quiet {} --loss cross-entropy --micro-batch 20 {} {}", model,
                       data_flags(), flags, more);
  };
  const ProgramResult whole = run_program(command("--epochs 2 --save " + folder.file("whole.onnx")));
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_EQ(run_program(command("--epochs 1 --save " + folder.file("half.onnx"))).status, 0);
  const ProgramResult rest = run_program(command(
      fmt::format("--epochs 1 --resume {} --save {}", folder.file("half.onnx"), folder.file("rest.onnx"))));
  EXPECT_EQ(rest.status, 0) << rest.err;
  const auto bytes = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_FALSE(bytes(folder.file("whole.onnx")).empty());
  EXPECT_EQ(bytes(folder.file("rest.onnx")), bytes(folder.file("whole.onnx")));
}

TEST(Train, AResumedRunGoesOnAsIfItHadNotStopped) { expect_goes_on("--optimizer sgd,lr=0.1,momentum=0.9"); }

TEST(Train, HalvesGoOnWithTheirStatesAndTheirLossScale) {
  expect_goes_on("--precision float16 --loss-scale auto --optimizer adamw,lr=0.002");
}

TEST(Train, WhatItSavesRuns) {
  const TemporaryFolder folder;
  const std::string saved = folder.file("saved.onnx");
  const ProgramResult result = run_program(
      train(small_model(folder), "--loss cross-entropy --micro-batch 20 --epochs 2 --save " + saved));
  EXPECT_EQ(result.status, 0) << result.err;
  const ProgramResult run =
      run_program(fmt::format("podium run {} --input image={}", saved, digits_file("images-idx3")));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("scores  float[100,10]"));
}

TEST(Train, FollowsAScheduleOfLearningRates) {
  const TemporaryFolder folder;
  const std::string schedule =
      folder.write("rates.json", R"([{"step": 0, "learning-rate": 0.1}, {"step": 3, "learning-rate": 0}])");
  const ProgramResult result = run_program(
      train(small_model(folder),
            "--loss cross-entropy --micro-batch 100 --epochs 5 --learning-rate-schedule " + schedule));
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string lines = epochs_of(result.out);
  const auto loss = [&](int epoch) {
    return last_number(lines.substr(0, lines.find(fmt::format("epoch {} ", epoch + 1))), "loss ");
  };
  EXPECT_LT(loss(4), loss(1));
  EXPECT_EQ(loss(5), loss(4));
}

TEST(Train, EstimatesAStep) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program(train(small_model(folder), "--loss cross-entropy --micro-batch 20 --estimate"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("time of a step"), Not(HasSubstr("epoch"))));
}

TEST(Train, EstimatesAStepWithoutData) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program("podium train " + small_model(folder, "20") +
                                           " --quiet --optimizer sgd --loss cross-entropy --estimate");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("time of a step"));
}

// Of what --save has written.
double saved_number(const std::string& file, const std::string& name) {
  const importer::Model model = importer::import_model(file);
  for (const ir::Value& value : model.graph.values) {
    if (value.name == name && value.constant) return value.constant->to_number();
  }
  return 0;
}

TEST(Train, FollowsTheGradientsOfFloat16WithItsLossScale) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  const std::string flags = "--loss cross-entropy --micro-batch 20 --loss-scale auto ";
  const auto command = [&](const std::string& more) {
    return train(model, flags + "--precision float16 " + more);
  };
  const std::string saved = folder.file("saved.onnx");
  const ProgramResult result = run_program(command("--epochs 2 --save " + saved));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_LT(last_number(result.out, "loss "), 2.2);
  // Gradients of a mean are small: every one of the 10 updates has doubled the scale.
  EXPECT_EQ(saved_number(saved, "lossScaleUpdateFactor"), 1024);
  expect_refused(train(model, flags), 1, "no gradient of type float16 to follow");
}

// A session option as in PopART: it needs no flag beside it, and one says where the scale begins.
TEST(Train, ScalesTheLossAutomaticallyWhenItsOptionsSaySo) {
  const TemporaryFolder folder;
  const std::string options =
      folder.write("options.json", R"({"automaticLossScalingSettings": {"enabled": true}})");
  const std::string schedule = folder.write("rates.json", R"([{"step": 2, "learning-rate": 0.01}])");
  const std::string saved = folder.file("saved.onnx");
  const std::string flags = fmt::format(
      "--loss cross-entropy --micro-batch 20 --precision float16 --options {} --learning-rate-schedule {} "
      "--save {} ",
      options, schedule, saved);
  ProgramResult result = run_program(train(small_model(folder), flags));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(saved_number(saved, "lossScaleUpdateFactor"), 32);
  // 4096 * 8 is the largest power of two of a float16.
  result = run_program(train(small_model(folder), flags + "--loss-scale 4096"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(saved_number(saved, "lossScaleUpdateFactor"), 8);
}

struct FewSamples {
  std::string kept;     ///< flags
  std::string refused;  ///< flags that need too many samples
  std::string advised;  ///< in their place
};

// Of 100 samples; what the refusal says is typed as it stands.
TEST(Train, SaysWhichFlagsNeedFewerSamples) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  for (const FewSamples& one : std::vector<FewSamples>{
           {"", "--micro-batch 200", "--micro-batch 100"},
           {"--micro-batch 20", "--batches-per-step 8", "--batches-per-step 5"},
           {"--micro-batch 20", "--accumulate 16", "--accumulate 5"},
           {"--micro-batch 20", "--accumulate 8 --batches-per-step 2", "--batches-per-step 1 --accumulate 5"},
           {"--ipus 2 --replicas 2", "--accumulate 4 --micro-batch 80", "--accumulate 1 --micro-batch 50"}}) {
    const std::string loss = "--loss cross-entropy " + one.kept + " ";
    expect_refused(train(model, loss + one.refused), 1, "; they are enough with " + one.advised);
    const ProgramResult result = run_program(train(model, loss + one.advised));
    EXPECT_EQ(result.status, 0) << one.advised << result.err;
  }
}

TEST(Train, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  const std::string loss = "--loss cross-entropy --micro-batch 20 ";
  expect_refused(train(model, loss + "--loss-tensor scores"), 2,
                 "both found, one of --loss and --loss-tensor needed");
  expect_refused(train(model, "--loss crossentropy"), 2, "the nearest is 'cross-entropy'");
  expect_refused(train(model, loss + "--optimiser adam"), 2, "the nearest is '--optimizer'");
  expect_refused(train(model, "--loss-tensor scores --micro-batch 20"), 1, "one number needed");
  expect_refused(train(model, "--loss cross-entropy --micro-batch 200"), 1,
                 "100 samples found, a step needs 200");
  expect_refused(train(model, loss + "--output score"), 1, "'scores'");
  expect_refused(train(model, loss + "--resume missing.onnx"), 1, "missing.onnx");
  // Before anything is read or trained.
  expect_refused(train(model, loss + "--resume missing.onnx --report " + folder.file("none/such")), 1,
                 "such: cannot be written");
  expect_refused(train(model, "--loss-tensor scoes --micro-batch 20"), 1,
                 "loss 'scoes': the model has no tensor of this name, the nearest is 'scores'");
  expect_refused(train(small_model(folder, "5"), loss), 1,
                 "a leading dimension of 5, 20 needed (--micro-batch)");
}

TEST(Train, RefusesDataThatDoNotFit) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  const auto command = [&](const std::string& images, const std::string& labels) {
    return fmt::format(
        "podium train {} --quiet --optimizer sgd --loss cross-entropy --micro-batch 2 --input image={} "
        "--target label={}",
        model, images, labels);
  };
  const std::string labels = folder.file("labels.npy");
  importer::write_npy(ir::Tensor::of<std::int32_t>({3}, {1, 2, 3}), labels);
  expect_refused(command(digits_file("images-idx3"), labels), 1, "3 samples found, 100 needed as in");
  const std::string images = folder.file("images.npy");
  importer::write_npy(ir::Tensor::of<std::uint8_t>({3, 2}, {1, 2, 3, 4, 5, 6}), images);
  expect_refused(command(images, labels), 1, "2 elements a sample found");
  std::vector<std::int64_t> wrong(100, 3);
  wrong[42] = 10;
  importer::write_npy(ir::Tensor::ints(wrong), labels);
  expect_refused(command(digits_file("images-idx3"), labels), 1,
                 "label 10 of sample 42 found, a class from 0 to 9 needed");
  const std::string trains = train(model, "--loss cross-entropy --micro-batch 20");
  const std::string held_out =
      trains + " --eval-input image=" + digits_file("images-idx3") + " --eval-target label=";
  expect_refused(held_out + labels, 1, "--eval-target label=" + labels + ": label 10 of sample 42 found");
  expect_refused(held_out + digits_file("train-labels-idx1"), 1, "1000 samples found, 100 needed as in");
  expect_refused(trains + " --eval-input image=" + digits_file("images-idx3"), 1,
                 "input 'label': no data found");
}

TEST(Train, NamesTheInputThatIsNoNumber) {
  const TemporaryFolder folder;
  const std::string model = folder.write("m.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 20]>
g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> { y = MatMul(x, w) })");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  importer::write_npy(ir::Tensor::of<float>({2, 2}, {1, 2, nan, 4}), folder.file("x.npy"));
  expect_refused(fmt::format("podium train {} --quiet --optimizer sgd --loss mse --input x={} --target t={}",
                             model, folder.file("x.npy"), folder.file("x.npy")),
                 1, "before it, the first is 'x'");
}

// Four positions of a sample, each of one of three classes: ONNX's losses have the classes on axis 1, scores
// of tokens have them last.
TEST(Train, LabelsTellWhichAxisOfTheScoresHasTheClasses) {
  const TemporaryFolder folder;
  std::vector<float> samples;
  std::vector<std::int64_t> classes;
  for (int i = 0; i < 48; ++i) samples.push_back(static_cast<float>(i * 37 % 11) - 5);
  for (int i = 0; i < 32; ++i) classes.push_back(i * 7 % 4 == 3 ? -1 : i * 7 % 4);
  importer::write_npy(ir::Tensor::of<float>({8, 3, 2}, samples), folder.file("x.npy"));
  importer::write_npy(ir::Tensor::of<std::int64_t>({8, 4}, classes), folder.file("labels.npy"));
  const std::string start = R"(<ir_version: 8, opset_import: ["" : 20]>
g (float[2,3,2] x) => (float[2,)";
  const std::string weights = R"(] scores) <float[2,4] w = {0.1,-0.2,0.3,0.1, 0.2,0.1,-0.3,0.4}> {)";
  const std::string on_axis_one =
      folder.write("one.onnxtxt", start + "3,4" + weights + "scores = MatMul(x, w) }");
  const std::string last = folder.write(
      "last.onnxtxt", start + "4,3" + weights + "p = MatMul(x, w) scores = Transpose<perm = [0,2,1]>(p) }");
  const auto losses = [&](const std::string& model, const std::string& loss) {
    return numbers_of(run_program(fmt::format(
        "podium train {} --quiet --optimizer sgd,lr=0.1 --epochs 3 --loss cross-entropy,ignore-index=-1{} "
        "--input x={} --target labels={}",
        model, loss, folder.file("x.npy"), folder.file("labels.npy"))));
  };
  const std::string wanted = losses(last, "");
  EXPECT_THAT(wanted, HasSubstr("accuracy"));
  EXPECT_EQ(losses(on_axis_one, ""), wanted);
  EXPECT_EQ(losses(on_axis_one, ",axis=1"), wanted);
  EXPECT_NE(losses(last, ",reduction=sum"), wanted);
}

// Killed at any time, while it writes too.
TEST(Train, AnInterruptedSaveLeavesTheOneBefore) {
  const TemporaryFolder folder;
  const std::string saved = folder.file("saved.onnx");
  const std::string command =
      train(small_model(folder), "--loss cross-entropy --micro-batch 100 --epochs 1000000 --save " + saved);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    run_program(
        fmt::format("{} >/dev/null 2>&1 & for i in $(seq 1000); do [ -f {} ] && break; sleep 0.01; done; "
                    "sleep 0.{}; kill -9 $!; wait",
                    command, saved, attempt));
    const ProgramResult run =
        run_program(fmt::format("podium run {} --input image={}", saved, digits_file("images-idx3")));
    EXPECT_EQ(run.status, 0) << run.err;
  }
}

TEST(Train, ASaveTooLargeForItsFileIsAnErrorAndLeavesNothing) {
  const TemporaryFolder folder;
  const std::string model = small_model(folder);
  const std::string saved = folder.file("saved/model.onnx");
  folder.write("saved/model.onnx", "the one before");
  const std::string command =
      train(model, "--loss cross-entropy --micro-batch 100 --epochs 1 --save " + saved);
  const ProgramResult result = run_program(
      fmt::format("podium --version >/dev/null; ulimit -f 8; {}{}", PODIUM_PROGRAM, command.substr(6)));
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "error: " + model + ": " + saved + ": cannot be written: File too large\n");
  EXPECT_EQ(run_program("podium --version >/dev/null; ls -A " + folder.file("saved")).out, "model.onnx\n");
  EXPECT_EQ(run_program("podium --version >/dev/null; cat " + saved).out, "the one before");
}

TEST(Train, SaysBeforeItTrainsThatItCannotSave) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program(train(small_model(folder),
                        "--loss cross-entropy --micro-batch 20 --save " + folder.file("absent/saved.onnx")));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, StartsWith("error: " + folder.file("absent/saved.onnx")));
  EXPECT_EQ(result.out, "");
}

// The gradients of a hundred digits_file added up, at the largest rate: the loss before that update is a
// number.
TEST(Train, KeepsTheLastSaveWhenAnUpdateRuinsTheWeights) {
  const TemporaryFolder folder;
  const std::string saved = folder.file("saved.onnx");
  const std::string schedule = folder.write(
      "rates.json", R"([{"step": 0, "learning-rate": 0.001}, {"step": 1, "learning-rate": 3e38}])");
  const ProgramResult ruined = run_program(train(
      small_model(folder), fmt::format("--loss cross-entropy --micro-batch 1 --accumulate 100 --epochs 2 "
                                       "--save {} --learning-rate-schedule {}",
                                       saved, schedule)));
  EXPECT_EQ(ruined.status, 1);
  EXPECT_THAT(ruined.err, AllOf(HasSubstr("step 2: 'w' is not finite after it"),
                                HasSubstr("holds the model after epoch 1")));
  EXPECT_THAT(ruined.out, AllOf(HasSubstr("epoch 1 of 2"), Not(HasSubstr("epoch 2 of 2"))));
  const ProgramResult resumed = run_program(
      train(small_model(folder), "--loss cross-entropy --micro-batch 100 --epochs 1 --resume " + saved));
  EXPECT_EQ(resumed.status, 0) << resumed.err;
}

TEST(Train, KeepsTheLastSaveWhenTheLossIsNoNumber) {
  const TemporaryFolder folder;
  const std::string saved = folder.file("saved.onnx");
  const std::string schedule = folder.write(
      "rates.json", R"([{"step": 0, "learning-rate": 0.1}, {"step": 1, "learning-rate": 1e38}])");
  const ProgramResult diverged = run_program(
      train(small_model(folder), fmt::format("--loss cross-entropy --micro-batch 100 --epochs 5 --save {} "
                                             "--learning-rate-schedule {}",
                                             saved, schedule)));
  EXPECT_EQ(diverged.status, 1);
  EXPECT_THAT(diverged.err, AllOf(HasSubstr("step 3: loss 'loss' is"), HasSubstr("in micro-batch 1 of 1"),
                                  HasSubstr("before it, the first is 'product'"),
                                  HasSubstr("holds the model after epoch 2")));
  EXPECT_EQ(
      run_program(fmt::format("podium run {} --input image={}", saved, digits_file("images-idx3"))).status,
      0);
}

}  // namespace
}  // namespace podium::cli
