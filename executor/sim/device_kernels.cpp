// Kernels are sets of ops that grow together along the values between them (a disjoint-set forest), with the
// reductions at their ends. A kernel of several ops costs what it loads from outside, computes and stores for
// outside; with a product in front, the product and what is loaded beside. Products over shared memory read
// an operand whose axes are in another order as it lies, so that a transposition for them is no kernel, and
// products of bytes read bytes. Where a device computes attention in one kernel, all tensors of the size of
// its scores stay inside it: products on them run at the rate of that kernel, which reads and writes in any
// order of axes, everything else is done beside.
#include "executor/sim/device_kernels.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "executor/sim/kept_rows.h"
#include "executor/sim/product_cost.h"
#include "executor/sim/products.h"
#include "executor/sim/vector_cost.h"
#include "ir/annotation.h"
#include "ir/error.h"
#include "ir/passes/whole_products.h"
#include "ir/training.h"
#include "ir/work.h"

namespace podium::sim {
namespace {

using ir::Op;
using ir::ValueId;

bool is_known(const ir::Type& type) { return type.is_tensor() && type.is_static(); }

// Makes floats of the bytes that a product of bytes reads as they are.
bool makes_whole_numbers(const ir::Graph& graph, const Op& op) {
  return op.is("DequantizeLinear") && graph.is_constant(op.inputs[1]) &&
         ir::are_ones(*graph[op.inputs[1]].constant);
}

bool is_quantizing(const ir::Graph& graph, const Op& op) {
  return op.is("QuantizeLinear") || (op.is("DequantizeLinear") && !makes_whole_numbers(graph, op));
}

// Ops that can be one kernel with their neighbours.
bool is_fusible(const ir::Graph& graph, const Op& op, const device::Device& device) {
  if (device.multi_tensor_kernels && ir::find_attribute(op, ir::kMovement) != nullptr) return false;
  const bool fuses_all = !device.synchronous && device.fusion == device::Fusion::All;
  const bool is_more = op.spec->category == ir::Category::Normalizing || is_quantizing(graph, op);
  if (op.spec->category != ir::Category::Elementwise && !(fuses_all && is_more)) return false;
  return !op.outputs.empty() && op.outputs[0].valid() && is_known(graph[op.outputs[0]].type);
}

// Ops of one name write out one node of the model, such as its gradient.
bool are_one_node(const Op& a, const Op& b) {
  if (ir::is_outer(a) || ir::is_outer(b)) return ir::is_outer(a) && ir::is_outer(b);
  return !a.name.empty() && a.name == b.name;
}

bool is_product(const Op& op) {
  return op.spec->category == ir::Category::MatrixProduct || op.spec->category == ir::Category::Convolution;
}

// Podium's own kernels have what follows a product in it where they have packed its weights, which they do of
// those that never change.
bool is_plain_on_host(const ir::Graph& graph, const Op& op, const device::Device& device) {
  if (!is_host(device) || !op.spec->factors) return false;
  return !graph.is_constant(op.inputs[op.spec->factors->right]);
}

// A product whose result its reader takes over before it is stored.
bool has_epilogue(const ir::Graph& graph, const Op& op, const device::Device& device) {
  return is_product(op) && !is_plain_on_host(graph, op, device) && !device.synchronous &&
         device.fusion == device::Fusion::All && op.outputs[0].valid() && is_known(graph[op.outputs[0]].type);
}

std::int64_t size_of(const ir::Graph& graph, const Op& op) {
  return graph[op.outputs[0]].type.element_count();
}

// A reduction may be the end of what makes its operand: it leaves results of the pieces that pass by. What
// reads the whole result comes in a later kernel, but for the gradient of one node, a normalisation say: for
// such libraries have kernels that go over their operands twice.
bool is_reduction(const ir::Graph& graph, const Op& op, const device::Device& device) {
  if (device.synchronous || op.spec->category != ir::Category::Plain || op.outputs.size() != 1) return false;
  if (op.inputs.empty() || !op.inputs[0].valid() || !op.spec->name.starts_with("Reduce")) return false;
  return is_known(graph[op.inputs[0]].type) && is_known(graph[op.outputs[0]].type);
}

// Statistics over all samples are complete only when all of the operand has been read.
bool reads_twice(const Op& op) {
  const auto* training = ir::attribute_if<std::int64_t>(op, "training_mode");
  return training != nullptr && *training != 0 && op.is("BatchNormalization");
}

// Whether results need all rows of the operand, not one each.
bool goes_across_rows(const ir::Graph& graph, const Op& op) {
  const ir::Dims& in = graph[op.inputs[0]].type.dims;
  ir::Dims out = graph[op.outputs[0]].type.dims;
  while (!out.empty() && out.back() == 1) out.pop_back();
  return out.size() > in.size() || !std::equal(out.begin(), out.end(), in.begin());
}

// Nodes that need all of a row before they give any of it: they normalise, or, as the gradient of such a
// node, read what they have summed up of a row. By the place of their ops.
std::vector<bool> find_row_ops(const ir::Graph& graph) {
  std::map<ValueId, std::string_view> sums;  // of a row, and the node that made it
  std::set<std::string_view> nodes;
  for (const Op& op : graph.ops) {
    for (ValueId id : inputs_of(op)) {
      const auto sum = sums.find(id);
      if (sum != sums.end() && sum->second == op.name) nodes.insert(op.name);
    }
    const bool sums_up = op.spec->name.starts_with("Reduce") && op.inputs[0].valid();
    if (sums_up && !op.name.empty() && is_known(graph[op.inputs[0]].type) &&
        is_known(graph[op.outputs[0]].type) && !goes_across_rows(graph, op))
      sums.emplace(op.outputs[0], op.name);
  }
  std::vector<bool> found;
  for (const Op& op : graph.ops)
    found.push_back(op.spec->category == ir::Category::Normalizing || nodes.contains(op.name));
  return found;
}

// Whether a reduction is of more than a kernel keeps: of all rows, or of long ones.
bool reduces_much(const ir::Graph& graph, const Op& op, const device::Device& device) {
  if (op.spec->category != ir::Category::Plain || !op.inputs[0].valid()) return false;
  if (goes_across_rows(graph, op)) return true;
  const ir::Type& operand = graph[op.inputs[0]].type;
  if (!op.spec->name.starts_with("Reduce") || !is_known(operand) || size_of(graph, op) == 0) return false;
  const auto row = static_cast<double>(operand.element_count()) / static_cast<double>(size_of(graph, op));
  return row > 1 && !keeps_row(row, device);
}

// Nodes that go more than once over rows that are longer than a kernel keeps, such as a loss over many
// classes and its gradient. Libraries have kernels for them that read and write one type: what converts it,
// to singles for a loss of halves, has been in memory before, and is once more. By the place of their ops.
std::vector<bool> find_long_row_ops(const ir::Graph& graph, const device::Device& device,
                                    const std::vector<bool>& row_ops) {
  std::vector<bool> found(graph.ops.size(), false);
  if (device.synchronous) return found;
  std::set<std::string_view> nodes;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Op& op = graph.ops[i];
    if (!row_ops[i] || op.is("BatchNormalization")) continue;
    found[i] = operand_reads(ir::TypedOp(graph, op), device) > 1 ||
               (!goes_across_rows(graph, op) && reduces_much(graph, op, device));
    if (found[i] && !op.name.empty()) nodes.insert(op.name);
  }
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = found[i] || nodes.contains(graph.ops[i].name);
  return found;
}

// Sets of ops that have grown together (a disjoint-set forest). A set runs at one time: what its ops read of
// others is made before the first of them.
class Sets {
 public:
  Sets(const ir::Graph& graph, const device::Device& device, const std::vector<bool>& row_ops)
      : graph_(graph),
        views_are_free_(!device.synchronous),
        parents_(graph.ops.size()),
        sets_(graph.ops.size()) {
    std::iota(parents_.begin(), parents_.end(), 0U);
    for (std::size_t i = 0; i < sets_.size(); ++i)
      sets_[i] = {.members = {i}, .has_product = false, .has_rows = row_ops[i]};
  }
  std::size_t find(std::size_t op) {
    while (parents_[op] != op) op = parents_[op] = parents_[parents_[op]];
    return op;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t from = find(a);
    const std::size_t to = find(b);
    if (from == to || !can_run_together(from, to)) return;
    parents_[from] = to;
    Set& all = sets_[to];
    const Set other = std::exchange(sets_[from], {});
    all.members.insert(all.members.end(), other.members.begin(), other.members.end());
    all.has_product = all.has_product || other.has_product;
    all.has_rows = all.has_rows || other.has_rows;
  }
  /// A kernel has one product at most, and nothing that waits for whole rows of it: a piece of a product
  /// holds some columns alone.
  void mark_product(std::size_t op) { sets_[find(op)].has_product = true; }
  /// Who reads the result waits for the whole kernel.
  void mark_complete(ValueId result) { complete_.insert(result); }
  void note_maker(ValueId value, std::size_t op) { makers_[value] = op; }

