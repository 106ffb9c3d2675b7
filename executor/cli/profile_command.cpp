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
#include "ir/shell_word.h"

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

template <class Session>
report::Profile profile_of(const Options& options, const Session& session, const ir::Graph& graph,
                           const std::set<std::string>& forward, std::vector<report::RealOp> real) {
  if (!options.html_file.empty()) {
    report::RunReport report =
        start_report(options, session.strategy(), session.program(), samples_of(graph));
    add_details(report, options, session.program(), session.timeline(), forward);
    add_model_file(report, options);
    report.details->real_ops = real;
    write_page_of(options, std::move(report), session.timeline());
  }
  const device::Device device = machine_of(options);
  const sim::Costs costs =
      sim::costs_of(session.program(), device, session.strategy().io_tiles, cost_options(session.strategy()));
  return {.model = options.paths[0],
          .strategy = describe(session.strategy(), session.program().processors),
          .device = device.name,
          .step_seconds = session.timeline()->makespan,
          .ops = profiled_ops(session.program(), sim::block_reports(session.program(), costs), forward),
          .real = std::move(real)};
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
std::vector<report::RealOp> time_second_run(Session& session, const std::vector<ir::Datum>& inputs,
                                            RealTimes& times) {
  session.run(inputs);
  times.clear();
  session.run(inputs);
  return times.take();
}

std::vector<report::RealOp> run_for_real(const Options& given, const importer::Model& model) {
  const Options options = computing(given);
  RealTimes times;
  InferenceSession session(model, timed_session(options, times));
  if (!session.can_run()) throw Error("does not fit the device: nothing can be run (--real)");
  return time_second_run(session, gather(session, {}, options), times);
}

std::vector<report::RealOp> train_for_real(const Options& given, const TrainingJob& job) {
  const Options options = computing(given);
  RealTimes times;
  TrainingSession session(job.model, training_options(job, timed_session(options, times)));
  if (!session.can_run()) throw Error("does not fit the device: nothing can be trained (--real)");
  const executor::HostTensor& input = session.inputs().at(0);
  std::vector<std::int64_t> rows(samples_of_micro_batch(input, job.samples.axes) * input.micro_batches *
                                 session.program().replicas);
  Samples samples = job.samples;
  draw_missing(samples, session.inputs(), std::ssize(rows), options.random_seed);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i) % samples.count;
  return time_second_run(session, take_rows(samples, rows, session.inputs()), times);
}

report::Profile profile_training(const Options& options) {
  const TrainingJob job = in_model(options, [&] { return make_training_job(options); });
  const SessionOptions settings = clocked_session(options);
  show_activity("preparing", options);
  return in_model(options, [&] {
    const TrainingSession session(job.model, training_options(job, settings));
    print_notes(session.notes(), options);
    auto real = options.profile.is_real ? train_for_real(options, job) : std::vector<report::RealOp>();
    return profile_of(options, session, job.model.graph, names_of_values(job.model.graph), std::move(real));
  });
}

// An estimate cannot know sizes that data decide; a run does, and clocks what it has seen.
InferenceSession estimated(const Options& options, const importer::Model& model) try {
  return InferenceSession(model, clocked_session(options));
} catch (const DecidedByData& error) {
  throw Error("{} (podium run {} --explain runs it and says where the time goes)", error.what(),
              ir::shell_word(options.paths[0]));
}

report::Profile profile_inference(const Options& options) {
  const importer::Model model = import_sized(options);
  show_activity("preparing", options);
  return in_model(options, [&] {
    const InferenceSession session = estimated(options, model);
    print_notes(session.notes(), options);
    auto real = options.profile.is_real ? run_for_real(options, model) : std::vector<report::RealOp>();
    return profile_of(options, session, model.graph, {}, std::move(real));
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
