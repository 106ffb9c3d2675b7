// PopART's own ops of elements, fixed slices and losses against their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importer/import.h"
#include "tests/importer/by_hand.h"
#include "tests/support/refusal.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Tensor;
using testing::both;
using testing::doubles;
using testing::Doubles;
using testing::each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::expect_gradients_of_differences;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::list;
using testing::numbers;
using testing::run_text;
using testing::tensor;
using testing::values;

std::string popart_text(const std::string& inputs, const std::string& call) {
  return "g (" + inputs + ") => (double[] r) { r = ai.graphcore." + call + " }";
}

Doubles popart_result(const std::string& inputs, const std::string& call, const std::vector<Datum>& given) {
  return doubles(run_text(popart_text(inputs, call), given)[0]);
}

const Doubles kBothSigns{-2.5, -1.5, -0.75, 1e-9, 0.25, 0.5, 1.5, 2.5};

// f of every element, and its derivative against differences.
void expect_function(const std::string& call, const Doubles& x, const std::function<double(double)>& f,
                     bool is_smooth = true) {
  const std::string inputs = "double[N] x";
  expect_near(popart_result(inputs, call + " (x)", {list<double>(x)}), each(x, f));
  if (is_smooth)
    expect_gradients_of_differences(popart_text("double[N] x", call + " (x)"), {list<double>(x)});
}

TEST(PopartOps, FunctionsOfOneElement) {
  expect_function("Gelu", kBothSigns, testing::tanh_gelu_by_hand);
  expect_function("GeluErf", kBothSigns, testing::gelu_by_hand);
  expect_function("Swish", kBothSigns, [](double x) { return x * testing::sigmoid_by_hand(x); });
  expect_function("Square", kBothSigns, [](double x) { return x * x; });
  expect_function("Expm1", kBothSigns, [](double x) { return std::expm1(x); });
  expect_function("Log1p", {-0.75, -0.25, 1e-9, 0.25, 0.75, 3, 100}, [](double x) { return std::log1p(x); });
  expect_function("Scale <scale = 0.25>", kBothSigns, [](double x) { return x / 4; });
  expect_function("Nop", kBothSigns, [](double x) { return x; });
  expect_function("PrintTensor <print_gradient = 1, title = \"x\">", kBothSigns, [](double x) { return x; });
  expect_function("TensorRemap <remap_type = 1>", kBothSigns, [](double x) { return x; });
  expect_function(
      "Round", kBothSigns, [](double x) { return std::round(x); }, false);
  expect_function(
      "NearbyInt", kBothSigns, [](double x) { return std::nearbyint(x); }, false);
  expect_function(
      "ZerosLike", kBothSigns, [](double) { return 0; }, false);
}

TEST(PopartOps, SmallNumbersKeepTheirDigits) {
  const auto tiny = popart_result("double[N] x", "Expm1 (x)", {list<double>({1e-12})});
  EXPECT_NEAR(tiny[0] / 1e-12, 1, 1e-11);
  const auto log = popart_result("double[N] x", "Log1p (x)", {list<double>({1e-12})});
  EXPECT_NEAR(log[0] / 1e-12, 1, 1e-11);
}

TEST(PopartOps, DetachLetsNothingFlowBack) {
  const auto found =
      testing::gradients("g (double[N] x) => (double[] r) { d = ai.graphcore.Detach (x) r = Mul (d, x) }",
                         {list<double>({2, -3})});
  expect_near(doubles(found[0]), {2 * testing::weight(0), -3 * testing::weight(1)});
}

TEST(PopartOps, FunctionsOfTwoElements) {
  const Doubles y{1, 1, -1, -1, 0.25, -0.25, 2, 0.5};
  const Doubles x{2, -2, 2, -2, 0.125, -0.125, 0, -3};
  const std::string two = "double[N] x, double[N] y";
  const std::vector<Datum> inputs{list<double>(y), list<double>(x)};
  expect_near(popart_result(two, "Atan2 (x, y)", inputs),
              both(y, x, [](double a, double b) { return std::atan2(a, b); }), 1e-6);
  expect_gradients_of_differences(popart_text(two, "Atan2 (x, y)"), inputs);
  EXPECT_THAT(popart_result(two, "Atan2 (x, y)", {list<double>({0, 0}), list<double>({0, 2})}),
              ElementsAre(0, 0));
  const std::vector<Datum> rests{list<double>({5.5, -5.5, 5.5, -5.5, 4}), list<double>({3, 3, -3, -3, 2})};
  EXPECT_THAT(popart_result(two, "Fmod (x, y)", rests), ElementsAre(2.5, -2.5, 2.5, -2.5, 0));
  EXPECT_THAT(popart_result(two, "Remainder (x, y)", rests), ElementsAre(2.5, 0.5, -0.5, -2.5, 0));
  expect_gradients_of_differences(popart_text(two, "Remainder (x, y)"),
                                  {list<double>({5.5, -5.5}), list<double>({3, 3})});
  EXPECT_THAT(popart_result("double[N] x", "IncrementMod <increment = 1.0, modulus = 3.0> (x)",
                            {list<double>({0, 1, 2})}),
              ElementsAre(1, 2, 0));
  const auto ints =
      run_text("g (int32[2] a, int32[2] b) => (int32[] r) { r = ai.graphcore.Remainder (a, b) }",
               {list<std::int32_t>({-5, 5}), list<std::int32_t>({3, -3})});
  EXPECT_THAT(values<std::int32_t>(ints[0]), ElementsAre(1, -1));
}

