#include "tests/fuzz/small_model.h"

#include <algorithm>

#include "executor/session/random_input.h"
#include "ir/bodies.h"
#include "ir/infer.h"
#include "ir/passes/add_loss.h"
#include "ir/work.h"

namespace podium::fuzz {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 18;
constexpr double kMostWork = 1e7;
constexpr std::int64_t kMostTurns = 8;

// Of the ops that repeat a body, only a Loop that is known to end soon is run.
bool repeats_little(const ir::Graph& graph, const ir::Op& op) {
  if (!ir::has_body(op) || op.is("If")) return true;
  if (!op.is("Loop") || !graph.is_constant(op.inputs[0])) return false;
  const ir::Tensor& turns = *graph[op.inputs[0]].constant;
  return turns.size() == 1 && turns.data<std::int64_t>()[0] <= kMostTurns;
}

bool is_small(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values) {
    if (value.type.is_static() && value.type.element_count() > kMostElements) return false;
  }
  return std::ranges::all_of(graph.ops, [&](const ir::Op& op) {
    const ir::Work work = ir::work_of({graph, op});
    if (work.flop > kMostWork || work.bytes > kMostWork || !repeats_little(graph, op)) return false;
    return std::ranges::all_of(op.attributes, [](const ir::Attribute& attribute) {
      const auto* body = std::get_if<ir::Body>(&attribute.value);
      return body == nullptr || is_small(**body);
    });
  });
}

}  // namespace

std::optional<importer::Model> small_model(const std::string& bytes, const importer::ImportOptions& options) {
  importer::Model model = importer::import_bytes(bytes, options);
  ir::infer(model.graph);
  if (!is_small(model.graph)) return std::nullopt;
  return model;
}

std::string add_any_loss(importer::Model& model) {
  if (model.graph.outputs.empty()) throw Error("a model without outputs found, one needed");
  const std::string output = model.graph[model.graph.outputs[0]].name;
  return ir::add_loss(model.graph, ir::LossKind::MeanSquaredError, output, "wanted");
}

std::vector<ir::Datum> random_inputs(const std::vector<executor::HostTensor>& inputs, const IdCounts& ids,
                                     int replicas, std::uint64_t seed) {
  std::vector<ir::Datum> data;
  for (const executor::HostTensor& input : inputs) {
    ir::Type type = whole_type(input);
    const int micro_batches = input.micro_batches * (input.broadcast ? 1 : replicas);
    if (micro_batches > 1) type.dims.insert(type.dims.begin(), micro_batches);
    data.push_back(random_input(input.name, type, ids, seed));
  }
  return data;
}

}  // namespace podium::fuzz
