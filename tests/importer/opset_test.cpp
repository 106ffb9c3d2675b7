// Each test runs a node as an older version meant it.
#include "importer/opset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "executor/session/session.h"
#include "importer/import.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

std::string error_of(const std::string& body, int opset) {
  return testing::refusal([&] { importer::import_text(testing::model_text(body, opset)); });
}

Tensor counted(ir::Dims dims) {
  Tensor result(ir::DataType::Float, std::move(dims));
  float next = 0;
  for (float& value : result.values<float>()) value = next++;
  return result;
}

TEST(Opset, AddsAlongAnAxisAsCaffe2Did) {
  const auto out = run_text(
      "g (float[2,3,2] a, float[3] b) => (float[2,3,2] y) { y = Add<broadcast = 1, axis = 1>(a, b) }",
      {counted({2, 3, 2}), tensor<float>({3}, {0, 100, 200})}, 6);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(0, 1, 102, 103, 204, 205, 6, 7, 108, 109, 210, 211));
}

TEST(Opset, BroadcastsAtTheEndWithoutAnAxis) {
  const auto out = run_text("g (float[2,3] a, float[3] b) => (float[2,3] y) { y = Mul<broadcast = 1>(a, b) }",
                            {counted({2, 3}), tensor<float>({3}, {1, 10, 100})}, 1);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(0, 10, 200, 3, 40, 500));
}

TEST(Opset, DropsTheInputsThatMayBeOverwritten) {
  const auto out = run_text("g (float[2] x) => (float[2] y) { y = Relu<consumed_inputs = [0]>(x) }",
                            {tensor<float>({2}, {-1, 1})}, 1);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(0, 1));
}

TEST(Opset, GivesASlopeToEachChannel) {
  const auto out = run_text("g (float[1,2,2] x, float[2] s) => (float[1,2,2] y) { y = PRelu(x, s) }",
                            {tensor<float>({1, 2, 2}, {-1, 1, -1, 1}), tensor<float>({2}, {2, 3})}, 6);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(-2, 1, -3, 1));
}

TEST(Opset, ReadsTypesByName) {
  const auto out = run_text("g (float[2] x) => (int32[2] y) { y = Cast<to = \"INT32\">(x) }",
                            {tensor<float>({2}, {1.5F, -2.5F})}, 1);
  EXPECT_THAT(values<std::int32_t>(out[0]), ElementsAre(1, -2));
  EXPECT_THAT(error_of("g (float[2] x) => (int32[2] y) { y = Cast<to = \"INT33\">(x) }", 1),
              ::testing::HasSubstr("there is no element type 'int33'"));
}

TEST(Opset, ClipsByAttributes) {
  const auto x = tensor<float>({3}, {-5, 0, 5});
  EXPECT_THAT(values<float>(run_text("g (float[3] x) => (float[3] y) { y = Clip<min = -1.0, max = 2.0>(x) }",
                                     {x}, 6)[0]),
              ElementsAre(-1, 0, 2));
  EXPECT_THAT(
      values<float>(run_text("g (float[3] x) => (float[3] y) { y = Clip<max = 2.0>(x) }", {x}, 10)[0]),
      ElementsAre(-5, 0, 2));
}

TEST(Opset, ConcatenatesAlongAxisOneByDefault) {
  const auto x = counted({2, 1});
  EXPECT_EQ(run_text("g (float[2,1] x) => (float[2,2] y) { y = Concat(x, x) }", {x}, 1)[0].tensor.dims(),
            (ir::Dims{2, 2}));
}

TEST(Opset, SoftmaxCoversAllThatFollowsTheAxis) {
  const auto x = Tensor::of<float>({1, 2, 2}, {0, 0, 0, 0});
  const auto y = run_text("g (float[1,2,2] x) => (float[1,2,2] y) { y = Softmax(x) }", {x}, 11)[0];
  EXPECT_EQ(y.tensor.dims(), (ir::Dims{1, 2, 2}));
  EXPECT_THAT(values<float>(y), ElementsAre(0.25F, 0.25F, 0.25F, 0.25F));
  EXPECT_THAT(values<float>(run_text("g (float[1,2,2] x) => (float[1,2,2] y) { y = Softmax<axis = -1>(x) }",
                                     {x}, 12)[0]),
              ElementsAre(0.5F, 0.5F, 0.5F, 0.5F));
  EXPECT_THAT(values<float>(
                  run_text("g (float[1,2,2] x) => (float[1,2,2] y) { y = Hardmax<axis = 0>(x) }", {x}, 1)[0]),
              ElementsAre(1, 0, 0, 0));
}

