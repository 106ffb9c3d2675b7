// Parts come in an order in which they can run, each on its processor, and each brings what it reads: inputs
// from the host, the rest from the processor that had it first. All steps are one cycle, so overlapped host
// IO is the only thing that runs beside them. Where tensors are cut over devices, parts that can run side by
// side are a round, which begins with one exchange for all of them.
#include <algorithm>
#include <span>

#include "executor/lower/draft/cut_update.h"
#include "executor/lower/draft/host_io.h"
#include "executor/lower/draft/remote.h"
#include "executor/lower/draft/rounds.h"
#include "executor/lower/draft/update.h"
#include "executor/lower/placed/op_passes.h"
#include "executor/lower/strategies/strategies.h"

namespace podium::lower {

using executor::CopyBetweenProcessors;
using ir::ValueId;

namespace {

// For each of the part's reads, the place of the op that reads it first.
std::vector<std::int64_t> first_readers(const Part& part) {
  const std::int64_t end = std::ssize(part.graph.ops);
  ir::IdMap<ValueId, std::int64_t> first(std::ssize(part.graph.values), end);
  for (std::int64_t i = end; i-- > 0;) {
    for (ValueId id : inputs_of(part.graph.ops[i])) first[id] = i;
  }
  std::vector<std::int64_t> of_reads;
  for (ValueId id : part.graph.inputs) of_reads.push_back(first[id]);
  return of_reads;
}

class Sharded {
 public:
  Sharded(Draft& draft, Remote& remote)
      : draft_(draft),
        remote_(remote),
        io_(draft),
        is_on_(std::ssize(draft.graph.values)),
        update_(draft, io_, [this](ValueId id) -> std::vector<int>& { return places(id); }) {
    for (const PlacedVariable& variable : draft.variables.all()) {
      places(variable.value) = draft.variables.processors(variable.value);
    }
  }

  void add(Part& part, const std::string& name) {
    remote_.bring_weights(part, io_.first_cycle(), beat_.steps);
    bring_reads(part, part.turn.processor);
    compute(part, name);
  }
  /// Parts that run side by side, each on a processor of its own: what they read comes in one exchange.
  void add_round(std::span<Part> parts, std::int64_t first) {
    CopyBetweenProcessors copy;
    for (Part& part : parts) {
      remote_.bring_weights(part, io_.first_cycle(), beat_.steps);
      for (std::size_t i = 0; i < part.reads.size(); ++i) bring(part.reads[i], reader_of(part, i), copy);
    }
    if (!copy.transfers.empty()) beat_.steps.push_back({io_.first_cycle(), {.action = std::move(copy)}});
    for (Part& part : parts) compute(part, fmt::format("part{}", first++));
  }
  void add_update(Part& part, const std::string& name) { update_.add(part, name); }
  void finish() { draft_.program.steps = io_.run({std::move(beat_)}, update_.take()); }

 private:
  std::vector<int>& places(ValueId id) { return is_on_[id]; }

  void compute(Part& part, const std::string& name) {
    const std::vector<int> makers = makers_of(part);
    for (executor::Step& step : draft_.run(part, name))
      beat_.steps.push_back({io_.first_cycle(), std::move(step)});
    for (std::size_t i = 0; i < part.writes.size(); ++i) {
      places(part.writes[i]).push_back(makers[i]);
      io_.store(part.writes[i], makers[i], io_.first_cycle(), beat_.steps);
    }
  }

  void bring(ValueId id, int processor, CopyBetweenProcessors& copy) {
    std::vector<int>& where = places(id);
    if (remote_.weight(id) || std::find(where.begin(), where.end(), processor) != where.end()) return;
    if (draft_.variables.is_hyper_parameter(id)) {
      io_.load_once(id, processor);
    } else if (where.empty()) {
      io_.load(id, processor, io_.first_cycle(), beat_.steps);
    } else {
      copy.transfers.push_back({{draft_.buffer(id, where.front())}, {draft_.buffer(id, processor)}});
    }
    where.push_back(processor);
  }

  // Brings what a part reads: from the host what comes from there, the rest from the processor that made it.
  // What one op is the first to read comes in one copy.
  void bring_reads(const Part& part, int processor) {
    const std::vector<std::int64_t> first = first_readers(part);
    CopyBetweenProcessors copy;
    for (std::size_t i = 0; i < part.reads.size(); ++i) {
      bring(part.reads[i], processor, copy);
      const bool is_last_of_op = i + 1 == part.reads.size() || first[i + 1] != first[i];
      if (is_last_of_op && !copy.transfers.empty()) {
        beat_.steps.push_back({io_.first_cycle(), {.action = std::exchange(copy, {})}});
      }
    }
  }