 private:
  struct Set {
    std::vector<std::size_t> members = {};
    bool has_product = false;
    bool has_rows = false;  ///< needs all of a row
  };

  bool can_run_together(std::size_t a, std::size_t b) {
    const bool has_product = sets_[a].has_product || sets_[b].has_product;
    if (sets_[a].has_product && sets_[b].has_product) return false;
    if (has_product && (sets_[a].has_rows || sets_[b].has_rows)) return false;
    const auto first_of = [&](std::size_t set) { return std::ranges::min(sets_[set].members); };
    const std::size_t first = std::min(first_of(a), first_of(b));
    const std::function<bool(ValueId, const Op&)> is_there = [&](ValueId id, const Op& reader) {
      const auto maker = makers_.find(id);
      if (maker == makers_.end() || maker->second < first) return true;
      const Op& made_by = graph_.ops[maker->second];
      const std::size_t set = find(maker->second);
      if (set != a && set != b)
        return views_are_free_ && (made_by.spec->view || is_number(made_by)) &&
               std::ranges::all_of(inputs_of(made_by), [&](ValueId from) { return is_there(from, reader); });
      return !complete_.contains(id) || (!has_product && are_one_node(made_by, reader));
    };
    for (std::size_t set : {a, b}) {
      for (std::size_t op : sets_[set].members) {
        for (ValueId id : inputs_of(graph_.ops[op])) {
          if (!is_there(id, graph_.ops[op])) return false;
        }
      }
    }
    return true;
  }

