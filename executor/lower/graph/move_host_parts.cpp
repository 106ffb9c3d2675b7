// An input is followed through the ops that cut it (Slice, Gather of ascending indices), an output back
// through the ops that put it together (Concat), with the box of the whole that each value is:
//
//   ipu 0   a = Slice(x, 0, 2)   p = Relu(a)                 a is x[0:2]   p = Relu(a)   p is y[0:2]
//   ipu 1   b = Slice(x, 2, 4)   q = Relu(b)      becomes    b is x[2:4]   q = Relu(b)   q is y[2:4]
//   ipu 0   y = Concat(p, q)
#include "executor/lower/graph/move_host_parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/ops/slice.h"

namespace podium::lower {
namespace {

using ir::Box;
using ir::Graph;
using ir::IdMap;
using ir::IndexRange;
using ir::Op;
using ir::OpId;
using ir::ValueId;

class HostParts {
 public:
  HostParts(PlacedGraph& placed, const Strategy& strategy)
      : placed_(placed),
        graph_(placed.graph()),
        strategy_(strategy),
        makers_(producers(graph_)),
        readers_(consumers(graph_)),
        outputs_(std::ssize(graph_.values), 0),
        is_of_training_(std::ssize(graph_.values), false),
        is_gone_(std::ssize(graph_.ops), false),
        read_instead_(std::ssize(graph_.values)) {
    for (ValueId id : graph_.outputs) ++outputs_[id];
    const ir::Training& training = placed.training;
    for (const ir::Variable& variable : training.variables) is_of_training_[variable.value] = true;
    for (const ir::HyperParameter& one : training.hyper_parameters) is_of_training_[one.value] = true;
    for (const ir::Update& update : training.updates) is_of_training_[graph_.outputs[update.output]] = true;
    for (ValueId id : training.reduced) is_of_training_[id] = true;
    if (!training.variables.empty()) is_of_training_[graph_.outputs[training.loss]] = true;
  }

  void move() {
    const std::vector<ValueId> inputs = graph_.inputs;
    for (ValueId id : inputs) {
      if (may_move(id)) load_parts(id);
    }
    const std::size_t outputs = graph_.outputs.size();
    for (std::size_t i = 0; i < outputs; ++i) {
      const ValueId id = graph_.outputs[i];
      if (may_move(id) && outputs_[id] == 1 && readers_[id].empty() && is_join(id) && !adds_up(id))
        store_parts(i);
    }
    if (placed_.host_parts.empty()) return;
    IdMap<OpId, PlacedOp> ops = placed_.take_ops();
    for (const OpId id : ops.ids()) {
      if (is_gone_[id]) continue;
      for (ValueId& read : ops[id].op.inputs) {
        if (read.valid() && read_instead_[read].valid()) read = read_instead_[read];
      }
      placed_.append(std::move(ops[id].op), ops[id].place);
    }
  }

 private:
  // A value that ops have cut out of an input.
  struct Cut {
    ValueId value;
    Box box;
    std::vector<OpId> ops;  // that cut it
  };
  // What a processor reads of an input.
  struct Reads {
    bool all = false;
    std::vector<Cut> cuts = {};
  };
  struct Piece {
    ValueId value;
    Box box;
  };

  bool may_move(ValueId id) const { return graph_[id].type.is_static() && !is_of_training_[id]; }

  // ---- inputs -------------------------------------------------------------------------------------------

  int processor_of(OpId op) const { return placed_[op].processor; }

  void load_parts(ValueId input) {
    std::map<int, Reads> of_processors;
    follow({input, ir::whole_box(graph_[input].type.dims), {}}, of_processors);
    if (of_processors.size() < 2) return;
    std::map<Box, ValueId> parts;
    for (const auto& [processor, reads] : of_processors) {
      const auto is_other = [&](const Cut& cut) { return cut.box != reads.cuts.front().box; };
      if (reads.all || std::ranges::any_of(reads.cuts, is_other)) continue;
      for (const Cut& cut : reads.cuts) {
        for (OpId op : cut.ops) is_gone_[op] = true;
        const auto [part, is_new] = parts.emplace(cut.box, cut.value);
        if (is_new) {
          graph_.inputs.push_back(cut.value);
          placed_.host_parts.emplace(cut.value, HostPart{input, cut.box});
        } else {
          read_instead_[cut.value] = part->second;
        }
      }
    }
  }

  // Notes who reads the value, and what is cut out of it.
  void follow(const Cut& from, std::map<int, Reads>& of_processors) const {
    for (OpId reader : readers_[from.value]) {
      const int processor = processor_of(reader);
      const std::optional<Box> places = cut_by(reader, from.value);
      if (!places) {
        of_processors[processor].all = true;
        continue;
      }
      Cut cut{graph_[reader].outputs[0], {}, from.ops};
      for (std::size_t axis = 0; axis < places->size(); ++axis)
        cut.box.push_back(ir::indices_at(from.box[axis], (*places)[axis]));
      cut.ops.push_back(reader);
      if (is_cut_on(cut.value, processor)) {
        follow(cut, of_processors);
      } else {
        of_processors[processor].cuts.push_back(std::move(cut));
      }
    }
  }

  // The value is only there for ops of the processor that cut it.
  bool is_cut_on(ValueId id, int processor) const {
    return !readers_[id].empty() && std::ranges::all_of(readers_[id], [&](OpId reader) {
      return processor_of(reader) == processor && cut_by(reader, id);
    });
  }

