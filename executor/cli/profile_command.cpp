// `podium profile`: what each op costs. The strategy is lowered and clocked as an estimate, whose Program
// keeps the graphs of its blocks; the kernels of each block cost what the clock takes for them, as often as
// the block runs. With --real the model is run as well, and the engine's ops are timed.
#include <fmt/core.h>

#include <map>
#include <mutex>
#include <set>

#include "annotate/match.h"
#include "executor/cli/clocked_run.h"
#include "executor/cli/in_model.h"
#include "executor/cli/machine.h"
#include "executor/cli/report_files.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/training_job.h"
#include "executor/cli/write_file.h"
#include "executor/report/profile.h"
#include "executor/session/json_rows.h"
#include "executor/sim/costs.h"
#include "ir/glob.h"

namespace podium::cli {
namespace {

using executor::Program;
using report::ProfiledOp;

// How often each block runs in a step, by its number and its name there.
using Runs = std::map<std::pair<std::int32_t, std::string>, std::int64_t>;

void count_runs(const Program& program, const std::vector<executor::Step>& steps, std::int64_t times,
                Runs& runs) {
  for (const executor::Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
      count_runs(program, repeat->body, times * repeat->count, runs);
    if (const auto* compute = std::get_if<executor::Compute>(&step.action))
      runs[{compute->block.index, name_of(program, *compute)}] += times;
  }
}

std::string type_of_kernel(const ir::Graph& graph, const sim::KernelTime& kernel) {
  constexpr std::size_t kMostShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostShown, kernel.ops.size()); ++i)
    text += fmt::format("{}{}", text.empty() ? "" : "+", graph.ops[kernel.ops[i]].spec->name);
  return text + (kernel.ops.size() > kMostShown ? fmt::format("+{}", kernel.ops.size() - kMostShown) : "");
}

// Bytes of what comes from outside the kernel and of what it makes.
double bytes_of_kernel(const ir::Graph& graph, const sim::KernelTime& kernel) {
  std::set<ir::ValueId> made;
  std::set<ir::ValueId> seen;
  double bytes = 0;
  for (const std::int32_t op : kernel.ops) {
    for (ir::ValueId id : inputs_of(graph.ops[op])) {
      if (!made.contains(id) && seen.insert(id).second)
        bytes += static_cast<double>(ir::packed_bytes(graph[id].type));
    }
    for (ir::ValueId id : outputs_of(graph.ops[op])) made.insert(id);
  }
  const ir::Op& last = graph.ops[kernel.ops.back()];
  for (ir::ValueId id : outputs_of(last)) bytes += static_cast<double>(ir::packed_bytes(graph[id].type));
  return bytes;
}

// Derivatives make values that the model does not have; blocks of an update say so in their names.
class Profiler {
 public:
  Profiler(const Program& program, const sim::Costs& costs, const std::set<std::string>& forward)
      : program_(program), costs_(costs), forward_(forward) {}

  std::vector<ProfiledOp> profile() {
    Runs runs;
    count_runs(program_, program_.steps, 1, runs);
    std::vector<ProfiledOp> ops;
    for (const auto& [key, count] : runs) add_block({key.first}, key.second, count, ops);
    return ops;
  }

 private:
  void add_block(executor::BlockId id, const std::string& name, std::int64_t runs,
                 std::vector<ProfiledOp>& ops) const {
    const executor::Block& block = program_[id];
    const sim::BlockCost& cost = costs_.blocks[id];
    const auto times = static_cast<double>(runs);
    double of_kernels = 0;
    for (const sim::KernelTime& kernel : cost.kernels) {
      of_kernels += kernel.seconds;
      ProfiledOp op{.name = std::string(annotate::name_of(block.graph, block.graph.ops[kernel.ops[0]])),
                    .type = type_of_kernel(block.graph, kernel),
                    .layer = "",
                    .block = name,
                    .processor = block.processor,
                    .pass = pass_of(block, name, kernel),
                    .runs = runs,
                    .seconds = times * kernel.seconds,
                    .flop = times * kernel.flop,
                    .bytes = times * bytes_of_kernel(block.graph, kernel),
                    .ideal_seconds = times * kernel.ideal_seconds};
      op.layer = report::layer_of(op.name);
      ops.push_back(std::move(op));
    }
    // Where the host's dispatch is slower than the kernels, it is what the block takes.
    const double rest = cost.seconds - of_kernels;
    if (rest <= 1e-9 * cost.seconds) return;
    ops.push_back(
        {.name = "dispatch by the host",
         .type = "",
         .layer = "",
         .block = name,
         .processor = block.processor,
         .pass = cost.kernels.empty() ? report::Pass::Forward : pass_of(block, name, cost.kernels[0]),
         .runs = runs,
         .seconds = times * rest});
  }