  Draft& draft_;
  Remote& remote_;
  HostIo io_;
  Beat beat_;
  ir::IdMap<ValueId, std::vector<int>>
      is_on_;  ///< processors that hold a value, the one that had it first in front
  UpdateSteps update_;
};

bool has_rounds(const Draft& draft) { return draft.strategy.cuts_tensors(); }

// The sections of a micro-batch: each ends with an op that makes an output for the IO tiles, so that it
// leaves while the rest computes, or where weights that were gathered make room for others.
struct Sections {
  ir::IdMap<ir::OpId, int> of_op;
  int count = 1;
};

Sections cut_into_sections(const Draft& draft, const Remote& remote) {
  ir::IdMap<ValueId, bool> leaves(std::ssize(draft.graph.values), false);
  for (int i = 0; i < std::ssize(draft.graph.outputs); ++i) {
    const ValueId id = draft.graph.outputs[i];
    if (!draft.variables.is_update(i) && leaves_at_once(draft, id)) leaves[id] = true;
  }
  Sections sections{.of_op = remote.sections()};
  int left = 0;
  for (ir::OpId id : draft.graph.op_ids()) {
    sections.of_op[id] += left;
    sections.count = std::max(sections.count, sections.of_op[id] + 1);
    for (ValueId made : outputs_of(draft.graph[id])) left += leaves[made] ? 1 : 0;
  }
  return sections;
}

// Ops run section by section, and in each on one processor after the other; then comes what changes for the
// next micro-batch, then the update.
ir::IdMap<ir::OpId, Turn> turns_of_sections(const Draft& draft, const Remote& remote) {
  const Sections sections = cut_into_sections(draft, remote);
  const UpdateSections update = cut_update(draft.placed, draft.variables);
  // Where there is one part only, it reads variables before it changes them.
  const bool is_one_part = sections.count == 1 && draft.placement.processors == 1;
  ir::IdMap<ir::OpId, Turn> turns;
  for (ir::OpId op : draft.graph.op_ids()) {
    Turn turn{.section = sections.of_op[op], .processor = draft.placed[op].processor};
    if (draft.variables.is_late(op) && !is_one_part) turn = {.work = Work::Late, .processor = turn.processor};
    if (draft.placed.is_outer(op)) {
      turn = {.work = Work::Update, .section = update.of_op[op], .processor = turn.processor};
    }
    turns.push_back(turn);
  }
  if (has_rounds(draft)) cut_into_rounds(draft.placed, turns);
  return turns;
}

// What a gradient computes of the forward pass alone, such as the statistics of a normalisation, comes with
// the rest of it. What reads variables, which may change, stays where it is, and so does everything where
// parts come in rounds.
ir::IdMap<ir::OpId, bool> may_wait(const Draft& draft) {
  ir::IdMap<ir::OpId, bool> waits(std::ssize(draft.graph.ops), false);
  if (has_rounds(draft)) return waits;
  ir::IdMap<ValueId, bool> is_input(std::ssize(draft.graph.values), false);
  for (ValueId id : draft.graph.inputs) is_input[id] = true;
  const ir::IdMap<ir::OpId, OpPass> passes = passes_of(draft.placed);
  for (ir::OpId id : draft.graph.op_ids()) {
    const auto& inputs = inputs_of(draft.graph[id]);
    waits[id] = passes[id] == OpPass::Backward && !draft.variables.is_late(id) &&
                std::none_of(inputs.begin(), inputs.end(), [&](ValueId input) { return is_input[input]; });
  }
  return waits;
}

}  // namespace

executor::Program sharded(const Lowering& lowering) {
  Draft draft(lowering);
  Remote remote(draft);
  const ir::IdMap<ir::OpId, bool> waits = may_wait(draft);
  std::vector<Part> parts = make_parts(draft.graph, turns_of_sections(draft, remote),
                                       {.streamed = remote.streamed(),
                                        .may_wait = [&](ir::OpId op) { return waits[op]; },
                                        .priority = draft.priorities()});
  Sharded strategy(draft, remote);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (has_rounds(draft) && parts[p].turn.work == Work::MicroBatch) {
      const std::size_t count = length_of_round(std::span(parts).subspan(p));
      strategy.add_round(std::span(parts).subspan(p, count), std::int64_t(p));
      p += count - 1;
    } else if (parts[p].turn.work == Work::Update) {
      strategy.add_update(parts[p], fmt::format("update{}", p));
    } else {
      strategy.add(parts[p], parts.size() == 1 ? "all" : fmt::format("part{}", p));
    }
  }
  strategy.finish();
  return std::move(draft.program);
}

}  // namespace podium::lower
