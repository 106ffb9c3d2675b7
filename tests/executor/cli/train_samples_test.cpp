// `podium train` with samples that are not on the first axis.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/samples.h"
#include "importer/import.h"
#include "importer/tensor_file.h"
#include "tests/support/run_program.h"
#include "tests/support/run_text.h"

namespace podium::cli {
namespace {

using ir::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

// The gradient of w is the sum of two samples, which are columns.
constexpr const char* kColumns = R"(<ir_version: 8, opset_import: ["" : 20]>
g (float[3,2] x) => (float loss) <float[3,1] w = {0, 0, 0}>
{ p = Mul(w, x) loss = ReduceSum<keepdims = 0>(p) }
)";

std::vector<float> trained_columns(const TemporaryFolder& folder) {
  const importer::Model model = importer::import_model(folder.file("saved.onnx"));
  for (const ir::Value& value : model.graph.values) {
    if (value.name == "w") return testing::values<float>(*value.constant);
  }
  return {};
}

TEST(TrainSamples, LieOnTheAxisThatIsNamed) {
  const TemporaryFolder folder;
  importer::write_npy(Tensor::of<float>({3, 4}, {1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400}),
                      folder.file("x.npy"));
  const std::string command =
      fmt::format("podium train {} --quiet --loss-tensor loss --optimizer sgd,lr=1 --input x={} --save {} ",
                  folder.write("m.onnxtxt", kColumns), folder.file("x.npy"), folder.file("saved.onnx"));
  ProgramResult result = run_program(command + "--sample-axis x=1 --steps 1");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(trained_columns(folder), ElementsAre(-3, -30, -300));
  result = run_program(command + "--sample-axis x=1 --accumulate 2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(trained_columns(folder), ElementsAre(-10, -100, -1000));
  EXPECT_THAT(run_program(command).err, HasSubstr("4 elements a sample found (float[3,4]), 2 needed"));
  EXPECT_THAT(run_program(command + "--sample-axis z=1").err, HasSubstr("no such input, the nearest is 'x'"));
  EXPECT_THAT(run_program(command + "--input z=z.npy").err,
              HasSubstr("m.onnxtxt: --input z: the model has no such input, the nearest is 'x'\n"));
  EXPECT_THAT(run_program(command + "--eval-input z=z.npy --sample-axis x=1").err,
              HasSubstr("--eval-input z: the model has no such input, the nearest is 'x'"));
  EXPECT_THAT(run_program(command + "--sample-axis x=2").err, HasSubstr("samples along axis 2 needed"));
}

// As they lie in the input, with micro-batches in front, and micro-batch after micro-batch.
TEST(TrainSamples, OfRecurrentNetworksLieBehindTheSteps) {
  const TemporaryFolder folder;
  const std::string model = folder.file("lstm.onnx");
  ASSERT_EQ(
      run_program("podium-models lstm hidden=4 features=2 sequence=3 batch=2 loss=cross-entropy -o " + model)
          .status,
      0);
  Tensor rows(ir::DataType::Float, {3, 8, 2});
  Tensor ready(ir::DataType::Float, {4, 3, 2, 2});
  for (int step = 0; step < 3; ++step) {
    for (int sample = 0; sample < 8; ++sample) {
      for (int i = 0; i < 2; ++i) {
        const float number = static_cast<float>(step * 5 + sample * 3 + i) / 10;
        rows.data<float>()[(step * 8 + sample) * 2 + i] = number;
        ready.data<float>()[((sample / 2 * 3 + step) * 2 + sample % 2) * 2 + i] = number;
      }
    }
  }
  importer::write_npy(Tensor::ints({0, 1, 2, 3, 4, 5, 6, 7}), folder.file("y.npy"));
  const auto epochs_of_lstm = [&](const Tensor& x, const std::string& flags) {
    importer::write_npy(x, folder.file("x.npy"));
    const ProgramResult result = run_program(fmt::format(
        "podium train {} --quiet --loss-tensor loss --optimizer sgd --input x={} --target label={} --save {} "
        "--eval-input x={} --eval-target label={} {}",
        model, folder.file("x.npy"), folder.file("y.npy"), folder.file("saved.onnx"), folder.file("x.npy"),
        folder.file("y.npy"), flags));
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out.substr(0, result.out.find("simulated"));
  };
  const std::string wanted = epochs_of_lstm(rows, "");
  EXPECT_THAT(wanted, HasSubstr("held-out loss"));
  EXPECT_EQ(epochs_of_lstm(ready, ""), wanted);
  EXPECT_EQ(epochs_of_lstm(ready.reshaped({12, 2, 2}), ""), wanted);
  EXPECT_EQ(epochs_of_lstm(rows, "--sample-axis x=1"), wanted);
}

TEST(TrainSamples, AreMovedToTheFront) {
  const Tensor array = Tensor::of<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor rows = samples_first(array, 1, 1);
  EXPECT_EQ(rows.dims(), (ir::Dims{6, 1}));
  const Tensor columns = samples_first(array, 2, 0);
  EXPECT_EQ(columns.dims(), (ir::Dims{3, 2, 1}));
  EXPECT_THAT(testing::values<float>(columns), ElementsAre(1, 4, 2, 5, 3, 6));
}

}  // namespace
}  // namespace podium::cli