  // What an op cuts out of a value, where it does nothing else and each micro-batch anew.
  std::optional<Box> cut_by(OpId id, ValueId from) const {
    const Op& op = graph_[id];
    if (placed_.is_outer(id) || op.inputs[0] != from || std::ranges::count(op.inputs, from) != 1)
      return std::nullopt;
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && !graph_.is_constant(op.inputs[i])) return std::nullopt;
    }
    std::optional<Box> box;
    if (op.is("Slice")) box = cut_by_slice(op);
    if (op.is("Gather")) box = cut_by_gather(op);
    const bool is_part = box && std::ranges::none_of(*box, &std::vector<IndexRange>::empty);
    return is_part && outputs_[op.outputs[0]] == 0 ? box : std::nullopt;
  }

  ir::Dims ints(const Op& op, std::size_t input) const {
    return input < op.inputs.size() && op.inputs[input].valid() ? graph_[op.inputs[input]].constant->to_ints()
                                                                : ir::Dims{};
  }

  std::optional<Box> cut_by_slice(const Op& op) const {
    Box box;
    for (const ir::AxisSlice& axis :
         ir::slices_of(graph_[op.inputs[0]].type.dims, ints(op, 1), ints(op, 2), ints(op, 3), ints(op, 4))) {
      if (axis.step != 1) return std::nullopt;
      append(box.emplace_back(), {axis.first, axis.first + axis.count});
    }
    return box;
  }

  std::optional<Box> cut_by_gather(const Op& op) const {
    const ir::Dims& dims = graph_[op.inputs[0]].type.dims;
    if (graph_[op.inputs[1]].type.dims.size() != 1) return std::nullopt;
    const auto* said = ir::attribute_if<std::int64_t>(op, "axis");
    const std::int64_t axis = said == nullptr ? 0 : *said;
    Box box = ir::whole_box(dims);
    std::vector<IndexRange>& ranges = box[axis < 0 ? axis + std::ssize(dims) : axis];
    const std::int64_t size = ranges.front().end;
    ranges.clear();
    for (std::int64_t index : ints(op, 1)) {
      if (index < 0) index += size;
      const std::int64_t next = ranges.empty() ? 0 : ranges.back().end;
      if (index < next || index >= size) return std::nullopt;
      append(ranges, {index, index + 1});
    }
    return box;
  }

  // ---- outputs ------------------------------------------------------------------------------------------

  bool adds_up(ValueId output) const {
    const auto anchor = strategy_.anchors.find(graph_[output].name);
    return anchor != strategy_.anchors.end() && anchor->second.returns == AnchorReturn::Sum;
  }

  void store_parts(std::size_t index) {
    const ValueId output = graph_.outputs[index];
    std::vector<OpId> joins;
    std::vector<Piece> pieces;
    take_apart(output, ir::whole_box(graph_[output].type.dims), joins, pieces);
    std::set<int> processors;
    std::set<ValueId> values;
    for (const Piece& piece : pieces) {
      const OpId maker = makers_[piece.value];
      if (!maker.valid() || is_gone_[maker] || outputs_[piece.value] > 0 ||
          !values.insert(piece.value).second)
        return;
      processors.insert(placed_.place_of(maker, piece.value).processor);
    }
    if (processors.size() < 2) return;
    for (OpId join : joins) is_gone_[join] = true;
    graph_.outputs[index] = pieces.front().value;
    for (const Piece& piece : pieces) {
      placed_.host_parts.emplace(piece.value, HostPart{output, piece.box});
      ++outputs_[piece.value];
      if (&piece != &pieces.front()) graph_.outputs.push_back(piece.value);
    }
  }

  bool is_join(ValueId id) const {
    const OpId maker = makers_[id];
    return maker.valid() && graph_[maker].is("Concat") && !placed_.is_outer(maker) &&
           std::ranges::all_of(graph_[maker].inputs,
                               [&](ValueId one) { return graph_[one].type.is_static(); });
  }

  // The pieces that a value is put together from, those of its pieces in place of these.
  void take_apart(ValueId id, const Box& box, std::vector<OpId>& joins, std::vector<Piece>& pieces) const {
    const OpId maker = makers_[id];
    joins.push_back(maker);
    const std::int64_t said = ir::attribute<std::int64_t>(graph_[maker], "axis");
    const std::size_t axis = said < 0 ? said + std::ssize(box) : said;
    std::int64_t begin = box[axis].front().begin;
    for (ValueId input : graph_[maker].inputs) {
      Box part = box;
      const std::int64_t size = graph_[input].type.dims[axis];
      if (size == 0) continue;
      part[axis] = {{begin, begin + size}};
      begin += size;
      if (is_join(input) && readers_[input].size() == 1 && outputs_[input] == 0 &&
          processor_of(makers_[input]) == processor_of(maker)) {
        take_apart(input, part, joins, pieces);
      } else {
        pieces.push_back({input, std::move(part)});
      }
    }
  }

  PlacedGraph& placed_;
  Graph& graph_;
  const Strategy& strategy_;
  const IdMap<ValueId, OpId> makers_;
  const ir::Consumers readers_;
  IdMap<ValueId, int> outputs_;          ///< how many the value is
  IdMap<ValueId, bool> is_of_training_;  ///< a variable, what one becomes, the loss
  IdMap<OpId, bool> is_gone_;
  IdMap<ValueId, ValueId> read_instead_;
};

}  // namespace

void move_host_parts(PlacedGraph& placed, const Strategy& strategy) {
  if (placed.training.slices == 1) HostParts(placed, strategy).move();
}

}  // namespace podium::lower