  report::Pass pass_of(const executor::Block& block, const std::string& name,
                       const sim::KernelTime& kernel) const {
    if (name.starts_with("update")) return report::Pass::Update;
    for (const std::int32_t op : kernel.ops) {
      for (ir::ValueId id : outputs_of(block.graph.ops[op])) {
        if (forward_.contains(block.graph[id].name)) return report::Pass::Forward;
      }
    }
    return forward_.empty() ? report::Pass::Forward : report::Pass::Backward;
  }

  const Program& program_;
  const sim::Costs& costs_;
  const std::set<std::string>& forward_;
};

std::set<std::string> names_of_values(const ir::Graph& graph) {
  std::set<std::string> names;
  for (const ir::Value& value : graph.values) names.insert(value.name);
  return names;
}

void keep_matching(report::Profile& profile, const std::string& filter) {
  if (filter.empty()) return;
  const auto is_other = [&](const auto& op) { return !ir::matches(filter, op.name); };
  std::erase_if(profile.ops, is_other);
  std::erase_if(profile.real, is_other);
}

template <class Session>
report::Profile profile_of(const Options& options, const Session& session,
                           const std::set<std::string>& forward) {
  const device::Device device = machine_of(options);
  const sim::Costs costs = sim::costs_of(session.program(), device, session.strategy().io_tiles);
  return {.model = options.paths[0],
          .strategy = describe(session.strategy(), session.program().processors),
          .device = device.name,
          .step_seconds = session.timeline()->makespan,
          .ops = Profiler(session.program(), costs, forward).profile()};
}

report::Profile profile_training(const Options& options) {
  const TrainingJob job = in_model(options, [&] { return make_training_job(options); });
  const SessionOptions settings = clocked_session(options);
  return in_model(options, [&] {
    const TrainingSession session(job.model, training_options(job, settings));
    print_notes(session.notes(), options);
    return profile_of(options, session, names_of_values(job.model.graph));
  });
}

// Times of the engine's ops, from the threads that run them.
class RealTimes {
 public:
  void note(const ir::Graph& graph, const ir::Op& op, double seconds) {
    const std::lock_guard lock(mutex_);
    report::RealOp& real = ops_[{std::string(annotate::name_of(graph, op)), std::string(op.spec->name)}];
    ++real.runs;
    real.seconds += seconds;
  }
  void clear() { ops_.clear(); }
  std::vector<report::RealOp> take() {
    std::vector<report::RealOp> all;
    for (auto& [key, op] : ops_) {
      std::tie(op.name, op.type) = key;
      all.push_back(op);
    }
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, report::RealOp> ops_;
};

std::vector<report::RealOp> run_for_real(Options options, const importer::Model& model) {
  options.estimate = false;
  RealTimes times;
  SessionOptions settings = clocked_session(options);
  settings.after_op = [&](const ir::Graph& graph, const ir::Op& op, double seconds) {
    times.note(graph, op, seconds);
  };
  InferenceSession session(model, settings);
  if (!session.can_run()) throw Error("does not fit the device: nothing can be run (--real)");
  options.quiet = true;
  const std::vector<ir::Datum> inputs = gather(session, {}, options);
  session.run(inputs);  // the first run finds its memory
  times.clear();
  session.run(inputs);
  return times.take();
}

report::Profile profile_inference(const Options& options) {
  const importer::Model model = import_sized(options);
  const SessionOptions settings = clocked_session(options);
  return in_model(options, [&] {
    const InferenceSession session(model, settings);
    print_notes(session.notes(), options);
    report::Profile profile = profile_of(options, session, {});
    if (options.profile.is_real) profile.real = run_for_real(options, model);
    return profile;
  });
}

}  // namespace

int execute_profile(const Options& given) {
  check_files_to_write(given);
  Options options = given;
  options.estimate = true;
  report::Profile profile = options.trains ? profile_training(options) : profile_inference(options);
  keep_matching(profile, options.profile.filter);
  if (!options.report_file.empty())
    write_file(options.report_file, json_text(report::profile_json(profile)) + "\n");
  show(report::profile_tables(profile, {options.profile.order, options.profile.rows, terminal_width()}));
  return kDone;
}

}  // namespace podium::cli