TEST(Opset, PadsByAttributes) {
  const auto x = tensor<float>({2}, {1, 2});
  EXPECT_THAT(values<float>(run_text(
                  "g (float[2] x) => (float[4] y) { y = Pad<paddings = [1,1], value = 7.0>(x) }", {x}, 1)[0]),
              ElementsAre(7, 1, 2, 7));
  EXPECT_THAT(values<float>(run_text(
                  "g (float[2] x) => (float[3] y) { y = Pad<pads = [0,1], mode = \"edge\">(x) }", {x}, 2)[0]),
              ElementsAre(1, 2, 2));
}

TEST(Opset, ReshapesSlicesAndSqueezesByAttributes) {
  const auto x = counted({2, 3});
  EXPECT_EQ(run_text("g (float[2,3] x) => (float[3,2] y) { y = Reshape<shape = [3,-1]>(x) }", {x}, 1)[0]
                .tensor.dims(),
            (ir::Dims{3, 2}));
  EXPECT_THAT(
      values<float>(run_text(
          "g (float[2,3] x) => (float[2,1] y) { y = Slice<axes = [1], starts = [1], ends = [-1]>(x) }", {x},
          9)[0]),
      ElementsAre(1, 4));
  EXPECT_EQ(run_text("g (float[2,3] x) => (float[1,2,3] y) { y = Unsqueeze<axes = [0]>(x) }", {x}, 11)[0]
                .tensor.dims(),
            (ir::Dims{1, 2, 3}));
  EXPECT_EQ(
      run_text("g (float[1,3] x) => (float[3] y) { y = Squeeze(x) }", {counted({1, 3})}, 1)[0].tensor.dims(),
      (ir::Dims{3}));
}

TEST(Opset, SplitsByAttributeOrIntoAsManyAsThereAreOutputs) {
  const auto x = counted({4});
  const auto given =
      run_text("g (float[4] x) => (float[1] a, float[3] b) { a, b = Split<split = [1,3]>(x) }", {x}, 2);
  EXPECT_THAT(values<float>(given[1]), ElementsAre(1, 2, 3));
  const auto equal = run_text("g (float[4] x) => (float[2] a, float[2] b) { a, b = Split(x) }", {x}, 13);
  EXPECT_THAT(values<float>(equal[1]), ElementsAre(2, 3));
}

TEST(Opset, TilesAlongOneAxis) {
  const auto out = run_text("g (float[1,2] x, float t, float a) => (float[1,6] y) { y = Tile(x, t, a) }",
                            {counted({1, 2}), Tensor::scalar(3.0F), Tensor::scalar(1.0F)}, 1);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(Opset, ReducesOverTheAxesOfTheAttribute) {
  const auto x = counted({2, 3});
  EXPECT_THAT(
      values<float>(run_text(
          "g (float[2,3] x) => (float[2] y) { y = ReduceMean<axes = [1], keepdims = 0>(x) }", {x}, 13)[0]),
      ElementsAre(1, 4));
  EXPECT_THAT(
      values<float>(run_text("g (float[2,3] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }", {x}, 11)[0]),
      ElementsAre(15));
}

TEST(Opset, TakesTheTopByAnAttribute) {
  const auto out =
      run_text("g (float[4] x) => (float[2] v, int64[2] i) { v, i = TopK<k = 2>(x) }", {counted({4})}, 1);
  EXPECT_THAT(values<std::int64_t>(out[1]), ElementsAre(3, 2));
}

TEST(Opset, DropoutCopiesAndItsOldMaskIsOfTheDatasType) {
  const auto out = run_text("g (float[2] x) => (float[2] y, float[2] m) { y, m = Dropout<ratio = 0.9>(x) }",
                            {counted({2})}, 7);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(0, 1));
  EXPECT_THAT(values<float>(out[1]), ElementsAre(1, 1));
  const auto tested =
      run_text("g (float[2] x) => (float[2] y) { y = Dropout<is_test = 1>(x) }", {counted({2})}, 6);
  EXPECT_THAT(values<float>(tested[0]), ElementsAre(0, 1));
}

