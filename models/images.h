// What image models share: their parameters, images, normalised convolutions and the classes of an image.
#pragma once

#include <string>
#include <vector>

#include "models/catalog.h"
#include "models/recipe.h"

namespace podium::models {

inline constexpr ParameterSpec kImages{"batch", "1", "images at once"};
inline constexpr ParameterSpec kPixels{"pixels", "float", "or byte: numbers from 0 to 255"};
inline constexpr ParameterSpec kClasses{"classes", "1000", "classes to tell apart"};
inline constexpr ParameterSpec kNorm{
    "norm", "folded",
    "batch normalisation folded into the convolutions, explicit, by the batch's own statistics: training, or "
    "group: of groups of channels"};
inline constexpr ParameterSpec kNormGroups{"groups", "8", "of channels, with norm=group"};

/// The input "image", {batch, 3, size, size}: floats, or bytes, which the model brings to the range from 0
/// to 1. `symbols` as Net::input takes them.
ir::ValueId colour_image_input(Net& net, std::int64_t size,
                               const std::vector<std::string>& symbols = {"batch", "", "height", "width"});

/// A convolution as an exporter leaves it: its normalisation folded in, or as a node of its own. Padding
/// keeps the image's size but for the stride.
ir::ValueId conv_norm(Net& net, const std::string& name, ir::ValueId x, std::int64_t in, std::int64_t out,
                      std::int64_t kernel, std::int64_t stride = 1, std::int64_t group = 1);

/// The mean over the image and a linear layer, as Net::classify leaves them.
void classify_features(Net& net, ir::ValueId x, std::int64_t features);

/// Net::finish with the opset that the kind of normalisation takes.
BuiltModel finish_images(Net& net);

}  // namespace podium::models