  // It can be made before, wherever it stands.
  bool is_number(const Op& op) const {
    return op.spec->category == ir::Category::Elementwise && size_of(graph_, op) == 1;
  }

  const ir::Graph& graph_;
  bool views_are_free_;  ///< of shared memory; where tiles have their own, a new shape lies elsewhere
  std::vector<std::size_t> parents_;
  std::vector<Set> sets_;
  std::map<ValueId, std::size_t> makers_;
  std::set<ValueId> complete_;
};

// Goes over the ops in their order and lets each take over what those before it have made.
class Grower {
 public:
  Grower(const ir::Graph& graph, const device::Device& device)
      : graph_(graph),
        device_(device),
        row_ops_(find_row_ops(graph)),
        long_row_ops_(find_long_row_ops(graph, device, row_ops_)),
        sets_(graph, device, row_ops_) {
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      for (ValueId id : outputs_of(graph.ops[i])) sets_.note_maker(id, i);
    }
  }

  // What libraries have a kernel for stays one, whatever its neighbours are.
  Sets grow() {
    if (device_.fusion == device::Fusion::None) return std::move(sets_);
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (has_epilogue(graph_, graph_.ops[i], device_)) sets_.mark_product(i);
    }
    if (!device_.synchronous) sweep(Among::Nodes);
    sweep(device_.fusion == device::Fusion::All ? Among::All : Among::Nodes);
    return std::move(sets_);
  }

 private:
  enum class Among : std::uint8_t { Nodes, All };

  void sweep(Among among) {
    among_ = among;
    makers_.clear();
    reduced_by_.clear();
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (among == Among::All && has_epilogue(graph_, op, device_)) makers_[op.outputs[0]] = i;
      if (is_reduction(graph_, op, device_)) add_reduction(i);
      if (is_fusible(graph_, op, device_)) add_elementwise(i);
    }
  }
  bool can_take_over(std::size_t before, std::size_t op) const {
    const Op& first = graph_.ops[before];
    const Op& second = graph_.ops[op];
    if (are_one_node(first, second)) return true;
    if (among_ != Among::All) return false;
    const bool converts = first.is("Cast") || second.is("Cast");
    return !converts || (!long_row_ops_[before] && !long_row_ops_[op]);
  }
  void add_reduction(std::size_t i) {
    const ValueId operand = graph_.ops[i].inputs[0];
    const ValueId result = graph_.ops[i].outputs[0];
    sets_.mark_complete(result);
    const auto maker = makers_.find(operand);
    if (maker != makers_.end() && can_take_over(maker->second, i)) sets_.join(maker->second, i);
    const auto [beside, is_first] = reduced_by_.try_emplace(operand, i);
    if (!is_first && can_take_over(beside->second, i)) sets_.join(beside->second, i);
    beside->second = i;
    makers_[result] = i;
  }
  void add_elementwise(std::size_t i) {
    const Op& op = graph_.ops[i];
    for (ValueId id : inputs_of(op)) {
      const auto maker = makers_.find(id);
      if (maker == makers_.end() || reads_twice(op)) continue;
      const Op& before = graph_.ops[maker->second];
      const std::int64_t size = size_of(graph_, before);
      const bool is_one_size = size == size_of(graph_, op) || size == 1;
      const bool is_library_kernel = !device_.synchronous && are_one_node(before, op);
      if (is_library_kernel || (is_one_size && can_take_over(maker->second, i))) sets_.join(maker->second, i);
    }
    for (ValueId id : outputs_of(op)) makers_[id] = i;
  }

  const ir::Graph& graph_;
  const device::Device& device_;
  std::vector<bool> row_ops_;       ///< by the place of the op
  std::vector<bool> long_row_ops_;  ///< that take in no conversion
  Sets sets_;
  Among among_ = Among::Nodes;
  std::map<ValueId, std::size_t> makers_;      ///< of what a later op may take over
  std::map<ValueId, std::size_t> reduced_by_;  ///< the last reduction of a value
};

