// The ops are looked at in three walks. Backwards: which ops lead to the loss, and which to a gradient.
// Forwards: an op of the loss's stage is of the way back when it leads to a gradient and not to the loss, or
// reads what such an op has made. Backwards again: an op of the way back is needed by other chunks when one
// of them reads it, or an op of its chunk that is needed.
//
//   stage       0     1     2     3     4         stages on processors 0, 1, 2, 1, 0; the loss is in stage 2
//   chunk       F0    F1   F2 B2  B1    B0
#include "executor/lower/placed/chunks.h"

#include <algorithm>
#include <set>

#include "executor/lower/placed/stages.h"

namespace podium::lower {
namespace {

using ir::Graph;
using ir::IdMap;
using ir::OpId;
using ir::ValueId;
using schedule::Pass;

constexpr int kNone = -1;

// Per op that runs in each micro-batch.
struct LeadsTo {
  IdMap<OpId, bool> loss;
  IdMap<OpId, bool> gradient;
};

// What updates read, directly or as what micro-batches add up. What an op keeps for itself, as a running
// mean, is no gradient.
std::set<ValueId> gradients_of(const PlacedGraph& placed) {
  const ir::Training& training = placed.training;
  std::set<ValueId> found(training.reduced.begin(), training.reduced.end());
  for (OpId op : placed.graph().op_ids()) {
    if (!placed.is_outer(op)) continue;
    for (ValueId id : inputs_of(placed.graph()[op])) found.insert(id);
  }
  std::set<ValueId> statistics;
  for (const ir::Variable& variable : training.variables) {
    if (variable.kind == ir::VariableKind::Statistic) statistics.insert(variable.value);
  }
  for (const ir::Update& update : training.updates) {
    if (!update.outer && !statistics.contains(update.variable)) {
      found.insert(placed.graph().outputs[update.output]);
    }
  }
  return found;
}

LeadsTo find_ways(const PlacedGraph& placed) {
  const Graph& graph = placed.graph();
  const auto makers = producers(graph);
  LeadsTo leads{IdMap<OpId, bool>(std::ssize(graph.ops), false), {}};
  leads.gradient = leads.loss;
  const auto note = [&](IdMap<OpId, bool>& which, ValueId id) {
    if (id.valid() && makers[id].valid()) which[makers[id]] = true;
  };
  const ValueId loss = graph.outputs[placed.training.loss];
  for (ValueId id : graph.outputs) {
    if (placed.streamed_as(id) == loss) note(leads.loss, id);
  }
  for (ValueId id : gradients_of(placed)) note(leads.gradient, id);
  for (OpId op : backwards(graph)) {
    if (placed.is_outer(op)) continue;
    for (ValueId id : inputs_of(graph[op])) {
      if (leads.loss[op]) note(leads.loss, id);
      if (leads.gradient[op]) note(leads.gradient, id);
    }
  }
  return leads;
}

class ChunkFinder {
 public:
  ChunkFinder(const PlacedGraph& placed, Adjacent adjacent)
      : placed_(placed),
        graph_(placed.graph()),
        adjacent_(adjacent),
        trains_(!placed.training.updates.empty()),
        stages_(placed.placement.stages / placed.copies),
        groups_(find_groups(placed)) {
    chunks_.of_op = IdMap<OpId, ChunkPass>(std::ssize(graph_.ops), ChunkPass{});
    find_processors();
    loss_stage_ =
        trains_ ? placed[producers(graph_)[graph_.outputs[placed.training.loss]]].stage : stages_ - 1;
  }

  Chunks run() {
    for (int copy = 0; copy < placed_.copies; ++copy) number_chunks(copy * stages_);
    find_passes();
    if (trains_) split_ways_back();
    return std::move(chunks_);
  }

 private:
  void find_processors() {
    processors_.assign(placed_.placement.stages, kNone);
    for (OpId op : graph_.op_ids()) {
      if (placed_.is_outer(op)) continue;
      processors_.at(placed_[op].stage) = groups_.of[placed_[op].processor];
    }
  }

  // Of the copy that has this stage in front. A stage of the way back is that of the last chunk, below those
  // behind it, on its processor.
  void number_chunks(int first_stage) {
    std::vector<int>& of_chunk = chunks_.layout.processor_of;
    const int first_chunk = chunks_.layout.chunks();
    for (int stage = first_stage; stage < first_stage + stages_; ++stage) {
      const int processor = processors_[stage];
      if (processor == kNone) {
        chunk_of_.push_back(stage == first_stage ? first_chunk : chunk_of_.back());
        continue;
      }
      if (stage - first_stage <= loss_stage_) {
        const bool is_same = adjacent_ == Adjacent::AreOne && chunks_.layout.chunks() > first_chunk &&
                             of_chunk.back() == processor;
        if (!is_same) of_chunk.push_back(processor);
        chunk_of_.push_back(static_cast<int>(of_chunk.size()) - 1);
        continue;
      }
      int chunk = chunk_of_.back() - (adjacent_ == Adjacent::AreApart ? 1 : 0);
      while (chunk >= first_chunk && of_chunk[chunk] != processor) --chunk;
      if (chunk < first_chunk) {
        throw Error(
            "stage {} is on ipu {}: behind the loss a stage on the ipu of each forward stage is needed, in "
            "the opposite order",
            stage, processor);
      }
      chunk_of_.push_back(chunk);
    }
    if (of_chunk.empty()) of_chunk.push_back(0);
    chunks_.layout.processors = groups_.count();
    chunks_.layout.copies = placed_.copies;
  }

  void find_passes() {
    if (!trains_) {
      for (OpId op : graph_.op_ids()) chunks_.of_op[op].chunk = chunk_of_[placed_[op].stage];
      return;
    }
    const LeadsTo leads = find_ways(placed_);
    const auto makers = producers(graph_);
    for (OpId op : graph_.op_ids()) {
      if (placed_.is_outer(op)) continue;
      const int stage = placed_[op].stage;
      const int in_copy = stage % stages_;
      bool is_back = in_copy > loss_stage_ || (leads.gradient[op] && !leads.loss[op]);
      for (ValueId id : inputs_of(graph_[op])) {
        is_back = is_back || (makers[id].valid() && chunks_.of_op[makers[id]].pass != Pass::Forward);
      }
      if (in_copy < loss_stage_) is_back = false;
      chunks_.of_op[op] = {is_back ? Pass::WeightGradient : Pass::Forward, chunk_of_[stage]};
    }
  }

  void split_ways_back() {
    const auto readers = consumers(graph_);
    for (OpId op : backwards(graph_)) {
      ChunkPass& here = chunks_.of_op[op];
      if (placed_.is_outer(op) || here.pass == Pass::Forward) continue;
      for (ValueId id : outputs_of(graph_[op])) {
        for (OpId reader : readers[id]) {
          if (placed_.is_outer(reader)) continue;
          const ChunkPass& there = chunks_.of_op[reader];
          if (there.chunk != here.chunk || there.pass == Pass::InputGradient) here.pass = Pass::InputGradient;
        }
      }
    }
  }

  const PlacedGraph& placed_;
  const Graph& graph_;
  Adjacent adjacent_;
  bool trains_;
  int stages_;  ///< of a copy of the model
  Groups groups_;
  int loss_stage_ = 0;
  std::vector<int> processors_;  ///< of each stage the group, as if it were one processor
  std::vector<int> chunk_of_;    ///< of each stage
  Chunks chunks_;
};

}  // namespace

Chunks find_chunks(const PlacedGraph& placed, Adjacent adjacent) {
  return ChunkFinder(placed, adjacent).run();
}

}  // namespace podium::lower
