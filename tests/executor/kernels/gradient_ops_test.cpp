// The private ops of gradients: floats against doubles, narrow floats against floats, any number of threads.
// That the doubles are right is for the differences in tests/executor/gradients to say.
#include <gtest/gtest.h>

#include <cmath>

#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "ir/work.h"
#include "tests/support/fusing.h"
#include "tests/support/run_op.h"

namespace podium::kernels {
namespace {

using testing::random_floats;
using Attributes = std::vector<ir::Attribute>;

struct Call {
  std::string_view name;
  std::vector<Tensor> inputs;  // floats are converted to the type asked for
  Attributes attributes;
  std::size_t outputs = 1;
  std::string_view domain = "podium";
};

Tensor as_type(const Tensor& x, DataType type) {
  if (x.type() != DataType::Float || type == DataType::Float) return x;
  Tensor result(type, x.dims());
  if (type == DataType::Double) {
    std::copy_n(x.data<float>(), x.size(), result.data<double>());
  } else {
    from_float(x.data<float>(), result, 0, x.size());
  }
  return result;
}

std::vector<Tensor> run(const Call& call, DataType type) {
  std::vector<Datum> inputs;
  for (const Tensor& input : call.inputs) inputs.emplace_back(input.defined() ? as_type(input, type) : input);
  std::vector<Tensor> results;
  for (const Datum& result :
       testing::run_op_outputs(call.domain, call.name, inputs, call.attributes, call.outputs)) {
    results.push_back(result.tensor);
  }
  return results;
}

// Within `tolerance` of what doubles give, relative to the largest of them.
void expect_close_to_doubles(const Call& call, DataType type, double tolerance) {
  const std::vector<Tensor> found = run(call, type);
  const std::vector<Tensor> expected = run(call, DataType::Double);
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(found[k].type(), type);
    ASSERT_EQ(found[k].dims(), expected[k].dims());
    const std::span<const double> wanted = std::as_const(expected[k]).values<double>();
    double most = 0;
    for (const double number : wanted) most = std::max(most, std::fabs(number));
    ASSERT_GT(most, 0);
    const Tensor numbers = as_float(found[k]);
    for (std::int64_t i = 0; i < numbers.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(numbers.data<float>()[i]), wanted[i], tolerance * most)
          << call.name << " element " << i;
    }
  }
}

void expect_right_in_every_type(const Call& call) {
  expect_close_to_doubles(call, DataType::Float, 1e-5);
  expect_close_to_doubles(call, DataType::Float16, 5e-3);
  expect_close_to_doubles(call, DataType::Bfloat16, 4e-2);
  const std::vector<Tensor> on_all = run(call, DataType::Float);
  const ThreadLimit limit(1);
  const std::vector<Tensor> on_one = run(call, DataType::Float);
  for (std::size_t k = 0; k < on_all.size(); ++k) EXPECT_TRUE(identical(on_all[k], on_one[k])) << call.name;
}