constexpr const char* kNormInputs = "float[2,1,2] x, float[1] s, float[1] b, float[1] m, float[1] v";

std::vector<Datum> norm_inputs() {
  return {tensor<float>({2, 1, 2}, {1, 2, 3, 4}), tensor<float>({1}, {1}), tensor<float>({1}, {0}),
          tensor<float>({1}, {0}), tensor<float>({1}, {1})};
}

TEST(Opset, BatchNormalizationOfATestUsesWhatItIsGiven) {
  const auto y = run_text(fmt::format("g ({}) => (float[2,1,2] y) {{ y = BatchNormalization<is_test = 1, "
                                      "epsilon = 0.0>(x, s, b, m, v) }}",
                                      kNormInputs),
                          norm_inputs(), 6);
  EXPECT_THAT(values<float>(y[0]), ElementsAre(1, 2, 3, 4));
}

TEST(Opset, BatchNormalizationWithMoreOutputsTrains) {
  const auto out =
      run_text(fmt::format("g ({}) => (float[2,1,2] y, float[1] rm, float[1] rv, float[1] sm, float[1] sv) {{"
                           "y, rm, rv, sm, sv = BatchNormalization<momentum = 0.5>(x, s, b, m, v) }}",
                           kNormInputs),
               norm_inputs(), 9);
  EXPECT_THAT(values<float>(out[1]), ElementsAre(1.25F));
  EXPECT_THAT(values<float>(out[2]), ElementsAre(1.125F));
  EXPECT_THAT(values<float>(out[3]), ElementsAre(2.5F));
  EXPECT_THAT(values<float>(out[4]), ElementsAre(1.25F));
}

TEST(Opset, BatchNormalizationOnceKeptStatisticsOfEveryPlace) {
  const auto out = run_text(
      "g (float[1,1,2] x, float[1,2] s, float[1,2] b, float[1,2] m, float[1,2] v) => (float[1,1,2] y) {"
      "y = BatchNormalization<spatial = 0, epsilon = 0.0>(x, s, b, m, v) }",
      {tensor<float>({1, 1, 2}, {1, 2}), tensor<float>({1, 2}, {1, 10}), tensor<float>({1, 2}, {0, 0}),
       tensor<float>({1, 2}, {0, 1}), tensor<float>({1, 2}, {1, 1})},
      7);
  EXPECT_EQ(out[0].tensor.dims(), (ir::Dims{1, 1, 2}));
  EXPECT_THAT(values<float>(out[0]), ElementsAre(1, 10));
}

TEST(Opset, GroupNormalizationScaledByGroup) {
  const auto out = run_text(
      "g (float[1,4,1] x, float[2] s, float[2] b) => (float[1,4,1] y) {"
      "y = GroupNormalization<num_groups = 2, epsilon = 0.0>(x, s, b) }",
      {tensor<float>({1, 4, 1}, {-1, 1, -1, 1}), tensor<float>({2}, {1, 2}), tensor<float>({2}, {0, 10})},
      18);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(-1, 1, 8, 12));
}

TEST(Opset, PoolsWithAPowerThatIsNoWholeNumber) {
  const auto x = tensor<float>({1, 1, 2}, {1, 4});
  const float expected = std::pow(1.0F + 8.0F, 1 / 1.5F);
  const auto global =
      run_text("g (float[1,1,2] x) => (float[1,1,1] y) { y = GlobalLpPool<p = 1.5>(x) }", {x}, 1);
  EXPECT_NEAR(values<float>(global[0])[0], expected, 1e-4);
  const auto window = run_text(
      "g (float[1,1,2] x) => (float[1,1,1] y) { y = LpPool<p = 1.5, kernel_shape = [2]>(x) }", {x}, 1);
  EXPECT_NEAR(values<float>(window[0])[0], expected, 1e-4);
}