// Values that nothing but such ops reads.
std::set<ValueId> read_only_by(const ir::Graph& graph, const std::function<bool(const Op&)>& is_such) {
  std::set<ValueId> read;
  std::set<ValueId> otherwise(graph.outputs.begin(), graph.outputs.end());
  for (const Op& op : graph.ops) {
    std::set<ValueId>& readers = is_such(op) ? read : otherwise;
    for (ValueId id : inputs_of(op)) readers.insert(id);
  }
  std::erase_if(read, [&](ValueId id) { return otherwise.contains(id); });
  return read;
}

std::map<ValueId, int> count_readers(const ir::Graph& graph) {
  std::map<ValueId, int> readers;
  for (const Op& op : graph.ops) {
    for (ValueId id : inputs_of(op)) ++readers[id];
  }
  for (ValueId id : graph.outputs) ++readers[id];
  return readers;
}

double bytes_of(const ir::Graph& graph, ValueId id) {
  return static_cast<double>(ir::packed_bytes(graph[id].type));
}

// Whether an op of the kernel reads what another one has made of more than a kernel keeps.
bool goes_twice(const ir::Graph& graph, const DeviceKernel& kernel, const device::Device& device) {
  std::set<ValueId> of_much;
  for (const Op* op : kernel) {
    for (ValueId id : inputs_of(*op)) {
      if (of_much.contains(id)) return true;
    }
    if (reduces_much(graph, *op, device)) of_much.insert(op->outputs[0]);
  }
  return false;
}

