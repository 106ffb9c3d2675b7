#include "importer/opset.h"

#include "importer/nearest_name.h"

namespace podium::importer {
namespace {

[[noreturn]] void refuse_unknown(const RawNode& node, std::int64_t version) {
  std::vector<std::string_view> known;
  for (const ir::OpSpec* spec : ir::all_ops()) known.push_back(spec->name);
  const std::string near = nearest_name(node.type, known);
  throw Error("node '{}': there is no op '{}' in domain '{}' (opset version {}){}", node.name, node.type,
              node.domain.empty() ? "ai.onnx" : node.domain, version,
              near.empty() ? "" : fmt::format("; the nearest is '{}'", near));
}

}  // namespace

void append_adapted(AdaptContext& context, RawNode node) {
  const ir::OpSpec* spec = ir::find_op(node.domain, node.type);
  if (spec == nullptr) refuse_unknown(node, context.version);
  context.graph.ops.push_back({.spec = spec,
                               .name = std::move(node.name),
                               .inputs = std::move(node.inputs),
                               .outputs = std::move(node.outputs),
                               .attributes = std::move(node.attributes),
                               .captures = node.captures});
}

}  // namespace podium::importer
