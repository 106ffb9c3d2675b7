// `podium profile`: what each op costs. The strategy is lowered and clocked as an estimate, whose Program
// keeps the graphs of its blocks; the kernels of each block cost what the clock takes for them, as often as
// the block runs. Where data decide sizes, a run tells them, and what it was is clocked. With --real the
// model is run as well, several times, and the engine's ops are timed.
#include <fmt/ranges.h>

#include <chrono>
#include <map>
#include <mutex>
#include <set>

#include "annotate/match.h"
#include "executor/cli/clocked_run.h"
#include "executor/cli/in_model.h"
#include "executor/cli/machine.h"
#include "executor/cli/profiler.h"
#include "executor/cli/progress.h"
#include "executor/cli/report_files.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/training_job.h"
#include "executor/cli/write_file.h"
#include "executor/report/page.h"
#include "executor/report/profile.h"
#include "executor/session/check_options.h"
#include "executor/session/clock.h"
#include "executor/session/json_rows.h"
#include "executor/sim/block_ops.h"
#include "ir/glob.h"

namespace podium::cli {
namespace {

void keep_matching(report::Profile& profile, const std::string& filter) {
  if (filter.empty()) return;
  const auto is_other = [&](const auto& op) { return !ir::matches(filter, op.name); };
  std::erase_if(profile.ops, is_other);
  std::erase_if(profile.real, is_other);
}

// What the page shows, which is that of a run with its ops first.
void write_page_of(const Options& options, report::RunReport report, const sim::Timeline* timeline) {
  add_times(report, timeline);
  write_page_file(options, report::run_page_data(report, report::PageView::Ops));
}

// A timeline with events has them.
template <class Session>
std::vector<sim::BlockReport> blocks_of(const Session& session, const device::Device& device) {
  if (!session.timeline()->blocks.empty()) return session.timeline()->blocks;
  const executor::Program& program = session.clocked_program();
  const Strategy& strategy = session.strategy();
  return sim::block_reports(program,
                            sim::costs_of(program, device, strategy.io_tiles, cost_options(strategy)));
}

template <class Session>
report::Profile profile_of(const Options& options, const Session& session, const ir::Graph& graph,
                           const std::set<std::string>& forward, std::vector<report::RealOp> real) {
  if (!options.html_file.empty()) {
    report::RunReport report =
        start_report(options, session.strategy(), session.clocked_program(), samples_of(graph));
    add_details(report, options, session.clocked_program(), session.timeline(), forward);
    add_model_file(report, options);
    report.details->real_ops = real;
    write_page_of(options, std::move(report), session.timeline());
  }
  const device::Device device = machine_of(options);
  const executor::Program& program = session.clocked_program();
  return {.model = options.paths[0],
          .strategy = describe(session.strategy(), program.processors),
          .device = device.name,
          .step_seconds = session.timeline()->makespan,
          .ops = profiled_ops(program, blocks_of(session, device), forward),
          .real = std::move(real)};
}

// Times of the engine's ops, from the threads that run them. Of several runs an op's median counts: whoever
// else works on this machine makes now this op longer and now that.
class RealTimes {
 public:
  void note(const ir::Graph& graph, const ir::Op& op, double seconds) {
    const std::lock_guard lock(mutex_);
    Times& times = ops_[{std::string(annotate::name_of(graph, op)), std::string(op.spec->name)}];
    ++times.count;
    times.of_runs.resize(runs_);
    times.of_runs.back() += seconds;
  }
  void start_run() { ++runs_; }
  void clear() {
    ops_.clear();
    runs_ = 0;
  }
  std::vector<report::RealOp> take() {
    std::vector<report::RealOp> all;
    for (auto& [key, times] : ops_) {
      times.of_runs.resize(runs_);
      all.push_back({.name = key.first,
                     .type = key.second,
                     .runs = times.count / runs_,
                     .seconds = median(std::move(times.of_runs))});
    }
    return all;
  }

