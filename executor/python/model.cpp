#include "executor/python/model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "annotate/annotations.h"
#include "annotate/check.h"
#include "annotate/implied.h"
#include "annotate/match.h"
#include "annotate/place.h"
#include "annotate/rules.h"
#include "executor/cli/annotate_edits.h"
#include "executor/cli/info_json.h"
#include "executor/session/session.h"
#include "executor/session/sized_graph.h"
#include "ir/infer.h"

namespace podium::python {
namespace {

bool says_nothing(const ir::Op& op) {
  return std::none_of(op.attributes.begin(), op.attributes.end(),
                      [](const ir::Attribute& attribute) { return annotate::is_placement(attribute.name); });
}

std::vector<Port> ports(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  std::vector<Port> ports;
  for (ir::ValueId id : ids) ports.push_back({graph[id].name, graph[id].type});
  return ports;
}

}  // namespace

Model::Model(std::string name, importer::Model model)
    : name_(std::move(name)), model_(std::move(model)), before_(model_.graph.ops) {}

std::vector<Port> Model::inputs() const { return ports(model_.graph, model_.graph.inputs); }

std::vector<Port> Model::outputs() const {
  ir::Graph graph = model_.graph;
  infer(graph);
  return ports(graph, graph.outputs);
}

std::string info_of(importer::Model model) {
  optimize(model);
  return cli::info_json(model, report::summarize(model.graph)).dump();
}

void Model::annotate(const std::string& rules) {
  ir::Graph graph = model_.graph;
  annotate::apply_rules(graph, annotate::read_rules(rules, "annotate"));
  annotate::check(graph, model_.info.metadata, {});
  model_.graph = std::move(graph);
}

void Model::clear_annotations() {
  for (ir::Op& op : model_.graph.ops) annotate::clear_annotations(op);
}

std::string Model::placement() const {
  const ir::Graph graph = infer_sizes(model_.graph).graph;
  const ir::Placement placement =
      annotate::place(graph, model_.info.metadata, annotate::implied_request(graph));
  nlohmann::json records = nlohmann::json::array();
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::OpPlacement& op = placement.ops[i];
    records.push_back({{"node", annotate::name_of(graph, graph.ops[i])},
                       {"type", graph.ops[i].spec->name},
                       {"ipu", op.processor},
                       {"stage", op.stage},
                       {"phase", op.phase},
                       {"tiles", op.tiles == ir::TileSet::IO ? "IO" : "Compute"},
                       {"recompute", op.recompute == ir::Recompute::Recompute},
                       {"inherited", says_nothing(graph.ops[i])}});
  }
  return records.dump();
}

void Model::save(const std::string& path) const {
  write_model(model_, path, {.nodes = cli::edits_of(model_, before_)});
}

}  // namespace podium::python