Attributes window(ir::IntList kernel, ir::IntList strides, ir::IntList dilations, ir::IntList pads,
                  Attributes more) {
  Attributes all{{"kernel_shape", std::move(kernel)},
                 {"strides", std::move(strides)},
                 {"dilations", std::move(dilations)},
                 {"pads", std::move(pads)}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(ConvWeightGradient, IsRightInEveryTypeOnAnyNumberOfThreads) {
  const auto group = [](std::int64_t count) { return Attributes{{"group", count}}; };
  const std::vector<Call> calls{
      {"ConvWeightGradient",
       {random_floats({3, 40, 24, 70}, 1), random_floats({3, 24, 24, 70}, 2)},
       window({3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, {})},
      {"ConvWeightGradient",
       {random_floats({2, 3, 75, 64}, 1), random_floats({2, 16, 38, 32}, 2)},
       window({7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}, {})},
      {"ConvWeightGradient",
       {random_floats({2, 32, 30, 30}, 1), random_floats({2, 32, 14, 26}, 2)},
       window({3, 3}, {2, 1}, {1, 2}, {0, 0, 0, 0}, group(32))},
      {"ConvWeightGradient",
       {random_floats({2, 64, 33, 9}, 1), random_floats({2, 48, 33, 9}, 2)},
       window({1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, group(2))},
      {"ConvWeightGradient",
       {random_floats({4, 6, 900}, 1), random_floats({4, 8, 300}, 2)},
       window({5}, {3}, {1}, {1, 1}, group(2))},
      {"ConvWeightGradient",
       {random_floats({2, 5, 6, 20, 20}, 1), random_floats({2, 7, 6, 20, 20}, 2)},
       window({3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {})},
  };
  for (const Call& call : calls) expect_right_in_every_type(call);
}

TEST(ConvWeightGradient, HasTheWorkOfTheConvolution) {
  testing::Sketch s;
  const ir::ValueId y =
      s.op("Conv", {s.input({2, 4, 6, 6}), s.weight({8, 2, 3, 3})}, {{"group", std::int64_t{2}}});
  s.builder.ops("podium", "ConvWeightGradient", {s.input({2, 4, 6, 6}), y}, 1,
                window({3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {{"group", std::int64_t{2}}}));
  const auto work = [&](std::size_t i) { return ir::work_of(ir::TypedOp(s.graph, s.graph.ops[i])); };
  EXPECT_EQ(work(0).flop, 2.0 * 2 * 8 * 16 * 2 * 9);
  EXPECT_EQ(work(1).flop, work(0).flop);
  EXPECT_EQ(ir::TypedOp(s.graph, s.graph.ops[1]).output(0).dims, (Dims{8, 2, 3, 3}));
}

// With respect to its input a convolution has the other one as gradient; weights are not known before the
// run.
TEST(Convolutions, AreRightInEveryTypeOnAnyNumberOfThreads) {
  const auto convolution = [](std::string_view name, Dims x, Dims w, Attributes attributes) {
    const Tensor bias = random_floats({name == "Conv" ? w[0] : w[1] * 2}, 3);
    attributes.push_back({"group", std::int64_t{name == "Conv" && w[1] == x[1] ? 1 : 2}});
    return Call{name,
                {random_floats(std::move(x), 1), random_floats(std::move(w), 2), bias},
                std::move(attributes),
                1,
                ""};
  };
  const ir::IntList ones{1, 1, 1, 1};
  expect_right_in_every_type(convolution("Conv", {3, 40, 24, 70}, {24, 40, 3, 3}, {{"pads", ones}}));
  expect_right_in_every_type(
      convolution("Conv", {2, 3, 63, 64}, {32, 3, 7, 7}, {{"strides", ir::IntList{2, 2}}}));
  expect_right_in_every_type(
      convolution("Conv", {2, 64, 20, 9}, {48, 32, 3, 1}, {{"dilations", ir::IntList{2, 1}}}));
  expect_right_in_every_type(convolution("ConvTranspose", {2, 64, 17, 9}, {64, 24, 3, 3},
                                         {{"pads", ones}, {"strides", ir::IntList{2, 1}}}));
  expect_right_in_every_type(
      convolution("ConvTranspose", {2, 32, 15, 17}, {32, 16, 3, 3},
                  {{"pads", ones}, {"strides", ir::IntList{2, 2}}, {"output_padding", ir::IntList{1, 3}}}));
  expect_right_in_every_type(
      convolution("ConvTranspose", {2, 32, 150}, {32, 16, 4}, {{"strides", ir::IntList{3}}}));
  expect_right_in_every_type(convolution("Conv", {1, 16, 6, 12, 20}, {32, 16, 3, 3, 3}, {}));
  expect_right_in_every_type(
      convolution("ConvTranspose", {2, 32, 15, 17}, {32, 5, 5, 2}, {{"strides", ir::IntList{3, 2}}}));
}

TEST(PoolGradients, AreRightInEveryTypeOnAnyNumberOfThreads) {
  const Tensor flow = random_floats({2, 16, 23, 32}, 1);
  const Tensor x = random_floats({2, 16, 45, 63}, 2);
  for (const ir::IntList& dilations : {ir::IntList{1, 1}, ir::IntList{1, 2}}) {
    const ir::IntList pads{1, dilations[1], 1, dilations[1]};
    expect_right_in_every_type(
        {"SumPoolGradient",
         {flow},
         window({3, 3}, {2, 2}, dilations, pads, {{"input_shape", ir::IntList{45, 63}}})});
    // Narrow floats may have another maximum than doubles.
    const Call maxima{"MaxPoolGradient", {x, flow}, window({3, 3}, {2, 2}, dilations, pads, {})};
    expect_close_to_doubles(maxima, DataType::Float, 1e-5);
    const std::vector<Tensor> on_all = run(maxima, DataType::Float);
    const ThreadLimit limit(1);
    EXPECT_TRUE(identical(on_all[0], run(maxima, DataType::Float)[0]));
  }
}

// Of equal numbers the first one of a window gets all, of a NaN and numbers the NaN; what no window sees gets
// nothing.
TEST(MaxPoolGradient, GivesToTheFirstOfTheLargestInWindowsSideBySide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float low = -std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({1, 1, 3, 9}, {1,   2, 5, 5, nan, 3,   low, low, 9,  //
                                                    3,   0, 5, 4, 8,   nan, low, low, 9,  //
                                                    100, 0, 0, 0, 0,   0,   0,   0,   9});
  const Tensor flow = Tensor::of<float>({1, 1, 1, 4}, {10, 20, 30, 40});
  const Call call{"MaxPoolGradient", {x, flow}, window({2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {})};
  const Tensor expected = Tensor::of<float>({1, 1, 3, 9}, {0,  0, 20, 0, 30, 0, 40, 0, 0,  //
                                                           10, 0, 0,  0, 0,  0, 0,  0, 0,  //
                                                           0,  0, 0,  0, 0,  0, 0,  0, 0});
  EXPECT_TRUE(identical(run(call, DataType::Float)[0], expected));
  const Call random{"MaxPoolGradient",
                    {random_floats({2, 3, 9, 41}, 1), random_floats({2, 3, 4, 20}, 2)},
                    window({2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {})};
  // Windows that begin in the padding of one more row find the same maxima another way.
  Tensor moved(DataType::Float, {2, 3, 10, 41});
  std::fill_n(moved.data<float>(), moved.size(), -100.0F);
  Tensor moved_flow(DataType::Float, {2, 3, 5, 20});
  std::fill_n(moved_flow.data<float>(), moved_flow.size(), 0.0F);
  for (std::int64_t plane = 0; plane < 6; ++plane) {
    std::copy_n(std::as_const(random.inputs[0]).data<float>() + plane * 9 * 41, 8 * 41,
                moved.data<float>() + (plane * 10 + 1) * 41);
    std::copy_n(std::as_const(random.inputs[1]).data<float>() + plane * 80, 80,
                moved_flow.data<float>() + plane * 100 + 20);
  }
  const Tensor found = run(random, DataType::Float)[0];
  const Tensor other =
      run({"MaxPoolGradient", {moved, moved_flow}, window({2, 2}, {2, 2}, {1, 1}, {1, 0, 0, 0}, {})},
          DataType::Float)[0];
  for (std::int64_t plane = 0; plane < 6; ++plane) {
    for (std::int64_t i = 0; i < 8 * 41; ++i) {
      ASSERT_EQ(found.data<float>()[plane * 9 * 41 + i], other.data<float>()[(plane * 10 + 1) * 41 + i]);
    }
  }
}

TEST(ResampleGradients, AreRightInEveryTypeOnAnyNumberOfThreads) {
  const Tensor sizes = Tensor::ints({2, 8, 60, 41});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const Attributes resize{{"mode", std::string(mode)}, {"input_shape", ir::IntList{2, 8, 33, 70}}};
    expect_right_in_every_type({"ResizeGradient", {random_floats({2, 8, 60, 41}, 1), {}, {}, sizes}, resize});
  }
  const Tensor x = random_floats({2, 9, 40, 31}, 1);
  const Tensor flow = random_floats({2, 9, 50, 32}, 2);
  // Multiples of 1/64, so that every type sees the same points.
  Tensor grid = random_floats({2, 50, 32, 2}, 3);
  for (std::int64_t i = 0; i < grid.size(); ++i)
    grid.data<float>()[i] = std::round(grid.data<float>()[i] * 64) / 64;
  const Attributes cubic{{"mode", std::string("cubic")}, {"padding_mode", std::string("reflection")}};
  expect_right_in_every_type({"GridSampleGridGradient", {x, grid, flow}, cubic});
  Attributes shaped = cubic;
  shaped.push_back({"input_shape", ir::IntList{2, 9, 40, 31}});
  expect_right_in_every_type({"GridSampleInputGradient", {grid, flow}, shaped});
}

TEST(LSTMGradient, IsRightInEveryTypeOnAnyNumberOfThreads) {
  const Tensor r = random_floats({4 * 96, 96}, 2);
  for (const char* direction : {"forward", "reverse"}) {
    expect_right_in_every_type({"LSTMGradient",
                                {random_floats({9, 12, 4 * 96}, 1), r, random_floats({9, 12, 96}, 3)},
                                {{"direction", std::string(direction)}}});
    const Tensor lengths = Tensor::of<std::int32_t>({3}, {4, 0, 2});
    expect_right_in_every_type({"LSTMGradient",
                                {random_floats({4, 3, 4 * 96}, 1),
                                 r,
                                 {},
                                 random_floats({3, 96}, 4),
                                 random_floats({3, 96}, 5),
                                 random_floats({3, 96}, 6),
                                 lengths},
                                {{"direction", std::string(direction)}},
                                3});
  }
}

TEST(GRUGradient, IsRightInEveryTypeOnAnyNumberOfThreads) {
  const Tensor r = random_floats({3 * 96, 96}, 2);
  for (const std::int64_t after : {0, 1}) {
    for (const char* direction : {"forward", "reverse"}) {
      const Attributes attributes{{"direction", std::string(direction)}, {"linear_before_reset", after}};
      expect_right_in_every_type({"GRUGradient",
                                  {random_floats({9, 12, 3 * 96}, 1), random_floats({9, 12, 3 * 96}, 3),
                                   random_floats({9, 12, 96}, 4), r, random_floats({9, 12, 96}, 5)},
                                  attributes,
                                  2});
      const Tensor lengths = Tensor::of<std::int32_t>({3}, {4, 0, 2});
      expect_right_in_every_type({"GRUGradient",
                                  {random_floats({4, 3, 3 * 96}, 1),
                                   random_floats({4, 3, 3 * 96}, 3),
                                   random_floats({4, 3, 96}, 4),
                                   r,
                                   {},
                                   random_floats({3, 96}, 5),
                                   lengths},
                                  attributes,
                                  3});
    }
  }
}

TEST(RNNGradient, IsRightInEveryTypeOnAnyNumberOfThreads) {
  // What flows back through many steps stays within a half's range.
  Tensor r = random_floats({96, 96}, 2);
  for (std::int64_t i = 0; i < r.size(); ++i) r.data<float>()[i] /= 16;
  for (const char* activation : {"Tanh", "Relu", "Sigmoid"}) {
    for (const char* direction : {"forward", "reverse"}) {
      const Attributes attributes{{"direction", std::string(direction)},
                                  {"activation", std::string(activation)}};
      expect_right_in_every_type(
          {"RNNGradient", {random_floats({9, 12, 96}, 1), r, random_floats({9, 12, 96}, 3)}, attributes});
      const Tensor lengths = Tensor::of<std::int32_t>({3}, {4, 0, 2});
      expect_right_in_every_type({"RNNGradient",
                                  {random_floats({4, 3, 96}, 1), r, {}, random_floats({3, 96}, 4), lengths},
                                  attributes,
                                  2});
    }
  }
}

TEST(RegionGradients, AreRightInEveryType) {
  const Tensor x = random_floats({2, 3, 12, 13}, 1);
  const Tensor flow = random_floats({3, 3, 4, 2}, 2);
  const Tensor corners = Tensor::of<float>({3, 4}, {0, 0, 7, 9, 2, 1, 12, 6, 1, 1, 3, 3});
  const Attributes size{{"output_height", std::int64_t{4}}, {"output_width", std::int64_t{2}}};
  expect_right_in_every_type({"RoiAlignGradient", {x, corners, Tensor::ints({1, 0, 1}), flow}, size});
  Attributes largest = size;
  largest.push_back({"mode", std::string("max")});
  const Tensor of = random_floats({2, 3, 12, 13}, 3);
  expect_close_to_doubles({"RoiAlignChoice", {x, corners, Tensor::ints({1, 0, 1}), of}, largest},
                          DataType::Float, 1e-6);
  const Tensor rois = Tensor::of<float>({3, 5}, {1, 0, 0, 7, 9, 0, 2, 1, 12, 6, 1, 1, 1, 3, 3});
  expect_close_to_doubles({"MaxRoiPoolChoice", {x, rois, of}, {{"pooled_shape", ir::IntList{4, 2}}}},
                          DataType::Float, 1e-6);
  expect_close_to_doubles({"MaxRoiPoolGradient", {x, rois, flow}, {{"pooled_shape", ir::IntList{4, 2}}}},
                          DataType::Float, 1e-6);
}

TEST(RegionGradients, RefuseAnImageThatIsNotThere) {
  const Tensor corners = Tensor::of<float>({1, 4}, {0, 0, 1, 1});
  EXPECT_THROW(
      run({"RoiAlignGradient",
           {random_floats({1, 1, 2, 2}, 1), corners, Tensor::ints({1}), random_floats({1, 1, 1, 1}, 2)},
           {}},
          DataType::Float),
      Error);
}

}  // namespace
}  // namespace podium::kernels