// What the kernel goes over twice: operands of normalisations that do not keep them, and what these are
// computed from inside.
std::set<ValueId> read_twice(const ir::Graph& graph, const DeviceKernel& kernel,
                             const device::Device& device) {
  std::set<ValueId> twice;
  for (const Op* op : std::views::reverse(kernel)) {
    const bool feeds = std::ranges::any_of(outputs_of(*op), [&](ValueId id) { return twice.contains(id); });
    if (operand_reads(ir::TypedOp(graph, *op), device) > 1) twice.insert(op->inputs[0]);
    if (!feeds) continue;
    for (ValueId id : inputs_of(*op)) twice.insert(id);
  }
  return twice;
}

// What a processor's own engine computes of plain arithmetic in registers, in operations at the rate of a
// GELU, which takes some 45 instructions for the 8 that count (fast_erf); a division or a root takes as long
// as eight others: guess.
double of_registers(const ir::Graph& graph, const DeviceKernel& kernel, double flop) {
  constexpr double kInstructionsOfGelu = 45.0 / 8;
  constexpr double kOfDivision = 8;
  double instructions = 0;
  for (const Op* op : kernel) {
    if (size_of(graph, *op) == 1) continue;
    const bool is_slow = op->is("Div") || op->is("Sqrt");
    if (!is_slow && !op->is("Add") && !op->is("Sub") && !op->is("Mul")) return flop;
    instructions += ir::work_of(ir::TypedOp(graph, *op)).flop * (is_slow ? kOfDivision : 1);
  }
  return instructions / kInstructionsOfGelu;
}

// What a kernel of several ops loads and stores.
VectorWork joint_work(const ir::Graph& graph, const DeviceKernel& kernel,
                      const std::map<ValueId, int>& readers, const device::Device& device, int tiles) {
  std::map<ValueId, int> made;  // value: readers inside
  double part = 0;
  ValueId result_of_product = ir::kNoValue;  // stored by the product, or in its place what the kernel makes
  for (const Op* op : kernel) {
    if (is_product(*op)) result_of_product = op->outputs[0];
    for (ValueId id : outputs_of(*op)) {
      made[id] = 0;
      part = std::max(part, bytes_of(graph, id) / tiles);
    }
  }
  std::set<ValueId> loaded;
  VectorWork work{.element_bytes = 1};
  const bool goes_over_all_twice = goes_twice(graph, kernel, device);
  const std::set<ValueId> twice = read_twice(graph, kernel, device);
  for (const Op* op : kernel) {
    if (is_product(*op)) continue;
    for (ValueId id : inputs_of(*op)) {
      if (const auto inside = made.find(id); inside != made.end()) {
        ++inside->second;
      } else if (loaded.insert(id).second && is_known(graph[id].type)) {
        work.bytes += bytes_of(graph, id) * (goes_over_all_twice || twice.contains(id) ? 2 : 1);
        if (bytes_of(graph, id) < part * tiles) work.received_bytes += std::min(bytes_of(graph, id), part);
      }
    }
    const ir::TypedOp typed(graph, *op);
    work.flop += ir::work_of(typed).flop;
    work.element_bytes = std::max(work.element_bytes, ir::bit_width(typed.output(0).element) / 8.0);
  }
  if (is_host(device)) work.flop = of_registers(graph, kernel, work.flop);
  double stored = 0;
  bool keeps_product = false;
  for (const auto& [id, inside] : made) {
    const auto all = readers.find(id);
    if (all == readers.end() || all->second <= inside) continue;
    if (id == result_of_product) {
      keeps_product = true;
    } else {
      stored += bytes_of(graph, id);
    }
  }
  // What the product would store is stored after the ops behind it, or beside.
  if (result_of_product.valid() && !keeps_product) stored -= bytes_of(graph, result_of_product);
  work.bytes += std::max(0.0, stored);
  return work;
}

}  // namespace

