// Scan of version 8 ran every example of a batch by itself: a Scan over the batch with a Scan of today
// inside.
#include <array>

#include "importer/opset_rewrite.h"

namespace podium::importer {
namespace {

using ir::Attribute;
using ir::Graph;
using ir::Op;
using ir::Tensor;
using ir::ValueId;

// The properties of a Scan that are the same for all examples of the batch.
struct Scan {
  ir::Body body;
  std::int64_t scans = 0;  // inputs that are scanned; the states come before them
  ir::IntList directions;
  int captures = 0;
  std::size_t outputs = 0;
};

// Appends ops without types: they are inferred later.
class BodyWriter {
 public:
  explicit BodyWriter(Graph& graph) : graph_(graph) {}

  ValueId ints(const std::vector<std::int64_t>& values) {
    return graph_.add_constant(graph_.fresh_name("ints"), Tensor::ints(values));
  }
  ValueId op(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    const ValueId output = graph_.add_value(graph_.fresh_name(type));
    graph_.ops.push_back({.spec = ir::find_op("", type),
                          .inputs = std::move(inputs),
                          .outputs = {output},
                          .attributes = std::move(attributes)});
    IR_CHECK(graph_.ops.back().spec != nullptr, "no row for {}", type);
    return output;
  }

 private:
  Graph& graph_;
};

// One example: the entries up to its length scanned, the scan outputs padded with zeros to the longest.
Graph example_body(const Scan& scan, std::size_t formal, bool has_length) {
  Graph graph;
  BodyWriter write(graph);
  for (std::size_t i = 0; i < formal + scan.captures; ++i) {
    graph.inputs.push_back(graph.add_value(graph.fresh_name("example")));
  }
  std::vector<ValueId> inputs(graph.inputs.begin() + (has_length ? 1 : 0), graph.inputs.end());
  const std::size_t states = inputs.size() - scan.captures - scan.scans;
  ValueId missing;
  if (has_length) {
    const ValueId length = write.op("Reshape", {graph.inputs[0], write.ints({1})});
    const ValueId longest =
        write.op("Shape", {inputs[states]}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
    missing = write.op("Concat", {write.ints({0}), write.op("Sub", {longest, length})},
                       {{"axis", std::int64_t{0}}});
    for (std::size_t i = states; i < states + scan.scans; ++i) {
      inputs[i] = write.op("Slice", {inputs[i], write.ints({0}), length, write.ints({0})});
    }
  }
  Op inner{.spec = ir::find_op("", "Scan"), .inputs = std::move(inputs), .captures = scan.captures};
  IR_CHECK(inner.spec != nullptr);
  inner.attributes = {{"body", scan.body}, {"num_scan_inputs", scan.scans}};
  if (!scan.directions.empty()) inner.attributes.push_back({"scan_input_directions", scan.directions});
  for (std::size_t i = 0; i < scan.outputs; ++i)
    inner.outputs.push_back(graph.add_value(graph.fresh_name("result")));
  graph.outputs = inner.outputs;
  graph.ops.push_back(std::move(inner));
  for (std::size_t i = states; has_length && i < graph.outputs.size(); ++i) {
    graph.outputs[i] = write.op("Pad", {graph.outputs[i], missing, ir::kNoValue, write.ints({0})});
  }
  return graph;
}

void scan_9(Rewrite& node) {
  auto body = node.take<ir::Body>("body");
  const auto scans = node.take<std::int64_t>("num_scan_inputs");
  if (!body || !scans) throw Error("attribute '{}' is missing", body ? "num_scan_inputs" : "body");
  RawNode& raw = node.node();
  const bool has_length = node.has_input(0);
  if (!has_length && !raw.inputs.empty()) raw.inputs.erase(raw.inputs.begin());
  const std::int64_t formal = raw.inputs.size() - raw.captures;
  if (*scans < 1 || *scans > formal - (has_length ? 1 : 0)) {
    throw Error("num_scan_inputs is {}, 1 to {} needed", *scans, formal - (has_length ? 1 : 0));
  }
  const Scan scan{.body = std::move(*body),
                  .scans = *scans,
                  .directions = node.take_or<ir::IntList>("directions", {}),
                  .captures = raw.captures,
                  .outputs = raw.outputs.size()};
  node.set("body", ir::Body(std::make_shared<const Graph>(example_body(scan, formal, has_length))));
  node.set("num_scan_inputs", formal);
}

}  // namespace

std::span<const Adapter> control_adapters() {
  static constexpr std::array kTable{Adapter{"Scan", 9, scan_9}};
  return kTable;
}

}  // namespace podium::importer