TEST(PopartOps, ScaledAddHasItsScalesAsAttributesOrInputs) {
  const std::string two = "double[N] x, double[N] y";
  const std::vector<Datum> inputs{list<double>({1, 2}), list<double>({10, 20})};
  const std::string with_attributes = "ScaledAdd <scale0 = 0.5, scale1 = 2.0> (x, y)";
  EXPECT_THAT(popart_result(two, with_attributes, inputs), ElementsAre(20.5, 41));
  expect_gradients_of_differences(popart_text(two, with_attributes), inputs);
  EXPECT_THAT(popart_result(two + ", float a, float b", "ScaledAdd (x, y, a, b)",
                            {inputs[0], inputs[1], tensor<float>({}, {3}), tensor<float>({}, {-1})}),
              ElementsAre(-7, -14));
}

TEST(PopartOps, BitwiseOpsAreThoseOfOnnx) {
  const auto out = run_text(
      "g (uint32[1] a, uint32[1] b) => (uint32[] p, uint32[] q, uint32[] r, uint32[] s, uint32[] t) { "
      "p = ai.graphcore.BitwiseAnd (a, b) q = ai.graphcore.BitwiseOr (a, b) r = ai.graphcore.BitwiseXor (a, b) "
      "s = ai.graphcore.BitwiseXnor (a, b) t = ai.graphcore.BitwiseNot (a) }",
      {list<std::uint32_t>({12}), list<std::uint32_t>({10})});
  std::vector<std::uint32_t> found;
  for (const Datum& result : out) found.push_back(values<std::uint32_t>(result)[0]);
  EXPECT_THAT(found, ElementsAre(8, 14, 6, ~6U, ~12U));
}

TEST(PopartOps, SlicesHaveTheirPlacesAsAttributes) {
  const Tensor x = tensor<double>({2, 4}, {0, 1, 2, 3, 10, 11, 12, 13});
  const std::string one = "double[2,4] x";
  const auto check = [&](const std::string& call, const Doubles& wanted) {
    EXPECT_THAT(popart_result(one, call, {x}), ElementsAreArray(wanted)) << call;
    expect_gradients_of_differences(popart_text(one, call), {x});
  };
  check("Subsample <strides = [1, 3]> (x)", {0, 3, 10, 13});
  check("Reverse <dimensions = [1]> (x)", {3, 2, 1, 0, 13, 12, 11, 10});
  check("Reverse <dimensions = [0, 1]> (x)", {13, 12, 11, 10, 3, 2, 1, 0});
  check("Slice <starts = [1], ends = [3], axes = [1]> (x)", {1, 2, 11, 12});
  check("Reshape <shape = [4, -1]> (x)", {0, 1, 2, 3, 10, 11, 12, 13});
}