TEST(Opset, NegativeIndicesOnceGaveNoHotPlace) {
  const std::string body = "g (int64[2] i, int64 d, float[2] v) => (float[2,3] y) { y = OneHot(i, d, v) }";
  const std::vector<Datum> inputs{Tensor::ints({-1, 2}), Tensor::scalar(std::int64_t{3}),
                                  tensor<float>({2}, {0, 1})};
  EXPECT_THAT(values<float>(run_text(body, inputs, 9)[0]), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_THAT(values<float>(run_text(body, inputs, 11)[0]), ElementsAre(0, 0, 1, 0, 0, 1));
}

TEST(Opset, ScatterIsScatterElementsAlsoInModelsThatCameAfterIt) {
  const std::string body = "g (float[3] x, int64[1] i, float[1] u) => (float[3] y) { y = Scatter(x, i, u) }";
  const std::vector<Datum> inputs{counted({3}), Tensor::ints({1}), tensor<float>({1}, {9})};
  EXPECT_THAT(values<float>(run_text(body, inputs, 9)[0]), ElementsAre(0, 9, 2));
  EXPECT_THAT(values<float>(run_text(body, inputs, 13)[0]), ElementsAre(0, 9, 2));
}

TEST(Opset, UpsamplesByAttributesAndByInputs) {
  const auto x = tensor<float>({1, 1, 1, 2}, {1, 2});
  const auto first = run_text(
      "g (float[1,1,1,2] x) => (float[1,1,1,6] y) { y = Upsample<height_scale = 1.0, width_scale = 3.0>(x) }",
      {x}, 1);
  EXPECT_THAT(values<float>(first[0]), ElementsAre(1, 1, 1, 2, 2, 2));
  const auto second = run_text(
      "g (float[1,1,1,2] x) => (float[1,1,1,4] y) { y = Upsample<scales = [1.0,1.0,1.0,2.0], mode = "
      "\"linear\">(x) }",
      {x}, 7);
  EXPECT_THAT(values<float>(second[0]), ElementsAre(1, 1.5F, 2, 2));
  const auto third = run_text("g (float[1,1,1,2] x, float[4] s) => (float[1,1,1,4] y) { y = Upsample(x, s) }",
                              {x, tensor<float>({4}, {1, 1, 1, 2})}, 9);
  EXPECT_THAT(values<float>(third[0]), ElementsAre(1, 1, 2, 2));
}

TEST(Opset, ResizeOnceTookThePixelAfterWhereItShrank) {
  const auto x = tensor<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::string body = "g (float[1,1,2,4] x, float[4] s) => (float[1,1,N,M] y) { y = Resize(x, s) }";
  EXPECT_THAT(values<float>(run_text(body, {x, tensor<float>({4}, {1, 1, 0.6F, 0.6F})}, 10)[0]),
              ElementsAre(1, 3));
  EXPECT_THAT(values<float>(run_text(body, {x, tensor<float>({4}, {1, 1, 2, 0.6F})}, 10)[0]),
              ElementsAre(1, 3, 1, 3, 5, 7, 5, 7));
}

// ONNX text cannot leave an input out, so the lengths come from the model that is read.
TEST(Opset, ScanOnceRanEveryExampleByItself) {
  const std::string body_text =
      "b (float[1] s, float[1] e) => (float[1] t, float[1] u) { t = Add(s, e) u = Identity(t) }";
  importer::Model model;
  ir::Graph& graph = model.graph;
  const auto body = testing::model_of(body_text).graph;
  graph.inputs = {graph.add_value("start", ir::Type::tensor(ir::DataType::Float, {2, 1})),
                  graph.add_value("x", ir::Type::tensor(ir::DataType::Float, {2, 3, 1}))};
  graph.outputs = {graph.add_value("sum"), graph.add_value("sums")};
  importer::AdaptContext context{.graph = graph, .version = 8};
  importer::append_adapted(context, {.type = "Scan",
                                     .inputs = {ir::kNoValue, graph.inputs[0], graph.inputs[1]},
                                     .outputs = graph.outputs,
                                     .attributes = {{"num_scan_inputs", std::int64_t{1}},
                                                    {"body", std::make_shared<const ir::Graph>(body)}}});
  InferenceSession session(model);
  const std::vector<Datum> inputs{tensor<float>({2, 1}, {0, 100}), counted({2, 3, 1})};
  const auto out = session.run(inputs);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(3, 112));
  EXPECT_THAT(values<float>(out[1]), ElementsAre(0, 1, 3, 103, 107, 112));
}

