#include "models/images.h"

#include "ir/error.h"

namespace podium::models {

using ir::DataType;
using ir::ValueId;

namespace {

ValueId group_norm(Net& net, const std::string& name, ValueId x, std::int64_t channels) {
  const std::int64_t groups = net.recipe().number("groups");
  if (channels % groups != 0)
    throw Error("parameter groups: {} found, a divisor of the {} channels of {} needed", groups, channels,
                name);
  return net.op(
      name + "/GroupNormalization", "GroupNormalization",
      {x, net.filled(name + ".gn.weight", {channels}, 1), net.filled(name + ".gn.bias", {channels}, 0)},
      {{"epsilon", 1e-5F}, {"num_groups", groups}});
}

ValueId batch_norm(Net& net, const std::string& name, ValueId x, std::int64_t channels) {
  const std::vector<ValueId> inputs{x, net.filled(name + ".bn.weight", {channels}, 1),
                                    net.filled(name + ".bn.bias", {channels}, 0),
                                    net.filled(name + ".bn.running_mean", {channels}, 0),
                                    net.filled(name + ".bn.running_var", {channels}, 1)};
  const std::string path = name + "/BatchNormalization";
  if (net.recipe().is("norm", "explicit"))
    return net.op(path, "BatchNormalization", inputs, {{"epsilon", 1e-5F}});
  return net.ops(path, "BatchNormalization", inputs, 3,
                 {{"epsilon", 1e-5F}, {"training_mode", std::int64_t{1}}})[0];
}

}  // namespace

ValueId colour_image_input(Net& net, std::int64_t size, const std::vector<std::string>& symbols) {
  const ir::Dims dims{net.recipe().number("batch"), 3, size, size};
  const std::string& pixels = net.recipe().word("pixels");
  if (pixels == "float") return net.input("image", DataType::Float, dims, symbols);
  if (pixels != "byte") throw Error("parameter pixels: '{}' found, float or byte needed", pixels);
  const bool half = net.recipe().is("type", "float16");
  const auto type = static_cast<std::int64_t>(half ? DataType::Float16 : DataType::Float);
  const ValueId bytes = net.input("image", DataType::Uint8, dims, symbols);
  const ValueId numbers = net.op("cast", "Cast", {bytes}, {{"to", type}});
  return net.op("scale", "Mul", {numbers, net.scalar(1.0F / 255)});
}

ValueId conv_norm(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                  std::int64_t kernel, std::int64_t stride, std::int64_t group) {
  const ValueId y = net.convolution(name, x, in, out, kernel, stride, kernel / 2, group);
  const std::string& norm = net.recipe().word("norm");
  if (norm == "folded") return y;
  if (norm == "group") return group_norm(net, name, y, out);
  if (norm == "explicit" || norm == "training") return batch_norm(net, name, y, out);
  throw Error("parameter norm: '{}' found, folded, explicit, training or group needed", norm);
}

void classify_features(Net& net, ValueId x, std::int64_t features) {
  x = net.op("avgpool/GlobalAveragePool", "GlobalAveragePool", {x});
  x = net.op("flatten/Flatten", "Flatten", {x}, {{"axis", std::int64_t{1}}});
  net.classify(net.linear("fc", x, features, net.recipe().number("classes")));
}

BuiltModel finish_images(Net& net) { return net.finish(net.recipe().is("norm", "group") ? 21 : 20); }

}  // namespace podium::models
