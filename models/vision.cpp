// Image models: ResNet (He et al. 2015), ResNeXt (Xie et al. 2017), MobileNetV2 (Sandler et al. 2018), U-Net
// (Ronneberger et al. 2015). All are made of convolutions with their normalisation folded in or explicit
// (conv_norm): residual blocks of two or three, inverted residuals whose middle is depthwise, and a ladder of
// double convolutions down and up with skips. The head is a global average and a linear layer, U-Net's a
// convolution per pixel.
#include <array>
#include <tuple>

#include "ir/error.h"
#include "models/families.h"
#include "models/images.h"

namespace podium::models {
namespace {

using ir::DataType;
using ir::ValueId;

ValueId relu(Net& net, const std::string& name, ValueId x) { return net.op(name + "/Relu", "Relu", {x}); }

ValueId basic_block(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                    std::int64_t stride) {
  ValueId y = relu(net, name + "/relu1", conv_norm(net, name + "/conv1", x, in, out, 3, stride));
  y = conv_norm(net, name + "/conv2", y, out, out, 3);
  const ValueId skip =
      stride == 1 && in == out ? x : conv_norm(net, name + "/downsample", x, in, out, 1, stride);
  return relu(net, name + "/relu2", net.op(name + "/Add", "Add", {y, skip}));
}

// Whose middle convolution may be in groups.
ValueId bottleneck(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                   std::int64_t stride, std::int64_t middle, std::int64_t group) {
  ValueId y = relu(net, name + "/relu1", conv_norm(net, name + "/conv1", x, in, middle, 1));
  y = relu(net, name + "/relu2", conv_norm(net, name + "/conv2", y, middle, middle, 3, stride, group));
  y = conv_norm(net, name + "/conv3", y, middle, out, 1);
  const ValueId skip =
      stride == 1 && in == out ? x : conv_norm(net, name + "/downsample", x, in, out, 1, stride);
  return relu(net, name + "/relu3", net.op(name + "/Add", "Add", {y, skip}));
}

ValueId bottleneck_block(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                         std::int64_t stride) {
  return bottleneck(net, name, x, in, out, stride, out / 4, 1);
}

// 32 groups of 4 channels in the first layer, of twice as many in each that follows.
ValueId resnext_block(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                      std::int64_t stride) {
  return bottleneck(net, name, x, in, out, stride, out / 2, 32);
}

using BlockBuilder = ValueId (*)(Net&, const std::string&, ValueId, std::int64_t, std::int64_t, std::int64_t);

BuiltModel resnet(const Recipe& recipe, BlockBuilder block, std::array<std::int64_t, 4> blocks,
                  std::int64_t widen) {
  Net net(recipe);
  ValueId x =
      relu(net, "relu",
           conv_norm(net, "conv1", colour_image_input(net, net.recipe().number("image")), 3, 64, 7, 2));
  x = net.op("maxpool/MaxPool", "MaxPool", {x},
             {{"kernel_shape", ir::IntList{3, 3}},
              {"strides", ir::IntList{2, 2}},
              {"pads", ir::IntList{1, 1, 1, 1}}});
  std::int64_t channels = 64;
  for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
    const std::int64_t out = (std::int64_t{64} << layer) * widen;
    for (std::int64_t i = 0; i < blocks[layer]; ++i) {
      const std::int64_t stride = layer > 0 && i == 0 ? 2 : 1;
      x = block(net, fmt::format("layer{}/{}", layer + 1, i), x, channels, out, stride);
      channels = out;
    }
  }
  classify_features(net, x, channels);
  return finish_images(net);
}

BuiltModel resnet18(const Recipe& recipe) { return resnet(recipe, basic_block, {2, 2, 2, 2}, 1); }
BuiltModel resnet50(const Recipe& recipe) { return resnet(recipe, bottleneck_block, {3, 4, 6, 3}, 4); }
BuiltModel resnext101(const Recipe& recipe) { return resnet(recipe, resnext_block, {3, 4, 23, 3}, 4); }

ValueId relu6(Net& net, const std::string& name, ValueId x) {
  return net.op(name + "/Clip", "Clip", {x, net.scalar(0), net.scalar(6)});
}

ValueId inverted_residual(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                          std::int64_t stride, std::int64_t expand) {
  const std::int64_t middle = in * expand;
  ValueId y = x;
  if (expand != 1) y = relu6(net, name + "/relu1", conv_norm(net, name + "/expand", y, in, middle, 1));
  y = relu6(net, name + "/relu2", conv_norm(net, name + "/depthwise", y, middle, middle, 3, stride, middle));
  y = conv_norm(net, name + "/project", y, middle, out, 1);
  return stride == 1 && in == out ? net.op(name + "/Add", "Add", {x, y}) : y;
}

BuiltModel mobilenet_v2(const Recipe& recipe) {
  Net net(recipe);
  struct Group {
    std::int64_t expand, channels, blocks, stride;
  };
  constexpr std::array<Group, 7> kGroups{{{1, 16, 1, 1},
                                          {6, 24, 2, 2},
                                          {6, 32, 3, 2},
                                          {6, 64, 4, 2},
                                          {6, 96, 3, 1},
                                          {6, 160, 3, 2},
                                          {6, 320, 1, 1}}};
  ValueId x = relu6(
      net, "features/0/relu",
      conv_norm(net, "features/0/conv", colour_image_input(net, net.recipe().number("image")), 3, 32, 3, 2));
  std::int64_t channels = 32;
  int index = 1;
  for (const Group& group : kGroups) {
    for (std::int64_t i = 0; i < group.blocks; ++i) {
      const std::string name = fmt::format("features/{}", index++);
      x = inverted_residual(net, name, x, channels, group.channels, i == 0 ? group.stride : 1, group.expand);
      channels = group.channels;
    }
  }
  x = relu6(net, "features/18/relu", conv_norm(net, "features/18/conv", x, channels, 1280, 1));
  classify_features(net, x, 1280);
  return finish_images(net);
}

ValueId double_conv(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out) {
  x = relu(net, name + "/relu1", conv_norm(net, name + "/conv1", x, in, out, 3));
  return relu(net, name + "/relu2", conv_norm(net, name + "/conv2", x, out, out, 3));
}

ValueId upsample(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out) {
  const ValueId weight = net.weight(name + ".weight", {in, out, 2, 2}, static_cast<double>(in * 4));
  const ValueId bias = net.filled(name + ".bias", {out}, 0);
  return net.op(name + "/ConvTranspose", "ConvTranspose", {x, weight, bias},
                {{"kernel_shape", ir::IntList{2, 2}}, {"strides", ir::IntList{2, 2}}});
}

// depth levels down and up again, with skip connections.
BuiltModel unet(const Recipe& recipe) {
  Net net(recipe);
  const std::int64_t depth = recipe.number("depth");
  if (recipe.number("image") % (std::int64_t{1} << depth) != 0) {
    throw Error("model unet: image {} found, a multiple of {} needed", recipe.number("image"), 1 << depth);
  }
  std::vector<std::tuple<ValueId, std::int64_t>> skips;
  std::int64_t channels = recipe.number("channels");
  ValueId x = double_conv(net, "down0", colour_image_input(net, net.recipe().number("image")), 3, channels);
  for (std::int64_t i = 1; i <= depth; ++i) {
    skips.emplace_back(x, channels);
    x = net.op(fmt::format("pool{}/MaxPool", i), "MaxPool", {x},
               {{"kernel_shape", ir::IntList{2, 2}}, {"strides", ir::IntList{2, 2}}});
    x = double_conv(net, fmt::format("down{}", i), x, channels, channels * 2);
    channels *= 2;
  }
  for (std::int64_t i = 1; i <= depth; ++i) {
    const auto [skip, skip_channels] = skips.back();
    skips.pop_back();
    x = upsample(net, fmt::format("up{}/conv", i), x, channels, skip_channels);
    x = net.op(fmt::format("up{}/Concat", i), "Concat", {skip, x}, {{"axis", std::int64_t{1}}});
    x = double_conv(net, fmt::format("up{}", i), x, skip_channels * 2, skip_channels);
    channels = skip_channels;
  }
  net.classify(net.convolution("head", x, channels, recipe.number("classes"), 1));
  return finish_images(net);
}

}  // namespace

std::vector<ModelSpec> vision_models() {
  const ParameterSpec image{"image", "224", "height and width in pixels"};
  const ParameterSpec shapes = shapes_parameter("static, or dynamic: batch, height and width are open");
  const std::vector<ParameterSpec> parameters{kImages, image, kClasses, kNorm, kNormGroups, kPixels, shapes};
  return {
      {"resnet18", "ResNet-18", parameters, resnet18},
      {"resnet50", "ResNet-50", parameters, resnet50},
      {"resnext101", "ResNeXt-101 of 32 x 4 channels", parameters, resnext101},
      {"mobilenet-v2", "MobileNetV2", parameters, mobilenet_v2},
      {"unet",
       "U-Net, a class for each pixel",
       {kImages,
        {"image", "128", "height and width in pixels"},
        {"classes", "2", "classes to tell apart"},
        kNorm,
        kNormGroups,
        kPixels,
        {"depth", "4", "levels"},
        {"channels", "32", "of the first level"},
        shapes},
       unet},
  };
}

}  // namespace podium::models
