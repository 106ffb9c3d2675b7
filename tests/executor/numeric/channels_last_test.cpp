#include "executor/numeric/channels_last.h"

#include <algorithm>
#include <cstring>

#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::Dims;
using ir::IntList;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

TEST(ChannelsLast, KeepsTheLayoutBetweenConvolutions) {
  Sketch s;
  const ValueId x = s.input({1, 3, 5, 5});
  ValueId y = s.op("Conv", {x, s.weight({4, 3, 3, 3})});
  y = s.op("Relu", {y});
  s.output(s.op("Conv", {y, s.weight({2, 4, 1, 1})}));
  EXPECT_TRUE(channels_last(s.graph));
  EXPECT_EQ(
      ops_of(s.graph),
      "x0:3 = podium.ToChannelsLast(x0)\n"
      "Conv:0:4 = podium.Convolution(x0:3, w1) {group=1, strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
      "Relu:1:5 = Relu(Conv:0:4)\n"
      "Conv:2:6 = podium.Convolution(Relu:1:5, w2) {group=1, strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
      "Conv:2 = podium.ToChannelsFirst(Conv:2:6)\n");
}

TEST(ChannelsLast, KeepsTheLayoutInOpsWhoseRowsAreElementwise) {
  Sketch s;
  ValueId y = s.op("Conv", {s.input({1, 3, 5, 5}), s.weight({4, 3, 3, 3})});
  y = s.op("Softsign", {y});
  y = s.op("Sum", {y, s.weight({4, 1, 1}), y});
  s.output(s.op("Conv", {y, s.weight({2, 4, 1, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(channels_last(s.graph));
  const std::string ops = ops_of(s.graph);
  EXPECT_EQ(ops.find("ToChannelsFirst"), ops.rfind("ToChannelsFirst")) << ops;
}

TEST(ChannelsLast, TakesAndGivesWhatLiesSoAlready) {
  Sketch s;
  const ValueId x = s.op("Relu", {s.input({1, 3, 4, 5})});
  s.output(s.op("MaxPool", {x}, {{"kernel_shape", IntList{2, 2}}}));
  s.output(s.op("Neg", {x}));
  EXPECT_TRUE(channels_last(s.graph, {.inputs = {true}, .outputs = {true, false}}));
  EXPECT_EQ(ops_of(s.graph),
            "Relu:0:4 = Relu(x0:3)\n"
            "MaxPool:1:5 = podium.Pool(Relu:0:4) "
            "{kind=\"max\", kernel_shape=[2,2], strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
            "Neg:2:6 = Neg(Relu:0:4)\n"
            "Neg:2 = podium.ToChannelsFirst(Neg:2:6)\n");
  EXPECT_EQ(s.graph[s.graph.inputs[0]].type.dims, (ir::Dims{1, 4, 5, 3}));
  EXPECT_EQ(s.graph[s.graph.outputs[0]].type.dims, (ir::Dims{1, 3, 4, 3}));
}

// Windows of 2 x 2 and of 3 x 2 whose strides are as large: a patch of each position.
TEST(ChannelsLast, MakesPatchesOfTransposedConvolutionsWithoutOverlap) {
  Sketch s;
  ValueId y = s.op("Conv", {s.input({2, 3, 5, 7}), s.weight({4, 3, 3, 3})});
  y = s.op("ConvTranspose", {y, s.weight({4, 8, 2, 2}), s.weight({8})}, {{"strides", IntList{2, 2}}});
  y = s.op("Relu", {y});
  s.output(s.op("ConvTranspose", {y, s.weight({8, 16, 3, 2})}, {{"strides", IntList{3, 2}}}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(channels_last(s.graph));
  EXPECT_EQ(
      ops_of(s.graph),
      "x0:4 = podium.ToChannelsLast(x0)\n"
      "Conv:0:5 = podium.Convolution(x0:4, w1) {group=1, strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
      "ConvTranspose:1:6 = podium.Patches(Conv:0:5, w2, w3)\n"
      "Relu:2:7 = Relu(ConvTranspose:1:6)\n"
      "ConvTranspose:3:8 = podium.Patches(Relu:2:7, w4)\n"
      "ConvTranspose:3 = podium.ToChannelsFirst(ConvTranspose:3:8)\n");
}

TEST(ChannelsLast, LeavesTransposedConvolutionsThatOverlapOrPadAlone) {
  const auto is_left = [](const IntList& kernel, std::vector<ir::Attribute> attributes) {
    Sketch s;
    s.output(s.op("ConvTranspose", {s.input({1, 4, 5, 5}), s.weight({4, 16, kernel[0], kernel[1]})},
                  std::move(attributes)));
    expect_same_when_fused(s.graph);
    return !channels_last(s.graph);
  };
  EXPECT_FALSE(is_left({2, 2}, {{"strides", IntList{2, 2}}}));
  EXPECT_TRUE(is_left({3, 3}, {{"strides", IntList{2, 2}}}));
  EXPECT_TRUE(is_left({2, 2}, {{"strides", IntList{3, 2}}}));
  EXPECT_TRUE(is_left({2, 2}, {{"strides", IntList{2, 2}}, {"pads", IntList{0, 1, 0, 1}}}));
  EXPECT_TRUE(is_left({2, 2}, {{"strides", IntList{2, 2}}, {"output_padding", IntList{1, 0}}}));
  EXPECT_TRUE(is_left({2, 2}, {{"strides", IntList{2, 2}}, {"dilations", IntList{1, 2}}}));
}

TEST(ChannelsLast, LeavesGraphsWithoutConvolutionAlone) {
  Sketch s;
  s.output(s.op("MaxPool", {s.input({1, 3, 4, 4})}, {{"kernel_shape", IntList{2, 2}}}));
  EXPECT_FALSE(channels_last(s.graph));
}

TEST(ChannelsLast, LeavesComputedWeightsAlone) {
  Sketch s;
  s.output(s.op("Conv", {s.input({1, 3, 4, 4}), s.input({2, 3, 3, 3})}));
  EXPECT_FALSE(channels_last(s.graph));
  expect_same_when_fused(s.graph);
}

TEST(ChannelsLast, GivesBothLayoutsOfAValueThatBothNeed) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({2, 3, 6, 6}), s.weight({4, 3, 3, 3})});
  s.output(s.op("Transpose", {y}, {{"perm", IntList{3, 2, 1, 0}}}));
  s.output(s.op("Conv", {y, s.weight({5, 4, 3, 3}), s.weight({5})}));
  expect_same_when_fused(s.graph);
}

TEST(ChannelsLast, StretchesPerChannelConstantsAlongTheOtherAxis) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({2, 3, 4, 5}), s.weight({4, 3, 1, 1})});
  ValueId z = s.op("Mul", {y, s.weight({4, 1, 1})});
  z = s.op("Add", {z, s.weight({5})});
  z = s.op("Sub", {s.number(2), z});
  s.output(s.op("Max", {z, s.weight({2, 4, 4, 5})}));
  expect_same_when_fused(s.graph);
}

TEST(ChannelsLast, MultipliesBySqueezedAndExcitedChannels) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({2, 3, 6, 6}), s.weight({8, 3, 3, 3})});
  ValueId gate = s.op("GlobalAveragePool", {y});
  gate = s.op("Sigmoid", {s.op("Conv", {gate, s.weight({8, 8, 1, 1}), s.weight({8})})});
  s.output(s.op("Mul", {y, gate}));
  expect_same_when_fused(s.graph);
}

