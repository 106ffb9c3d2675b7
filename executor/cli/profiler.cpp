// Ops of the simulator's blocks become rows: they are multiplied by the number of its runs, which the
// loops of the Program tell.
#include "executor/cli/profiler.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "executor/cli/op_layers.h"
#include "ir/annotation.h"

namespace podium::cli {
namespace {

using executor::Program;
using report::ProfiledOp;

// How often a block runs in a step, and one of the steps that do.
struct BlockRuns {
  const executor::Step* step = nullptr;
  std::int64_t times = 0;
};

// By the block's number and its name there.
using Runs = std::map<std::pair<std::int32_t, std::string>, BlockRuns>;

void count_runs(const Program& program, const std::vector<executor::Step>& steps, std::int64_t rounds,
                int count, Runs& runs) {
  for (const executor::Step& step : steps) {
    const std::int64_t times = rounds * count_of(step.acts, count);
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
      count_runs(program, repeat->body, times, repeat->count, runs);
    const auto* compute = std::get_if<executor::Compute>(&step.action);
    if (compute == nullptr) continue;
    BlockRuns& of = runs[{compute->block.index, name_of(program, *compute)}];
    of.step = &step;
    of.times += times;
  }
}

// The stage that a step runs in. An update behind the pipeline belongs to that of the weights it is for,
// which annotations tell; one that runs in the place of equal ones has those of one of them alone.
std::optional<int> stage_of(const Program& program, const executor::Step& step) {
  if (step.origin.stage) return step.origin.stage;
  const auto& compute = std::get<executor::Compute>(step.action);
  const executor::Block& block = program[compute.block];
  if (!block.name.starts_with("update") || name_of(program, compute) != block.name) return {};
  for (const ir::Op& op : block.graph.ops) {
    for (const std::string_view name : {ir::kPipelineStage, ir::kPlainPipelineStage}) {
      if (const auto* stage = ir::attribute_if<std::int64_t>(op, name)) return static_cast<int>(*stage);
    }
  }
  return {};
}

// Derivatives make values that the model does not have; blocks of an update say so in their names.
class Profiler {
 public:
  Profiler(const std::vector<sim::BlockReport>& blocks, const std::set<std::string>& forward)
      : blocks_(blocks), forward_(forward) {}

  std::vector<ProfiledOp> profile(const Program& program) {
    Runs runs;
    count_runs(program, program.steps, 1, 1, runs);
    std::vector<ProfiledOp> ops;
    const OpLayers layers(program, forward_);
    for (const auto& [key, of] : runs) {
      add_block(
          blocks_[key.first], key.second,
          {of.times, stage_of(program, *of.step), layers.of(std::get<executor::Compute>(of.step->action))},
          ops);
    }
    return ops;
  }

 private:
  struct Facts {
    std::int64_t runs = 0;
    std::optional<int> stage = {};
    ValueLayers layers = {};
  };

  void add_block(const sim::BlockReport& block, const std::string& name, const Facts& facts,
                 std::vector<ProfiledOp>& ops) const {
    const auto& [runs, stage, layers] = facts;
    const auto times = static_cast<double>(runs);
    double of_ops = 0;
    for (const sim::BlockOp& op : block.ops) {
      of_ops += op.seconds;
      ops.push_back({.name = op.name,
                     .type = op.type,
                     .layer = layer_of(op, layers),
                     .block = name,
                     .processor = block.processor,
                     .stage = stage,
                     .pass = pass_of(name, op),
                     .runs = runs,
                     .seconds = times * op.seconds,
                     .flop = times * op.flop,
                     .bytes = times * op.bytes,
                     .ideal_seconds = times * op.ideal_seconds});
    }
    // Where the host's dispatch is slower than the kernels, it is what the block takes.
    const double rest = block.seconds - of_ops;
    if (rest <= 1e-9 * block.seconds) return;
    ops.push_back({.name = "dispatch by the host",
                   .type = "",
                   .layer = "",
                   .block = name,
                   .processor = block.processor,
                   .stage = stage,
                   .pass = block.ops.empty() ? report::Pass::Forward : pass_of(name, block.ops[0]),
                   .runs = runs,
                   .seconds = times * rest});
  }

  // Without the block's graph the op's name is all there is.
  static std::string layer_of(const sim::BlockOp& op, const ValueLayers& layers) {
    const auto found = op.makes.empty() ? layers.end() : layers.find(op.makes.front());
    return found == layers.end() ? report::layer_of(op.name) : found->second;
  }

  report::Pass pass_of(const std::string& block, const sim::BlockOp& op) const {
    if (block.starts_with("update")) return report::Pass::Update;
    const bool is_forward =
        forward_.empty() || std::any_of(op.makes.begin(), op.makes.end(),
                                        [&](const std::string& name) { return forward_.contains(name); });
    return is_forward ? report::Pass::Forward : report::Pass::Backward;
  }

