#include "executor/session/session.h"

#include "executor/lower/single.h"
#include "ir/passes/expand_gradients.h"
#include "ir/passes/optimize.h"

namespace podium {
namespace {

executor::Program compile(importer::Model model) {
  optimize(model);
  return lower::single_processor(std::move(model.graph));
}

bool fits(const ir::Type& wanted, const ir::Type& found) {
  if (wanted.kind == ir::Kind::Optional || found.kind != wanted.kind) return true;
  if (!wanted.is_tensor()) return true;
  if (wanted.element != found.element && wanted.element != ir::DataType::Undefined) return false;
  if (!wanted.has_rank) return true;
  if (wanted.dims.size() != found.dims.size()) return false;
  for (std::size_t i = 0; i < wanted.dims.size(); ++i) {
    if (wanted.dims[i] != ir::kUnknown && wanted.dims[i] != found.dims[i]) return false;
  }
  return true;
}

}  // namespace

void optimize(importer::Model& model) {
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::expand_gradients(model.graph, options);
  ir::optimize(model.graph, options);
}

InferenceSession::InferenceSession(importer::Model model, const SessionOptions& options)
    : engine_(compile(std::move(model)), {.seed = options.seed, .threads = options.threads}) {}

std::span<const ir::Datum> InferenceSession::run(std::span<const ir::Datum> given) {
  if (given.size() != inputs().size()) throw Error("{} inputs found, {} needed", given.size(), inputs().size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ir::Type found = ir::type_of(given[i]);
    if (!fits(inputs()[i].type, found)) {
      throw Error("input '{}': {} found, {} needed", inputs()[i].name, to_string(found), to_string(inputs()[i].type));
    }
  }
  return engine_.run(given);
}

}  // namespace podium
