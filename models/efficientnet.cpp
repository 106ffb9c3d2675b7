// EfficientNet (Tan and Le 2019): inverted residuals with squeeze and excitation, B0 scaled to B7 by factors
// of width and depth. The middle convolution of a block is depthwise, or in groups of group_dim channels with
// a smaller factor of expansion, as in "Making EfficientNet More Efficient" (Masters et al. 2021).
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ir/error.h"
#include "models/families.h"
#include "models/images.h"

namespace podium::models {
namespace {

using ir::ValueId;

struct Scale {
  double width, depth;
  std::int64_t image;
};

// Of B0 to B7.
constexpr std::array<Scale, 8> kScales{{{1.0, 1.0, 224},
                                        {1.0, 1.1, 240},
                                        {1.1, 1.2, 260},
                                        {1.2, 1.4, 300},
                                        {1.4, 1.8, 380},
                                        {1.6, 2.2, 456},
                                        {1.8, 2.6, 528},
                                        {2.0, 3.1, 600}}};

// The same for all blocks of a stage but their inputs, and of a stage's first block the stride.
struct Block {
  std::int64_t in, out, kernel, stride, expand;
};

struct Stage {
  std::int64_t expand, kernel, stride, channels, blocks;
};

constexpr std::array<Stage, 7> kStages{{{1, 3, 1, 16, 1},
                                        {6, 3, 2, 24, 2},
                                        {6, 5, 2, 40, 2},
                                        {6, 3, 2, 80, 3},
                                        {6, 5, 1, 112, 3},
                                        {6, 5, 2, 192, 4},
                                        {6, 3, 1, 320, 1}}};

// To a multiple of 8, the nearest that is at least nine tenths.
std::int64_t scaled_channels(std::int64_t channels, double width) {
  const double wanted = static_cast<double>(channels) * width;
  const std::int64_t rounded = std::max<std::int64_t>(8, static_cast<std::int64_t>(wanted + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * wanted ? rounded + 8 : rounded;
}

ValueId silu(Net& net, const std::string& name, ValueId x) {
  return net.op(name + "/Mul", "Mul", {x, net.op(name + "/Sigmoid", "Sigmoid", {x})});
}

// Each channel times a factor that is made of the means of all.
ValueId excited(Net& net, const std::string& name, ValueId x, std::int64_t channels, std::int64_t squeezed) {
  ValueId y = net.op(name + "/GlobalAveragePool", "GlobalAveragePool", {x});
  y = silu(net, name + "/act", net.convolution(name + "/reduce", y, channels, squeezed, 1));
  y = net.op(name + "/Sigmoid", "Sigmoid", {net.convolution(name + "/expand", y, squeezed, channels, 1)});
  return net.op(name + "/Mul", "Mul", {x, y});
}

ValueId block(Net& net, const std::string& name, ValueId x, const Block& of) {
  const std::int64_t middle = of.in * of.expand;
  // Where groups do not divide the channels they are of as many as do.
  const std::int64_t group_size = std::gcd(middle, net.recipe().number("group_dim"));
  ValueId y = x;
  if (of.expand != 1) y = silu(net, name + "/act1", conv_norm(net, name + "/expand", y, of.in, middle, 1));
  y = conv_norm(net, name + "/depthwise", y, middle, middle, of.kernel, of.stride, middle / group_size);
  y = excited(net, name + "/se", silu(net, name + "/act2", y), middle, std::max<std::int64_t>(1, of.in / 4));
  y = conv_norm(net, name + "/project", y, middle, of.out, 1);
  return of.stride == 1 && of.in == of.out ? net.op(name + "/Add", "Add", {x, y}) : y;
}

BuiltModel efficientnet(const Recipe& recipe) {
  Net net(recipe);
  const std::int64_t variant = recipe.count("variant");
  if (variant >= std::ssize(kScales))
    throw Error("parameter variant: {} found, 0 to {} needed", variant, std::ssize(kScales) - 1);
  const Scale& scale = kScales[static_cast<std::size_t>(variant)];
  const std::int64_t size = recipe.count("image") == 0 ? scale.image : recipe.number("image");
  const std::int64_t expand = recipe.number("expand");
  std::int64_t channels = scaled_channels(32, scale.width);
  ValueId x = silu(net, "stem/act", conv_norm(net, "stem", colour_image_input(net, size), 3, channels, 3, 2));
  int index = 0;
  for (const Stage& stage : kStages) {
    const std::int64_t out = scaled_channels(stage.channels, scale.width);
    const auto blocks = static_cast<std::int64_t>(std::ceil(static_cast<double>(stage.blocks) * scale.depth));
    for (std::int64_t i = 0; i < blocks; ++i) {
      x = block(net, fmt::format("blocks/{}", index++), x,
                {channels, out, stage.kernel, i == 0 ? stage.stride : 1, stage.expand == 1 ? 1 : expand});
      channels = out;
    }
  }
  const std::int64_t features = scaled_channels(1280, scale.width);
  x = silu(net, "head/act", conv_norm(net, "head", x, channels, features, 1));
  classify_features(net, x, features);
  return finish_images(net);
}

}  // namespace

std::vector<ModelSpec> scaled_image_models() {
  return {{"efficientnet",
           "EfficientNet",
           {{"variant", "0", "of B0 to B7, which sets width, depth and image"},
            kImages,
            {"image", "0", "height and width in pixels; 0: as the variant has them, 224 to 600"},
            kClasses,
            {"expand", "6", "times as many channels inside of a block"},
            {"group_dim", "1", "channels of a group of the convolution inside of a block; 1: depthwise"},
            kNorm,
            kNormGroups,
            kPixels,
            shapes_parameter("static, or dynamic: batch, height and width are open")},
           efficientnet}};
}

}  // namespace podium::models
