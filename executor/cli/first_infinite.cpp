#include "executor/cli/first_infinite.h"

#include "executor/session/host_arrays.h"

namespace podium::cli {
std::optional<std::string> first_infinite(importer::Model model, const TensorsByName& weights,
                                          const Samples& samples, std::span<const std::int64_t> rows,
                                          const SessionOptions& options) {
  for (const auto& [name, weight] : weights) {
    if (!is_finite(weight)) return name;
  }
  for (ir::Value& value : model.graph.values) {
    const auto found = weights.find(value.name);
    if (found != weights.end()) value.constant = found->second;
  }
  SessionOptions settings{.seed = options.seed, .threads = options.threads, .fuse = false};
  std::vector<std::string> names;  // in the order of the nodes
  for (const ir::Op& op : model.graph.ops) {
    for (ir::ValueId id : op.outputs) {
      if (!id.valid() || !model.graph[id].type.is_tensor() || !is_float(model.graph[id].type.element))
        continue;
      names.push_back(model.graph[id].name);
      settings.strategy.anchors.try_emplace(names.back());
    }
  }
  InferenceSession session(std::move(model), settings);
  const std::vector<ir::Datum> inputs = take_rows(samples, rows, session.inputs());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Tensor& input = inputs[i].tensor;
    if (is_float(input.type()) && !is_finite(input)) return session.inputs()[i].name;
  }
  const auto outputs = session.run(inputs);
  std::map<std::string_view, const ir::Tensor*> by_name;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    by_name.emplace(session.outputs()[i].name, outputs[i].is_tensor() ? &outputs[i].tensor : nullptr);
  }
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    if (found != by_name.end() && found->second != nullptr && !is_finite(*found->second)) return name;
  }
  return std::nullopt;
}

}  // namespace podium::cli