TEST(PopartOps, DepthBecomesSpaceInBothOrders) {
  const Tensor x = tensor<double>({1, 4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(popart_result("double[1,4,1,2] x", "DepthToSpace <blocksize = 2> (x)", {x}),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(PopartOps, InitGivesZerosOfATypeAsPopartCountsThem) {
  const auto out = run_text(
      "g (float[2] x) => (float16[] h, int32[] i, float[] y) { h = ai.graphcore.Init <shape = [2], data_type = 10, "
      "init_type = 1, tensor_type = 0, batch_axis = -1> () i = ai.graphcore.Init <shape = [1, 2], data_type = 4> () "
      "y = Identity (x) }",
      {list<float>({1, 2})});
  EXPECT_EQ(out[0].tensor.type(), ir::DataType::Float16);
  EXPECT_THAT(values<std::int32_t>(out[1]), ElementsAre(0, 0));
  EXPECT_EQ(out[1].tensor.dims(), (ir::Dims{1, 2}));
}

TEST(PopartOps, LossesAreSummedAveragedOrLeft) {
  const Tensor x = tensor<double>({2, 2}, {1, -2, 3, -4});
  const std::string one = "double[2,2] x";
  EXPECT_THAT(popart_result(one, "L1 <lambda = 0.5, reduction = \"Sum\"> (x)", {x}), ElementsAre(5));
  EXPECT_THAT(popart_result(one, "L1 <lambda = 0.5, reduction = \"Mean\"> (x)", {x}), ElementsAre(1.25));
  EXPECT_THAT(popart_result(one, "L1 <lambda = 0.5, reduction = \"None\"> (x)", {x}),
              ElementsAre(0.5, 1, 1.5, 2));
  EXPECT_THAT(popart_result(one, "IdentityLoss <reduction = \"Sum\"> (x)", {x}), ElementsAre(-2));
  EXPECT_THAT(popart_result(one, "IdentityLoss (x)", {x}), ElementsAre(-0.5));
  EXPECT_THAT(popart_result(one, "IdentityLoss <reduction = \"None\"> (x)", {x}), ElementsAre(1, -2, 3, -4));
  for (const char* reduction : {"Sum", "Mean", "None"}) {
    const std::string attribute = std::string("reduction = \"") + reduction + "\"> (x)";
    expect_gradients_of_differences(popart_text(one, "L1 <lambda = 0.5, " + attribute), {x});
    expect_gradients_of_differences(popart_text(one, "IdentityLoss <" + attribute), {x});
  }
}

TEST(PopartOps, NllIsOfProbabilitiesOrTheirLogarithms) {
  const Tensor p = tensor<double>({2, 2, 3}, {0.5, 0.25, 0.25, 0.1, 0.8, 0.1, 0.2, 0.3, 0.5, 0.6, 0.2, 0.2});
  const Datum labels = tensor<std::int32_t>({2, 2}, {0, 1, 2, 0});
  const std::string inputs = "double[2,2,3] x, int32[2,2] l";
  const Doubles each_loss{-std::log(0.5), -std::log(0.8), -std::log(0.5), -std::log(0.6)};
  const double sum = each_loss[0] + each_loss[1] + each_loss[2] + each_loss[3];
  const auto call = [](const std::string& attributes) { return "Nll <" + attributes + "> (x, l)"; };
  expect_near(popart_result(inputs, call("reduction = \"None\""), {p, labels}), each_loss);
  expect_near(popart_result(inputs, call("reduction = \"Sum\""), {p, labels}), {sum});
  expect_near(popart_result(inputs, call("reduction = \"Mean\", ignoreIndex = 0"), {p, labels}),
              {(each_loss[1] + each_loss[2]) / 2});
  expect_near(popart_result(inputs, call("reduction = \"Sum\", inputIsLogProbability = 1"), {p, labels}),
              {-2.4});
  expect_near(popart_result(inputs, call("reduction = \"Sum\""),
                            {tensor<double>({2, 2, 3}, {0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0}), labels}),
              {-std::log(1e-7)}, 1e-6);
  for (const char* reduction : {"None", "Sum", "Mean"}) {
    expect_gradients_of_differences(
        popart_text(inputs, call(std::string("reduction = \"") + reduction + "\"")), {p, labels});
  }
}

TEST(PopartOps, SayWhatTheyDoNotTake) {
  const auto refusal_of = [](const std::string& call) {
    return testing::refusal([&] { testing::model_of(popart_text("double[2,2] x", call)); });
  };
  EXPECT_THAT(refusal_of("L1 <lambda = 1.0, reduction = \"mean\"> (x)"),
              HasSubstr("reduction is 'mean', Sum, Mean or None needed"));
  EXPECT_THAT(refusal_of("Scale (x)"), HasSubstr("attribute 'scale' is missing"));
  EXPECT_THAT(refusal_of("Subsample <strides = [0, 1]> (x)"), HasSubstr("a stride of 0 found"));
  EXPECT_THAT(refusal_of("DynamicZero <axes = [7], sizes = [1]> (x, x)"),
              HasSubstr("axis 7 found, 0 to 1 needed"));
  EXPECT_THAT(refusal_of("ScatterReduce <axis = 5, axis_size = 2> (x, x)"),
              HasSubstr("axis is none of the 2 axes"));
  EXPECT_THAT(refusal_of("MultiConv <numConvs = -1> (x, x)"), HasSubstr("numConvs is -1, 1 or more needed"));
  EXPECT_EQ(refusal_of("Scale <scale = 1.0> (x)"), "");
}

}  // namespace
}  // namespace podium