 private:
  struct Times {
    std::int64_t count = 0;
    std::vector<double> of_runs = {};  // seconds of all of a run
  };
  std::mutex mutex_;
  std::int64_t runs_ = 0;
  std::map<std::pair<std::string, std::string>, Times> ops_;
};

// Without a word of its own: what there is to note, the estimate has said.
Options computing(const Options& options) {
  Options real = options;
  real.estimate = false;
  real.quiet = true;
  return real;
}

SessionOptions timed_session(const Options& options, RealTimes& times) {
  SessionOptions settings = clocked_session(options);
  settings.after_op = [&times](const ir::Graph& graph, const ir::Op& op, double seconds) {
    times.note(graph, op, seconds);
  };
  return settings;
}

// The first run finds its memory.
template <class Session>
std::vector<report::RealOp> time_later_runs(Session& session, const std::vector<ir::Datum>& inputs,
                                            RealTimes& times) {
  constexpr int kMostRuns = 25;
  constexpr std::chrono::seconds kEnough(2);
  times.start_run();
  session.run(inputs);
  times.clear();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kMostRuns && std::chrono::steady_clock::now() - start < kEnough; ++i) {
    times.start_run();
    session.run(inputs);
  }
  return times.take();
}

using Inputs = std::map<std::string, ir::Datum>;

std::vector<report::RealOp> run_for_real(const Options& given, const importer::Model& model,
                                         const Inputs& inputs) {
  const Options options = computing(given);
  RealTimes times;
  InferenceSession session(model, timed_session(options, times));
  if (!session.can_run()) throw Error("does not fit the device: nothing can be run (--real)");
  return time_later_runs(session, gather(session, inputs, options), times);
}

// Those of files, over and over, and drawn ones.
std::vector<ir::Datum> inputs_of_step(const TrainingJob& job, const TrainingSession& session,
                                      const Options& options) {
  const executor::HostTensor& input = session.inputs().at(0);
  std::vector<std::int64_t> rows(samples_of_micro_batch(input, job.samples.axes) * input.micro_batches *
                                 session.program().replicas);
  Samples samples = job.samples;
  draw_missing(samples, session.inputs(), session.ids(), std::ssize(rows), options.random_seed);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i) % samples.count;
  return take_rows(samples, rows, session.inputs());
}

std::vector<report::RealOp> train_for_real(const Options& given, const TrainingJob& job) {
  const Options options = computing(given);
  RealTimes times;
  TrainingSession session(job.model, training_options(job, timed_session(options, times)));
  if (!session.can_run()) throw Error("does not fit the device: nothing can be trained (--real)");
  return time_later_runs(session, inputs_of_step(job, session, options), times);
}

// Sizes that data decide are those of a run.
SessionOptions run_and_clocked(const Options& given) {
  Options options = given;
  options.estimate = false;
  SessionOptions settings = clocked_session(options);
  settings.events = true;
  return settings;
}

template <class Session>
void run_once(const Options& options, Session& session, const std::vector<ir::Datum>& inputs) {
  print_notes(session.notes(), options);
  if (!session.can_run()) throw Error("does not fit the device: nothing can be run that would tell sizes");
  print_notes(
      {"data decide sizes: the times are those of a run on these inputs, others by --input NAME=FILE"},
      options);
  session.run(inputs);
  if (session.timeline() == nullptr) throw Error("cannot be clocked: {}", fmt::join(session.notes(), "; "));
}

report::Profile profile_training(const Options& options) {
  const TrainingJob job = in_model(options, [&] { return make_training_job(options); });
  const std::set<std::string> forward = names_of_values(job.model.graph);
  show_activity("preparing", options);
  return in_model(options, [&] {
    const auto real = [&] {
      return options.profile.is_real ? train_for_real(options, job) : std::vector<report::RealOp>();
    };
    try {
      const TrainingSession session(job.model, training_options(job, clocked_session(options)));
      print_notes(session.notes(), options);
      return profile_of(options, session, job.model.graph, forward, real());
    } catch (const DecidedByData&) {
      TrainingSession session(job.model, training_options(job, run_and_clocked(options)));
      run_once(options, session, inputs_of_step(job, session, options));
      return profile_of(options, session, job.model.graph, forward, real());
    }
  });
}

report::Profile profile_inference(const Options& options) {
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  const Inputs given = read_inputs(options, signature);
  std::map<std::string, ir::Type> types;
  if (options.dims.empty()) types = micro_batch_types(given, signature, options.session);
  const importer::Model model = import_sized(options, types);
  show_activity("preparing", options);
  return in_model(options, [&] {
    const auto real = [&] {
      return options.profile.is_real ? run_for_real(options, model, given) : std::vector<report::RealOp>();
    };
    try {
      const InferenceSession session(model, clocked_session(options));
      print_notes(session.notes(), options);
      return profile_of(options, session, model.graph, {}, real());
    } catch (const DecidedByData&) {
      InferenceSession session(model, run_and_clocked(options));
      run_once(options, session, gather(session, given, options));
      return profile_of(options, session, model.graph, {}, real());
    }
  });
}

}  // namespace

int execute_profile(const Options& given) {
  check_files_to_write(given);
  Options options = given;
  options.estimate = true;
  show_activity(fmt::format("importing {}", options.paths[0]), options);
  report::Profile profile = options.trains ? profile_training(options) : profile_inference(options);
  keep_matching(profile, options.profile.filter);
  if (!options.report_file.empty())
    write_file(options.report_file, json_text(report::profile_json(profile)) + "\n");
  show(report::profile_tables(profile, {.order = options.profile.order,
                                        .rows = options.profile.rows,
                                        .width = terminal_width(),
                                        .kind = machine_of(options).kind}));
  return kDone;
}

}  // namespace podium::cli