bool is_update(const DeviceKernel& kernel) {
  return std::ranges::all_of(kernel, [](const ir::Op* op) {
    return ir::is_outer(*op) && op->spec->category == ir::Category::Elementwise;
  });
}

std::vector<DeviceKernel> device_kernels(const ir::Graph& graph, const device::Device& device) {
  Sets sets = Grower(graph, device).grow();
  std::map<std::size_t, std::size_t> last;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) last[sets.find(i)] = i;
  std::map<std::size_t, DeviceKernel> by_last;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) by_last[last[sets.find(i)]].push_back(&graph.ops[i]);
  std::vector<DeviceKernel> kernels;
  kernels.reserve(by_last.size());
  for (auto& [end, kernel] : by_last) kernels.push_back(std::move(kernel));
  return kernels;
}

KernelCosts::KernelCosts(const ir::Graph& graph, const device::Device& device, int tiles)
    : graph_(graph),
      device_(device),
      tiles_(tiles),
      readers_(count_readers(graph)),
      inputs_(graph.inputs.begin(), graph.inputs.end()) {
  if (device.attention_share > 0) scores_ = AttentionScores(graph);
  if (!device.synchronous && device.fusion == device::Fusion::All)
    orders_for_products_ =
        read_only_by(graph, [](const Op& op) { return op.spec->category == ir::Category::MatrixProduct; });
  const auto is_of_bytes = [&](const Op& op) { return multiplies_bytes(op, device); };
  if (std::ranges::any_of(graph.ops, is_of_bytes)) for_byte_products_ = read_only_by(graph, is_of_bytes);
}

bool KernelCosts::is_read_as_it_lies(const Op& op) const {
  if (scores_.is_on_the_way(op)) return true;
  if (op.is("Transpose")) return orders_for_products_.contains(op.outputs[0]);
  return makes_whole_numbers(graph_, op) && for_byte_products_.contains(op.outputs[0]);
}

bool KernelCosts::appends(const Op& op) const {
  if (!appends_in_place(device_) || !op.is("Concat")) return false;
  if (!inputs_.contains(op.inputs[0]) || readers_.at(op.inputs[0]) > 1) return false;
  return is_known(graph_[op.inputs[0]].type) && is_known(graph_[op.outputs[0]].type) &&
         bytes_of(graph_, op.inputs[0]) > bytes_of(graph_, op.outputs[0]) / 2;
}

// The host has a kernel for large scores alone, and gradients read what the way there made.
const AttentionScores::Kernel* KernelCosts::attention_of(const Op& op) const {
  const AttentionScores::Kernel* kernel = scores_.kernel_of(op);
  const bool is_one = kernel != nullptr && (!is_host(device_) || (kernel->in_blocks && !kernel->goes_back));
  return is_one ? kernel : nullptr;
}

