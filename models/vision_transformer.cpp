// ViT (Dosovitskiy et al. 2020): an image as a sequence of patches, which a strided convolution projects,
// behind a token of the class; layers of a transformer that normalise first; the class of what the token has
// become.
#include "ir/error.h"
#include "models/families.h"
#include "models/images.h"
#include "models/transformer.h"

namespace podium::models {
namespace {

using ir::Tensor;
using ir::ValueId;

// {batch, patches, features}.
ValueId patches_of(Net& net, ValueId image, std::int64_t patch, std::int64_t hidden, std::int64_t patches) {
  const ValueId projected = net.convolution("patches", image, 3, hidden, patch, patch);
  const ValueId rows = net.op("patches/Reshape", "Reshape", {projected, net.ints({0, hidden, patches})});
  return net.op("patches/Transpose", "Transpose", {rows}, {{"perm", ir::IntList{0, 2, 1}}});
}

// The class's token for each image of the batch.
ValueId class_tokens(Net& net, ValueId patches, const Transformer& sizes) {
  ValueId batch = net.ints({sizes.batch});
  if (net.recipe().is_dynamic()) {
    const ValueId shape = net.op("class/Shape", "Shape", {patches});
    const ValueId first =
        net.op("class/Gather", "Gather", {shape, net.constant(Tensor::scalar<std::int64_t>(0))},
               {{"axis", std::int64_t{0}}});
    batch = net.op("class/Unsqueeze", "Unsqueeze", {first, net.ints({0})});
  }
  const ValueId dims =
      net.op("class/Concat", "Concat", {batch, net.ints({1, sizes.hidden})}, {{"axis", std::int64_t{0}}});
  return net.op("class/Expand", "Expand", {net.weight("class.token", {1, 1, sizes.hidden}, 1.0, 0.01), dims});
}

ValueId layer(Net& net, const std::string& name, ValueId x, const Transformer& sizes) {
  const ValueId normal = net.layer_norm(name + "/norm_before", x, sizes.hidden);
  const ValueId attended = self_attention(net, name + "/attention", normal, std::nullopt, sizes);
  ValueId y = dense(net, name + "/attention/output", attended, sizes.hidden, sizes.hidden);
  x = net.op(name + "/attention/residual", "Add", {dropped(net, name + "/attention/output/Dropout", y), x});
  y = gelu_mlp(net, name, net.layer_norm(name + "/norm_after", x, sizes.hidden), sizes);
  return net.op(name + "/Add", "Add", {y, x});
}

BuiltModel vit(const Recipe& recipe) {
  Net net(recipe);
  const std::int64_t image = recipe.number("image");
  const std::int64_t patch = recipe.number("patch");
  if (image % patch != 0)
    throw Error("parameter patch: {} found, a divisor of image {} needed", patch, image);
  const std::int64_t patches = (image / patch) * (image / patch);
  const Transformer sizes = transformer_sizes(recipe, patches + 1);
  ValueId x = patches_of(net, colour_image_input(net, image, {"batch"}), patch, sizes.hidden, patches);
  x = net.op("embeddings/Concat", "Concat", {class_tokens(net, x, sizes), x}, {{"axis", std::int64_t{1}}});
  const ValueId places =
      net.weight("embeddings/position.weight", {1, sizes.sequence, sizes.hidden}, 1.0, 0.01);
  x = dropped(net, "embeddings/Dropout", net.op("embeddings/Add", "Add", {x, places}));
  for (std::int64_t i = 0; i < recipe.number("layers"); ++i)
    x = layer(net, fmt::format("layer{}", i), x, sizes);
  x = net.layer_norm("norm", x, sizes.hidden);
  net.classify(net.linear("classifier", first_token(net, x), sizes.hidden, recipe.number("classes")));
  return net.finish(20);
}

}  // namespace

std::vector<ModelSpec> patch_models() {
  return {{"vit",
           "ViT, an image as a sequence of patches",
           {{"layers", "12", "transformer layers"},
            {"hidden", "768", "features of a patch"},
            {"heads", "12", "attention heads"},
            {"patch", "16", "height and width of a patch in pixels"},
            {"image", "224", "height and width in pixels"},
            kImages,
            kClasses,
            {"dropout", "0", "share of features and attention weights that Dropout nodes drop"},
            kPixels,
            shapes_parameter("static, or dynamic: batch is open")},
           vit}};
}

}  // namespace podium::models
