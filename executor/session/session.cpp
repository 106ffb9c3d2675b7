#include "executor/session/session.h"

#include <algorithm>

#include "executor/lower/lower.h"
#include "ir/passes/expand_gradients.h"
#include "ir/passes/optimize.h"

namespace podium {
namespace {

void check_data(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values) {
    if (value.data_left_out) {
      throw Error("weight '{}' was written without its data, which a run needs (weights=seeded)", value.name);
    }
  }
}

executor::Program compile(importer::Model model, const SessionOptions& options) {
  check_data(model.graph);
  if (!options.optimized) optimize(model);
  return lower::on_one_processor(std::move(model.graph));
}

bool dims_fit(const ir::Type& wanted, const ir::Dims& found) {
  if (!wanted.has_rank) return true;
  return std::equal(wanted.dims.begin(), wanted.dims.end(), found.begin(), found.end(),
                    [](std::int64_t a, std::int64_t b) { return a == ir::kUnknown || a == b; });
}

// What is prepared for a type must never see another, so the items of sequences are looked at too.
bool fits(const ir::Type& wanted, const ir::Datum& found) {
  switch (wanted.kind) {
    case ir::Kind::Optional:
      return found.is_nothing() || fits(*wanted.inner, found);
    case ir::Kind::Sequence:
      return found.holds == ir::Datum::Holds::Sequence &&
             std::all_of(found.items->begin(), found.items->end(),
                         [&](const ir::Datum& item) { return fits(*wanted.inner, item); });
    case ir::Kind::Map:
      return found.holds == ir::Datum::Holds::Map;
    case ir::Kind::Tensor:
      break;
  }
  const bool any_element = wanted.element == ir::DataType::Undefined;
  return found.is_tensor() && (any_element || wanted.element == found.tensor.type()) &&
         dims_fit(wanted, found.tensor.dims());
}

}  // namespace

void optimize(importer::Model& model) {
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::expand_gradients(model.graph, options);
  ir::optimize(model.graph, options);
}

InferenceSession::InferenceSession(importer::Model model, const SessionOptions& options)
    : engine_(compile(std::move(model), options), {.seed = options.seed, .threads = options.threads}) {}

std::span<const ir::Datum> InferenceSession::run(std::span<const ir::Datum> given) {
  if (given.size() != inputs().size()) throw Error("{} inputs found, {} needed", given.size(), inputs().size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (fits(inputs()[i].type, given[i])) continue;
    throw Error("input '{}': {} found, {} needed", inputs()[i].name, to_string(type_of(given[i])),
                to_string(inputs()[i].type));
  }
  return engine_.run(given);
}

}  // namespace podium
