// An all-gather goes beside the products of the block that reads first what it brings, a reduce-scatter
// beside those of the block that makes what it adds up. From an input or output of a block the way to a
// product goes through ops that take no time or give elements another order or width, and through the rest of
// the product's kernel. Exchanges come in the order of the Program; each takes what is left of its kernels.
#include "executor/sim/products_beside.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "executor/slots.h"

namespace podium::sim {
namespace {

using executor::Block;
using executor::BufferId;
using executor::Compute;
using executor::GroupCollective;
using executor::Program;
using executor::Slot;
using executor::Step;
using ir::Op;
using ir::ValueId;

bool multiplies(const Op& op) {
  return op.spec->category == ir::Category::MatrixProduct || op.spec->category == ir::Category::Attention;
}

// Of a block: the kernels with products that read an input or make an output.
class BlockProducts {
 public:
  BlockProducts(const Block& block, const BlockCost& cost) : graph_(block.graph), cost_(cost) {
    for (std::size_t k = 0; k < cost.kernels.size(); ++k) {
      const std::vector<std::int32_t>& ops = cost.kernels[k].ops;
      if (std::ranges::none_of(ops, [&](std::int32_t op) { return multiplies(graph_.ops[op]); })) continue;
      for (std::int32_t op : ops) kernel_of_[op] = k;
    }
  }

  std::set<std::size_t> reading(ValueId input) const {
    std::set<ValueId> reached{input};
    std::set<std::size_t> found;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (std::ranges::none_of(op.inputs, [&](ValueId id) { return reached.contains(id); })) continue;
      if (changes_form(op)) reached.insert(op.outputs.begin(), op.outputs.end());
      if (multiplies(op)) add_kernel(i, found);
    }
    return found;
  }

  std::set<std::size_t> making(ValueId output) const {
    std::set<ValueId> wanted{output};
    std::set<std::size_t> found;
    for (std::size_t i = graph_.ops.size(); i-- > 0;) {
      const Op& op = graph_.ops[i];
      if (std::ranges::none_of(op.outputs, [&](ValueId id) { return wanted.contains(id); })) continue;
      if (changes_form(op)) wanted.insert(op.inputs.begin(), op.inputs.end());
      add_kernel(i, found);
    }
    return found;
  }

  const BlockCost& cost() const { return cost_; }
  const ir::Graph& graph() const { return graph_; }

 private:
  void add_kernel(std::size_t op, std::set<std::size_t>& found) const {
    const auto kernel = kernel_of_.find(static_cast<std::int32_t>(op));
    if (kernel != kernel_of_.end()) found.insert(kernel->second);
  }

  const ir::Graph& graph_;
  const BlockCost& cost_;
  std::map<std::int32_t, std::size_t> kernel_of_;  ///< of an op's place, where that has a product
};

class BesideFinder {
 public:
  BesideFinder(const Program& program, const ir::IdMap<executor::BlockId, BlockCost>& costs)
      : program_(program), costs_(costs) {}

  void walk(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) walk(repeat->body);
    }
    const auto is_exchange = [](const Step& step) {
      return std::holds_alternative<GroupCollective>(step.action);
    };
    if (std::ranges::none_of(steps, is_exchange)) return;
    note_computes(steps);
    for (const Step& step : steps) {
      if (const auto* exchange = std::get_if<GroupCollective>(&step.action)) add(*exchange);
    }
  }

  ProductsBeside found;

 private:
  void note_computes(const std::vector<Step>& steps) {
    makers_.clear();
    readers_.clear();
    for (const Step& step : steps) {
      const auto* compute = std::get_if<Compute>(&step.action);
      if (compute == nullptr) continue;
      for (const Slot& slot : compute->writes) makers_[slot.buffer.number()] = compute;
      for (const Slot& slot : compute->reads) readers_.emplace(slot.buffer.number(), compute);
    }
  }

  void add(const GroupCollective& exchange) {
    const executor::Transfer& first = exchange.transfers.front();
    const bool gathers = exchange.kind == executor::CollectiveKind::AllGather;
    if (!gathers && exchange.kind != executor::CollectiveKind::ReduceScatter) return;
    const BufferId buffer = gathers ? first.to.buffer : first.from.buffer;
    const auto& computes = gathers ? readers_ : makers_;
    const auto at = computes.find(buffer.number());
    if (at == computes.end()) return;
    const Compute* compute = at->second;
    const BlockProducts& block = products_of(compute->block);
    const std::vector<Slot>& slots = gathers ? compute->reads : compute->writes;
    const auto place =
        static_cast<std::size_t>(std::ranges::find(slots, buffer, &Slot::buffer) - slots.begin());
    double seconds = 0;
    for (std::size_t kernel :
         gathers ? block.reading(block.graph().inputs[place]) : block.making(block.graph().outputs[place])) {
      if (taken_.emplace(compute, kernel).second) seconds += block.cost().kernels[kernel].seconds;
    }
    if (seconds > 0) found.emplace(&exchange, seconds);
  }

  const BlockProducts& products_of(executor::BlockId id) {
    return blocks_.try_emplace(id, program_[id], costs_[id]).first->second;
  }

  const Program& program_;
  const ir::IdMap<executor::BlockId, BlockCost>& costs_;
  std::unordered_map<int, const Compute*> makers_;   ///< the last of a list of steps, by buffer
  std::unordered_map<int, const Compute*> readers_;  ///< the first
  std::map<executor::BlockId, BlockProducts> blocks_;
  std::set<std::pair<const Compute*, std::size_t>> taken_;  ///< kernels
};

}  // namespace

ProductsBeside products_beside(const Program& program, const ir::IdMap<executor::BlockId, BlockCost>& costs) {
  BesideFinder finder(program, costs);
  finder.walk(program.steps);
  return std::move(finder.found);
}

double held_up_seconds(double exchange, double products, int members) {
  // Both share units, memory and power: 1.126 in the profile of Galvatron (docs/cost-model.md).
  constexpr double kLonger = 0.126;
  const double beside = std::min(exchange, products * (members - 1) / members);
  return exchange - beside + kLonger * beside;
}

}  // namespace podium::sim
