#include "executor/report/model_summary.h"

#include <algorithm>

#include "ir/fold_limits.h"
#include "ir/late_tensor.h"
#include "ir/verify.h"
#include "ir/work.h"

namespace podium::report {
namespace {

double bytes_of(const ir::Type& type) { return static_cast<double>(ir::packed_bytes(type)); }

void count_ops(const ir::Graph& graph, ModelSummary& summary) {
  for (const ir::Op& op : graph.ops) {
    const std::string domain(op.spec->domain);
    ++summary.op_counts[domain + (domain.empty() ? "" : ".") + std::string(op.spec->name)];
    for (const ir::Attribute& attribute : op.attributes) {
      if (ir::is_annotation(attribute.name) && attribute.name != ir::kLeftToRun)
        ++summary.annotated_ops[std::string(attribute.name.text())];
    }
    for_each_body(op, [&](std::string_view, const ir::Graph& body) { count_ops(body, summary); });
  }
}

double peak_of(const ir::Graph& graph) {
  ir::IdMap<ir::ValueId, std::size_t> last_use(std::ssize(graph.values), 0);
  for (std::size_t t = 0; t < graph.ops.size(); ++t) {
    for (ir::ValueId id : inputs_of(graph.ops[t])) last_use[id] = t;
  }
  for (ir::ValueId id : graph.outputs) last_use[id] = graph.ops.size();
  std::vector<std::vector<double>> freed(graph.ops.size() + 1);
  double live = 0;
  double peak = 0;
  for (std::size_t t = 0; t < graph.ops.size(); ++t) {
    for (ir::ValueId id : outputs_of(graph.ops[t])) {
      const double bytes = bytes_of(graph[id].type);
      live += bytes;
      freed[std::max(last_use[id], t)].push_back(bytes);
    }
    peak = std::max(peak, live);
    for (double bytes : freed[t]) live -= bytes;
  }
  return peak;
}

}  // namespace

ModelSummary summarize(const ir::Graph& graph) {
  ModelSummary summary;
  count_ops(graph, summary);
  for (const ir::Value& value : graph.values) {
    if (!value.constant && !value.data_left_out) continue;
    summary.parameter_bytes += static_cast<double>(ir::stored_bytes(value));
    if (value.type.rank() > 0) summary.parameters += std::max<std::int64_t>(value.type.element_count(), 0);
  }
  for (const ir::Op& op : graph.ops) {
    summary.flop += ir::work_of(ir::TypedOp(graph, op)).flop;
    for (ir::ValueId id : outputs_of(op)) summary.activation_bytes += bytes_of(graph[id].type);
  }
  summary.peak_activation_bytes = peak_of(graph);
  return summary;
}

}  // namespace podium::report