TEST(Opset, ScanOnceKnewLengthsAndPaddedWithZeros) {
  const std::string body =
      "g (int64[2] n, float[2,1] start, float[2,3,1] x) => (float[2,1] sum, float[2,3,1] sums) {"
      "sum, sums = Scan<num_scan_inputs = 1, body = b (float[1] s, float[1] e) => (float[1] t, float[1] u)"
      "{ t = Add(s, e) u = Identity(t) }>(n, start, x) }";
  const auto out =
      run_text(body, {Tensor::ints({1, 2}), tensor<float>({2, 1}, {0, 100}), counted({2, 3, 1})}, 8);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(0, 107));
  EXPECT_THAT(values<float>(out[1]), ElementsAre(0, 0, 0, 103, 107, 0));
}

TEST(Opset, KeepsOpsThatWereDropped) {
  const auto x = tensor<float>({1, 1, 2, 2}, {0, 1, 2, 3});
  const auto run = [&](const std::string& node, int opset) {
    return values<float>(
        run_text("g (float[1,1,2,2] x) => (float[A,B,C,D] y) { y = " + node + "(x) }", {x}, opset)[0]);
  };
  EXPECT_THAT(run("Affine<alpha = 2.0, beta = 1.0>", 1), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(run("ImageScaler<scale = 2.0, bias = [10.0]>", 9), ElementsAre(10, 12, 14, 16));
  EXPECT_THAT(run("Crop<border = [1,0,0,1]>", 5), ElementsAre(1));
  EXPECT_THAT(run("Crop<border = [0,1,0,0], scale = [1,1]>", 5), ElementsAre(2));
  EXPECT_THROW(run("Crop<border = [0,9223372036854775807,0,0], scale = [1,1]>", 5), Error);
  EXPECT_NEAR(run("ScaledTanh<alpha = 2.0, beta = 0.5>", 1)[1], 2 * std::tanh(0.5F), 1e-6);
  EXPECT_THAT(run("MeanVarianceNormalization<normalize_variance = 0>", 1),
              ElementsAre(-1.5F, -0.5F, 0.5F, 1.5F));
}

TEST(Opset, DftTookItsAxisAsAnAttribute) {
  const auto x = tensor<float>({1, 2, 2, 1}, {1, 2, 3, 4});
  const auto out = run_text("g (float[1,2,2,1] x) => (float[1,2,2,2] y) { y = DFT(x) }", {x}, 17);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(4, 0, 6, 0, -2, 0, -2, 0));
}

TEST(Opset, WhatANodeBecomesIsPlacedAsTheNode) {
  const auto graph =
      importer::import_text(
          testing::model_text(
              "g (float[2,2] x) => (float[2,2] y) { y = Softmax<axis = 0, __pipeline_stage = 3>(x) }", 9))
          .graph;
  EXPECT_EQ(graph.ops.size(), 4U);
  for (const ir::Op& op : graph.ops) EXPECT_EQ(ir::attribute<std::int64_t>(op, "__pipeline_stage"), 3);
}

TEST(Opset, AnOpNewerThanTheModelHasItsFirstMeaning) {
  const Tensor x = tensor<float>({1, 2, 2, 1}, {1, 2, 3, 4});
  // DFT came with version 17, where its axis was an attribute.
  const auto out = run_text("g (float[1,2,2,1] x) => (float[1,2,2,2] y) { y = DFT <axis = 1> (x) }", {x}, 16);
  EXPECT_THAT(values<float>(out[0]), ElementsAre(4, 0, 6, 0, -2, 0, -2, 0));
}

TEST(Opset, RefusesWhatIsNewerThanWeKnow) {
  EXPECT_THAT(error_of("g (float[2] x) => (float[2] y) { y = Relu(x) }", 31),
              ::testing::HasSubstr("opset version 31 of ai.onnx found, at most 28 is known"));
  EXPECT_THAT(error_of("g (float[2] x) => (float[2] y) { y = Rellu(x) }", 13),
              ::testing::HasSubstr("there is no op 'Rellu' in domain 'ai.onnx'; the nearest is 'Relu'"));
}

}  // namespace
}  // namespace podium