  const std::vector<sim::BlockReport>& blocks_;
  const std::set<std::string>& forward_;
};

using Crossings = std::map<std::tuple<int, int, std::string>, report::Crossing>;

void add_crossing(const executor::Buffer& from, const executor::Buffer& to, std::int64_t times, double bytes,
                  Crossings& crossings) {
  report::Crossing& crossing = crossings[{from.processor, to.processor, to.name}];
  crossing = {from.processor, to.processor, to.name, crossing.times + times,
              crossing.bytes + static_cast<double>(times) * bytes};
}

// Each member passes to the next what a ring takes: a part once for each other member, in an all-reduce
// twice. In an all-to-all it sends each other one a share of what it has.
void add_collective(const Program& program, const executor::GroupCollective& group, std::int64_t times,
                    Crossings& crossings) {
  const std::size_t members = group.transfers.size();
  const executor::Transfer& first = group.transfers.front();
  const auto whole = static_cast<double>(
      std::max(slot_bytes(program[first.from.buffer]), slot_bytes(program[first.to.buffer])));
  const double ways = group.kind == executor::CollectiveKind::AllReduce ? 2 : 1;
  const double sent = ways * whole * static_cast<double>(members - 1) / static_cast<double>(members);
  for (std::size_t i = 0; i < members; ++i) {
    const executor::Buffer& from = program[group.transfers[i].from.buffer];
    if (group.kind != executor::CollectiveKind::AllToAll) {
      add_crossing(from, program[group.transfers[(i + 1) % members].to.buffer], times, sent, crossings);
      continue;
    }
    for (std::size_t j = 0; j < members; ++j) {
      if (i != j)
        add_crossing(from, program[group.transfers[j].to.buffer], times, whole / static_cast<double>(members),
                     crossings);
    }
  }
}

void add_crossings(const Program& program, const std::vector<executor::Step>& steps, std::int64_t rounds,
                   int count, Crossings& crossings) {
  for (const executor::Step& step : steps) {
    if (const auto* group = std::get_if<executor::GroupCollective>(&step.action))
      add_collective(program, *group, rounds * count_of(step.acts, count), crossings);
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
      add_crossings(program, repeat->body, rounds * count, repeat->count, crossings);
    const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&step.action);
    if (copy == nullptr) continue;
    for (const executor::Transfer& one : copy->transfers) {
      const executor::Buffer& to = program[one.to.buffer];
      add_crossing(program[one.from.buffer], to, rounds * count_of(one.acts, count),
                   static_cast<double>(slot_bytes(to)), crossings);
    }
  }
}

void add_phases(const Program& program, const std::vector<executor::Step>& steps,
                const std::vector<sim::BlockReport>& blocks, std::int64_t rounds, int count,
                std::map<int, report::PhaseWork>& phases) {
  for (const executor::Step& step : steps) {
    const std::int64_t times = rounds * count_of(step.acts, count);
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
      add_phases(program, repeat->body, blocks, times, repeat->count, phases);
    if (!step.origin.phase) continue;
    report::PhaseWork& work = phases[*step.origin.phase];
    work.phase = *step.origin.phase;
    if (const auto* compute = std::get_if<executor::Compute>(&step.action)) {
      for (const sim::BlockOp& op : blocks[compute->block.number()].ops)
        work.flop += static_cast<double>(times) * op.flop;
    }
    const bool is_load = std::holds_alternative<executor::LoadRemote>(step.action);
    if (!is_load && !std::holds_alternative<executor::StoreRemote>(step.action)) continue;
    for (const executor::Slot& slot : reads_of(step))
      work.bytes += static_cast<double>(times * slot_bytes(program[slot.buffer]));
  }
}

}  // namespace

std::vector<ProfiledOp> profiled_ops(const Program& program, const std::vector<sim::BlockReport>& blocks,
                                     const std::set<std::string>& forward) {
  return Profiler(blocks, forward).profile(program);
}

std::vector<report::Crossing> crossings_of(const Program& program) {
  Crossings found;
  add_crossings(program, program.steps, 1, 1, found);
  std::vector<report::Crossing> crossings;
  for (auto& [key, crossing] : found) crossings.push_back(std::move(crossing));
  return crossings;
}

std::vector<report::PhaseWork> phases_of(const Program& program,
                                         const std::vector<sim::BlockReport>& blocks) {
  std::map<int, report::PhaseWork> found;
  add_phases(program, program.steps, blocks, 1, 1, found);
  std::vector<report::PhaseWork> phases;
  for (const auto& [phase, work] : found) phases.push_back(work);
  return phases;
}

std::set<std::string> names_of_values(const ir::Graph& graph) {
  std::set<std::string> names;
  for (const ir::Value& value : graph.values) names.insert(value.name);
  return names;
}

}  // namespace podium::cli