// A product of the kernel computes at its rate and reads and writes what is no score; all else on scores is
// done beside. What a mask hides of the scores is passed over where the mask is of the kernel, as nodes are
// that are fused.
OpCost KernelCosts::attention_part(const Op& op, const AttentionScores::Kernel& kernel, int tiles) const {
  // Kernels of their own, before and behind: the gradient of queries is added up in singles in memory, which
  // are cleared and then converted, and what the way there made is read with its gradient for their products.
  // That is 12 bytes for each element of queries, a third for the gradients of queries, keys and values each.
  constexpr double kBytesOnTheWayBack = 12.0 / 3;
  const ir::TypedOp typed(graph_, op);
  OpCost cost;
  cost.flop = ir::work_of(typed).flop;
  const std::vector<RepeatedProduct> products = products_of(typed);
  if (products.empty()) return cost;
  const double seen = device_.fusion == device::Fusion::All ? kernel.share_seen : 1;
  cost.flop *= seen;
  const Product& product = products[0].product;
  const double width = std::min(ir::bit_width(typed.element(0)) / 8.0, kernel.width);
  double bytes = 0;
  for (ValueId id : inputs_of(op)) {
    if (!scores_.contains(id)) bytes += bytes_of(graph_, id);
  }
  const bool makes_scores = scores_.contains(op.outputs[0]);
  if (!makes_scores) bytes += bytes_of(graph_, op.outputs[0]);
  const double positions = (makes_scores ? product.columns : product.inner) * seen;
  cost.seconds = roofline_seconds(
      device_, tiles, kernel.repeats * attention_cycles(cost.flop, positions, width, device_, tiles), bytes,
      makes_scores ? 0 : 1);
  if (kernel.goes_back && !makes_scores) {
    const double apart = kBytesOnTheWayBack * static_cast<double>(size_of(graph_, op));
    cost.seconds += vector_cost({.bytes = apart}, device_, tiles).seconds;
  }
  cost.matrix_flop = cost.flop;
  cost.ideal_seconds =
      cost.flop / peak_flop_per_second(device_, width < 4 ? ir::DataType::Float16 : typed.element(0));
  return cost;
}

OpCost KernelCosts::operator()(const DeviceKernel& kernel, const std::optional<CachedBytes>& cached) const {
  OpCost spread = on(tiles_, kernel, cached);
  if (device_.spread_seconds == 0 || tiles_ == 1) return spread;
  OpCost alone = on(1, kernel, cached);
  if (spread.seconds == 0 || alone.seconds < spread.seconds + device_.spread_seconds) return alone;
  spread.seconds += device_.spread_seconds;
  return spread;
}

OpCost KernelCosts::on(int tiles, const DeviceKernel& kernel,
                       const std::optional<CachedBytes>& cached) const {
  std::optional<device::Device> finding;
  if (is_host(device_) && cached) {
    finding = device_;
    finding->cache_bytes = cached->all;
    finding->near_cache_bytes = cached->near / tiles;
  }
  const device::Device& moving = finding ? *finding : device_;
  OpCost sum;
  OpCost product;
  bool is_attention = false;
  for (const Op* op : kernel) {
    if (is_read_as_it_lies(*op)) continue;
    try {
      if (const auto* attention = attention_of(*op)) {
        sum += attention_part(*op, *attention, tiles);
        is_attention = true;
        continue;
      }
      if (appends(*op)) {
        const double added = bytes_of(graph_, op->outputs[0]) - bytes_of(graph_, op->inputs[0]);
        sum += vector_cost({.bytes = 2 * added}, moving, tiles);
        continue;
      }
      const bool keeps_state = op->spec->category == ir::Category::Recurrent;
      const OpCost cost = op_cost(ir::TypedOp(graph_, *op), keeps_state ? device_ : moving, tiles);
      if (is_product(*op)) product = cost;
      sum += cost;
    } catch (const Error& error) {
      throw error.at(graph_.describe(*op));
    }
  }
  if (kernel.size() == 1 || is_attention) return sum;
  OpCost joint = vector_cost(joint_work(graph_, kernel, readers_, device_, tiles), moving, tiles);
  // What is joined by a narrow value among wide ones may load more than it saves.
  if (product.seconds > 0)
    joint.seconds += product.seconds - device_.phase_overhead_cycles / device_.clock_hertz;
  joint.matrix_flop = sum.matrix_flop;
  if (joint.seconds > sum.seconds) return sum;
  joint.flop = sum.flop;
  joint.ideal_seconds = sum.ideal_seconds;
  return joint;
}

}  // namespace podium::sim
