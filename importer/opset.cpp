#include "importer/opset.h"

#include <algorithm>
#include <array>
#include <map>

#include "importer/foreign_ops.h"
#include "importer/opset_rewrite.h"

namespace podium::importer {
namespace {

struct Domain {
  std::string_view name;
  std::int64_t newest;
};
constexpr std::array kDomains{Domain{"", 28}, Domain{"ai.onnx.ml", 5}, Domain{"ai.onnx.preview", 1},
                              Domain{"ai.onnx.preview.training", 1}, Domain{"com.microsoft", 1},
                              Domain{"ai.graphcore", 1}};

std::string_view shown(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

void check_version(const RawNode& node, std::int64_t version) {
  for (const Domain& domain : kDomains) {
    if (domain.name == node.domain && version > domain.newest) {
      throw Error("opset version {} of {} found, at most {} is known", version, shown(domain.name),
                  domain.newest);
    }
  }
}

// The version in which ai.onnx gained an op; 1 for an op that it had from the start, and for other domains.
std::int64_t first_version(const RawNode& node) {
  if (!node.domain.empty()) return 1;
  const ir::OpSpec* spec = ir::find_op(node.domain, node.type);
  return spec == nullptr ? 1 : spec->gained;
}

using Chain = std::vector<const Adapter*>;  // by version

const Chain& chain_of(std::string_view domain, std::string_view type) {
  static const auto chains = [] {
    std::map<std::pair<std::string_view, std::string_view>, Chain> index;
    for (const auto table : {argument_adapters(), elementwise_adapters(), network_adapters(),
                             control_adapters(), retired_adapters(), learning_adapters()}) {
      for (const Adapter& adapter : table) index[{adapter.domain, adapter.type}].push_back(&adapter);
    }
    for (auto& [op, chain] : index) {
      std::sort(chain.begin(), chain.end(),
                [](const Adapter* a, const Adapter* b) { return a->below < b->below; });
    }
    return index;
  }();
  static const Chain kNone;
  const auto found = chains.find({domain, type});
  return found == chains.end() ? kNone : found->second;
}

// The adapter that comes next for a node of this version; nullptr when the version has the newest meaning.
const Adapter* next_adapter(const RawNode& node, std::int64_t version) {
  for (const Adapter* adapter : chain_of(node.domain, node.type)) {
    if (version < adapter->below) return adapter;
  }
  return nullptr;
}

// An op that was retired keeps its last meaning in models that import a later version all the same, and one
// that came later has its first meaning in models of an earlier one, as ONNX's reference evaluator reads
// them.
std::int64_t version_of(const RawNode& node, std::int64_t version) {
  const Chain& chain = chain_of(node.domain, node.type);
  const bool retired = !chain.empty() && chain.back()->retires;
  return retired ? std::min(version, chain.back()->below - 1) : std::max(version, first_version(node));
}

}  // namespace

void append_adapted(AdaptContext& context, RawNode node) {
  const std::string where =
      fmt::format("node '{}' ({}, {} version {})", node.name, node.type, shown(node.domain), context.version);
  try {
    check_version(node, context.version);
    Rewrite rewrite(context, std::move(node));
    if (const ForeignOp* op = find_foreign(rewrite.node().domain, rewrite.node().type)) {
      return expand(*op, rewrite);
    }
    // The list of inputs that an op may overwrite: Caffe2's, without meaning.
    if (rewrite.node().domain.empty() && context.version < 6) rewrite.drop("consumed_inputs");
    std::int64_t version = version_of(rewrite.node(), context.version);
    while (const Adapter* adapter = next_adapter(rewrite.node(), version)) {
      rewrite.next_adapter();
      adapter->rewrite(rewrite);
      version = adapter->below;
    }
    rewrite.finish();
  } catch (const Error& error) {
    throw error.at(where);
  }
}

}  // namespace podium::importer