int count(const std::string& text, std::string_view word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

ValueId floats(Sketch& s, const std::vector<float>& numbers) {
  ir::Tensor tensor(ir::DataType::Float, {std::ssize(numbers)});
  std::copy(numbers.begin(), numbers.end(), tensor.data<float>());
  return s.builder.constant(tensor, "floats");
}

TEST(ChannelsLast, KeepsTheLayoutInASplit) {
  Sketch s;
  const ValueId y = s.op("Relu", {s.op("Conv", {s.input({2, 3, 6, 6}), s.weight({8, 3, 3, 3})})});
  const std::vector<ValueId> parts =
      s.builder.ops("", "Split", {y, s.ints({3, 5})}, 2, {{"axis", std::int64_t{1}}});
  ValueId z = s.op("Conv", {parts[1], s.weight({5, 5, 1, 1})});
  z = s.op("Concat", {parts[0], z, parts[1]}, {{"axis", std::int64_t{1}}});
  s.output(s.op("Conv", {z, s.weight({4, 13, 1, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(channels_last(s.graph));
  const std::string ops = ops_of(s.graph);
  EXPECT_EQ(count(ops, "ToChannelsFirst"), 1) << ops;
  EXPECT_EQ(count(ops, "ToChannelsLast"), 1) << ops;
}

TEST(ChannelsLast, KeepsTheLayoutInAResize) {
  const ir::IntList spatial{-1, 2};
  struct Told {
    std::vector<float> roi;
    std::vector<float> scales;
    std::vector<std::int64_t> sizes;
    std::vector<ir::Attribute> attributes;
  };
  const std::string crop = "tf_crop_and_resize";
  const std::vector<Told> all{{{}, {1, 1, 2, 3}, {}, {{"mode", std::string("linear")}}},
                              {{}, {1, 1, 2, 3}, {}, {{"mode", std::string("nearest")}}},
                              {{}, {}, {2, 4, 9, 2}, {{"mode", std::string("cubic")}}},
                              {{}, {}, {7, 3}, {{"mode", std::string("linear")}, {"axes", spatial}}},
                              {{0, 0, 0.1F, 0.2F, 1, 1, 0.9F, 0.7F},
                               {},
                               {2, 4, 5, 7},
                               {{"mode", std::string("linear")}, {"coordinate_transformation_mode", crop}}}};
  for (const Told& told : all) {
    Sketch s;
    const ValueId y = s.op("Conv", {s.input({2, 3, 6, 5}), s.weight({4, 3, 3, 3})});
    std::vector<ValueId> inputs{y, ir::kNoValue, ir::kNoValue, ir::kNoValue};
    if (!told.roi.empty()) inputs[1] = floats(s, told.roi);
    if (!told.scales.empty()) inputs[2] = floats(s, told.scales);
    if (!told.sizes.empty()) inputs[3] = s.ints(told.sizes);
    s.output(s.op("Conv", {s.op("Resize", inputs, told.attributes), s.weight({5, 4, 2, 2})}));
    ir::Graph last = s.graph;
    EXPECT_TRUE(channels_last(last));
    const std::string ops = ops_of(last);
    EXPECT_EQ(count(ops, "ToChannelsFirst"), 1) << ops;
    expect_same_when_fused(s.graph);
  }
}

// As the layers of a DenseNet do: what joins earlier maps is normalised anew for each reader.
TEST(ChannelsLast, KeepsTheLayoutInABatchNormalization) {
  Sketch s;
  const ValueId x = s.op("Conv", {s.input({2, 3, 6, 6}), s.weight({4, 3, 3, 3})});
  ValueId y = s.op("BatchNormalization",
                   {x, s.weight({4}), s.weight({4}), s.weight({4}), floats(s, {0.5F, 1, 2, 3})});
  y = s.op("Conv", {s.op("Relu", {y}), s.weight({5, 4, 1, 1})});
  s.output(s.op("Conv", {s.op("Concat", {x, y}, {{"axis", std::int64_t{1}}}), s.weight({4, 9, 1, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(channels_last(s.graph));
  const std::string ops = ops_of(s.graph);
  EXPECT_EQ(count(ops, "ToChannelsFirst"), 1) << ops;
  EXPECT_EQ(count(ops, "BatchNormalization("), 0) << ops;
}

TEST(ChannelsLast, KeepsTheLayoutInASlice) {
  for (const bool names_axes : {false, true}) {
    Sketch s;
    const ValueId x = s.op("Conv", {s.input({3, 3, 7, 6}), s.weight({8, 3, 3, 3})});
    const ValueId y =
        names_axes ? s.op("Slice", {x, s.ints({5, 0}), s.ints({1, 4}), s.ints({-3, 2}), s.ints({-2, 2})})
                   : s.op("Slice", {x, s.ints({1, 2}), s.ints({3, 6})});
    s.output(s.op("Conv", {s.op("Relu", {y}), s.weight({5, names_axes ? 2 : 4, 1, 1})}));
    expect_same_when_fused(s.graph);
    EXPECT_TRUE(channels_last(s.graph));
    const std::string ops = ops_of(s.graph);
    EXPECT_EQ(count(ops, "ToChannelsFirst"), 1) << ops;
  }
}

// As exporters write a shuffle: 3 groups of 4 channels become 4 of 3.
ValueId shuffled(Sketch& s, ValueId x, IntList order) {
  const ValueId parts = s.op("Reshape", {x, s.ints({2, 3, 4, 5, 4})});
  return s.op("Reshape", {s.op("Transpose", {parts}, {{"perm", std::move(order)}}), s.ints({2, 12, 5, 4})});
}

TEST(ChannelsLast, KeepsTheLayoutInAShuffleOfChannels) {
  Sketch s;
  const ValueId x = s.op("Conv", {s.input({2, 3, 7, 6}), s.weight({12, 3, 3, 3})});
  const ValueId y =
      shuffled(s, s.op("Concat", {s.op("Relu", {x})}, {{"axis", std::int64_t{1}}}), {0, 2, 1, 3, 4});
  const ValueId half = s.op("Slice", {y, s.ints({6}), s.ints({12}), s.ints({1})});
  s.output(s.op("Conv", {half, s.weight({5, 6, 1, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(channels_last(s.graph));
  const std::string ops = ops_of(s.graph);
  EXPECT_EQ(count(ops, "ToChannelsFirst"), 1) << ops;
  EXPECT_NE(ops.find("{perm=[0,1,2,4,3]}"), std::string::npos) << ops;
}

TEST(ChannelsLast, LeavesATransposeOfOtherPartsAlone) {
  Sketch s;
  const ValueId x = s.op("Conv", {s.input({2, 3, 7, 6}), s.weight({12, 3, 3, 3})});
  s.output(s.op("Conv", {shuffled(s, x, {0, 2, 3, 1, 4}), s.weight({5, 12, 1, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(channels_last(s.graph));
  EXPECT_EQ(count(ops_of(s.graph), "ToChannelsFirst"), 2) << ops_of(s.graph);
}

TEST(ChannelsLast, KeepsTheLayoutInAPad) {
  for (const std::string mode : {"constant", "reflect", "edge"}) {
    for (const bool names_axes : {false, true}) {
      Sketch s;
      const ValueId x = s.op("Conv", {s.input({2, 3, 7, 6}), s.weight({4, 3, 3, 3})});
      const ValueId pads = names_axes ? s.ints({2, 0, -1, 3}) : s.ints({0, 0, 1, 2, 0, 0, 0, 3});
      std::vector<ValueId> inputs{x, pads, s.number(0.5F)};
      if (names_axes) inputs.push_back(s.ints({-1, 2}));
      s.output(s.op("Conv", {s.op("Pad", inputs, {{"mode", mode}}), s.weight({5, 4, 3, 3})}));
      expect_same_when_fused(s.graph);
      EXPECT_TRUE(channels_last(s.graph));
      const std::string ops = ops_of(s.graph);
      EXPECT_EQ(count(ops, "ToChannelsFirst"), 1) << ops;
    }
  }
}

// A convolution of one element by the unit matrix shows what it reads.
TEST(ChannelsLast, ResizesToTheSameBits) {
  for (const std::string mode : {"linear", "cubic", "nearest"}) {
    const auto made = [&](bool is_between_convolutions) {
      Sketch s;
      ValueId unit = s.weight({2, 2, 1, 1});
      const std::vector<float> numbers{1, 0, 0, 1};
      s.graph[unit].constant = ir::Tensor(ir::DataType::Float, {2, 2, 1, 1});
      std::copy(numbers.begin(), numbers.end(), s.graph[unit].constant->data<float>());
      ValueId y = s.input({2, 2, 7, 6});
      if (is_between_convolutions) y = s.op("Conv", {y, unit});
      y = s.op("Resize", {y, ir::kNoValue, floats(s, {1, 1, 2.5F, 1.5F})}, {{"mode", mode}});
      s.output(is_between_convolutions ? s.op("Conv", {y, unit}) : y);
      return testing::run_graph(s.graph, true)[0];
    };
    const ir::Tensor apart = made(false);
    const ir::Tensor between = made(true);
    ASSERT_EQ(between.type_and_dims(), apart.type_and_dims());
    EXPECT_EQ(std::memcmp(between.raw(), apart.raw(), apart.bytes()), 0) << mode;
  }
}

TEST(ChannelsLast, LeavesAResizeAloneThatNoConvolutionReads) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({1, 3, 6, 6}), s.weight({4, 3, 3, 3})});
  s.output(s.op("Relu", {s.op("Resize", {y, ir::kNoValue, floats(s, {1, 1, 4, 4})})}));
  EXPECT_TRUE(channels_last(s.graph));
  const std::string ops = ops_of(s.graph);
  EXPECT_LT(ops.find("ToChannelsFirst"), ops.find("Resize(")) << ops;
}

TEST(ChannelsLast, PoolsWithPaddingStridesAndRoundingUp) {
  const std::vector<ir::Attribute> window{{"kernel_shape", IntList{3, 2}},
                                          {"strides", IntList{2, 2}},
                                          {"pads", IntList{1, 0, 1, 1}},
                                          {"ceil_mode", std::int64_t{1}}};
  for (const char* pool : {"MaxPool", "AveragePool"}) {
    Sketch s;
    s.output(s.op(pool, {s.op("Conv", {s.input({2, 3, 8, 9}), s.weight({4, 3, 1, 1})})}, window));
    expect_same_when_fused(s.graph);
  }
}

TEST(ChannelsLast, AveragesWithPaddingCounted) {
  for (const std::int64_t ceil : {0, 1}) {
    Sketch s;
    const ValueId y = s.op("Conv", {s.input({1, 3, 8, 8}), s.weight({4, 3, 1, 1})});
    s.output(s.op("AveragePool", {y},
                  {{"kernel_shape", IntList{3, 3}},
                   {"strides", IntList{2, 2}},
                   {"pads", IntList{1, 1, 1, 1}},
                   {"count_include_pad", std::int64_t{1}},
                   {"ceil_mode", ceil}}));
    expect_same_when_fused(s.graph);
  }
}

TEST(ChannelsLast, TurnsTheMeanOverPositionsIntoAPool) {
  for (const std::int64_t keep : {0, 1}) {
    Sketch s;
    const ValueId y = s.op("Conv", {s.input({2, 3, 5, 4}), s.weight({6, 3, 1, 1})});
    const ValueId mean = s.op("ReduceMean", {y, s.ints({3, 2})}, {{"keepdims", keep}});
    s.output(s.op("Relu", {mean}));
    expect_same_when_fused(s.graph);
    channels_last(s.graph);
    EXPECT_NE(ops_of(s.graph).find("podium.Pool"), std::string::npos);
  }
}

TEST(ChannelsLast, TurnsTheMaximumOverPositionsIntoAPool) {
  for (const std::int64_t channels : {1, 6, 150}) {
    Sketch s;
    const ValueId y = s.op("Conv", {s.input({2, 3, 9, 7}), s.weight({channels, 3, 1, 1})});
    s.output(s.op("ReduceMax", {y, s.ints({2, -1})}, {{"keepdims", std::int64_t{0}}}));
    expect_same_when_fused(s.graph);
    channels_last(s.graph);
    EXPECT_NE(ops_of(s.graph).find("podium.Pool"), std::string::npos);
  }
}

TEST(ChannelsLast, LeavesTheMaximumOverSomePositionsAlone) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({2, 3, 9, 7}), s.weight({6, 3, 1, 1})});
  s.output(s.op("ReduceMax", {y, s.ints({2})}));
  expect_same_when_fused(s.graph);
  channels_last(s.graph);
  EXPECT_EQ(ops_of(s.graph).find("podium.Pool"), std::string::npos);
}

int moves_of_layout(const ir::Graph& graph) {
  return static_cast<int>(std::ranges::count_if(graph.ops, [](const ir::Op& op) {
    return op.is("ToChannelsLast", "podium") || op.is("ToChannelsFirst", "podium");
  }));
}

// The last place of a number of 8 bits of fraction is 0.004 of it.
TEST(ChannelsLast, ConvolvesAndPoolsNarrowFloatsInFloat) {
  for (const ir::DataType type : {ir::DataType::Float16, ir::DataType::Bfloat16}) {
    Sketch s;
    ValueId y = s.cast(s.input({2, 3, 12, 10}), type);
    y = s.op("Relu", {s.op("Conv", {y, s.narrow_weight({16, 3, 3, 3}, type), s.narrow_weight({16}, type)})});
    y = s.op("MaxPool", {y}, {{"kernel_shape", IntList{2, 2}}, {"strides", IntList{2, 2}}});
    const ValueId z = s.op("Conv", {y, s.narrow_weight({16, 16, 1, 1}, type)});
    y = s.op("Mul", {s.op("Add", {y, z}), s.narrow_weight({16, 1, 1}, type)});
    s.output(s.cast(s.op("GlobalAveragePool", {y}), ir::DataType::Float));
    expect_same_when_fused(s.graph, type == ir::DataType::Float16 ? 2e-3 : 1.6e-2);
    channels_last(s.graph);
    EXPECT_EQ(moves_of_layout(s.graph), 1) << ops_of(s.graph);
    EXPECT_NE(ops_of(s.graph).find("podium.Convolution"), std::string::npos);
  }
}

// Of few channels, whose numbers are repeated along rows, and of many.
TEST(ChannelsLast, NormalizesNarrowFloatsWhereTheyLie) {
  for (const std::int64_t channels : {8, 80}) {
    Sketch s;
    const auto of_channels = [&](Dims dims) {
      return s.narrow_weight(std::move(dims), ir::DataType::Float16);
    };
    const ValueId x = s.cast(s.input({2, 3, 20, 12}), ir::DataType::Float16);
    ValueId y = s.op("Conv", {x, of_channels({channels, 3, 3, 3})});
    ir::Tensor variance(ir::DataType::Float16, {channels});
    for (std::int64_t c = 0; c < channels; ++c)
      variance.data<ir::Float16>()[c] = ir::Float16(0.5F + 0.25F * static_cast<float>(c % 5));
    y = s.op("BatchNormalization",
             {y, of_channels({channels}), of_channels({channels}), of_channels({channels}),
              s.builder.constant(std::move(variance), "variance")});
    y = s.op("PRelu", {y, of_channels({channels, 1, 1})});
    y = s.op("Conv", {y, of_channels({16, channels, 1, 1})});
    s.output(s.cast(y, ir::DataType::Float));
    expect_same_when_fused(s.graph, 4e-3);
    channels_last(s.graph);
    EXPECT_EQ(moves_of_layout(s.graph), 2) << ops_of(s.graph);
    EXPECT_EQ(ops_of(s.graph).find("= BatchNormalization("), std::string::npos) << ops_of(s.graph);
  }
}

TEST(ChannelsLast, MakesFloatsOfNarrowOnesOnceForAllThatReadThem) {
  Sketch s;
  const ValueId x = s.cast(s.input({1, 8, 6, 6}), ir::DataType::Float16);
  for (int i = 0; i < 2; ++i)
    s.output(
        s.cast(s.op("Conv", {x, s.narrow_weight({4, 8, 1, 1}, ir::DataType::Float16)}), ir::DataType::Float));
  expect_same_when_fused(s.graph, 2e-3);
  channels_last(s.graph);
  const auto to_float = [](const ir::Op& op) {
    return op.is("Cast") &&
           ir::attribute<std::int64_t>(op, "to") == std::int64_t{static_cast<int>(ir::DataType::Float)};
  };
  EXPECT_EQ(std::ranges::count_if(s.graph.ops, to_float), 3) << ops_of(s.graph);
}

TEST(ChannelsLast, MovesNarrowFloatsInTheSameLayout) {
  Sketch s;
  const auto weight = [&](Dims dims) { return s.narrow_weight(std::move(dims), ir::DataType::Float16); };
  const ValueId x = s.cast(s.input({1, 3, 6, 5}), ir::DataType::Float16);
  const ValueId y = s.op("Conv", {x, weight({8, 3, 1, 1})});
  const auto halves = s.builder.ops("", "Split", {y, s.ints({3, 5})}, 2, {{"axis", std::int64_t{1}}});
  ValueId z = s.op("Pad", {halves[0], s.ints({0, 0, 1, 1, 0, 0, 1, 1})});
  z = s.op("Resize", {z, ir::kNoValue, floats(s, {1, 1, 2, 2})}, {{"mode", std::string("nearest")}});
  const ValueId cut = s.op("Slice", {halves[1], s.ints({0}), s.ints({4}), s.ints({2})});
  for (const auto& [part, channels] : {std::pair(z, 3), {cut, 5}})
    s.output(s.cast(s.op("Conv", {part, weight({4, channels, 1, 1})}), ir::DataType::Float));
  expect_same_when_fused(s.graph, 4e-3);
  channels_last(s.graph);
  EXPECT_EQ(moves_of_layout(s.graph), 3) << ops_of(s.graph);  // of what comes and of both results
}

TEST(ChannelsLast, QuantizesInTheSameLayout) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({1, 3, 6, 5}), s.weight({8, 3, 1, 1})});
  ir::Tensor zero(ir::DataType::Uint8, {});
  *zero.data<std::uint8_t>() = 100;
  const ValueId of_bytes = s.graph.add_constant("zero", std::move(zero));
  const ValueId bytes = s.op("QuantizeLinear", {y, s.number(0.02F), of_bytes});
  const ValueId x = s.op("DequantizeLinear", {bytes, s.number(0.02F), of_bytes});
  s.output(s.op("Conv", {x, s.weight({4, 8, 1, 1})}));
  expect_same_when_fused(s.graph, 0.05);  // a number between two quantized ones goes either way
  channels_last(s.graph);
  EXPECT_EQ(moves_of_layout(s.graph), 2) << ops_of(s.graph);
}

TEST(ChannelsLast, JoinsChannels) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({2, 3, 5, 5}), s.weight({4, 3, 3, 3})},
                         {{"auto_pad", std::string("SAME_LOWER")}});
  s.output(s.op("Concat", {y, s.input({2, 3, 5, 5})}, {{"axis", std::int64_t{-3}}}));
  s.output(s.op("Concat", {y, y}, {{"axis", std::int64_t{2}}}));
  expect_same_when_fused(s.graph);
}

TEST(ChannelsLast, ConvolvesInGroupsWithStridesAndDilations) {
  Sketch s;
  const ValueId x = s.input({2, 6, 11, 9});
  s.output(s.op("Conv", {x, s.weight({4, 3, 3, 2})},
                {{"group", std::int64_t{2}},
                 {"strides", IntList{2, 1}},
                 {"dilations", IntList{2, 3}},
                 {"pads", IntList{2, 0, 1, 3}}}));
  s.output(s.op(
      "Conv", {x, s.weight({6, 1, 3, 3}), s.weight({6})},
      {{"group", std::int64_t{6}}, {"auto_pad", std::string("SAME_UPPER")}, {"strides", IntList{2, 2}}}));
  expect_same_when_fused(s.graph);
}

TEST(ChannelsLast, ConvolvesLinesAndVolumes) {
  Sketch s;
  s.output(s.op("Conv", {s.input({2, 3, 9}), s.weight({4, 3, 3})}, {{"pads", IntList{1, 1}}}));
  s.output(s.op("Conv", {s.input({1, 2, 4, 5, 6}), s.weight({3, 2, 2, 3, 1}), s.weight({3})}));
  expect_same_when_fused(s.graph);
}

}  // namespace
}  // namespace podium::numeric
