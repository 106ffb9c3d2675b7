// Variations are tried like any candidate, without computing; on better machines the candidate's own Program
// is clocked. A variation that has no flags is said as its options.
#include "executor/cli/what_ifs.h"

#include <fmt/core.h>

#include <algorithm>

#include "executor/cli/machine.h"
#include "executor/cli/progress.h"
#include "executor/cli/strategy_flags.h"
#include "executor/compare/variations.h"
#include "executor/report/table.h"
#include "executor/session/read_options.h"
#include "ir/printable.h"

namespace podium::cli {
namespace {

using report::ComparedStrategy;
using report::WhatIf;

constexpr double kWorthSaying = 1.01;

void nothing_to_say(const ComparedStrategy& /*compared*/) {}

std::string flags_text(const nlohmann::json& change) {
  const StrategyFlags flags = flags_of(change, Defaults::Said);
  std::string text = line_of(flags.words);
  for (const std::string& flag : flags.dropped)
    text += fmt::format("{}without {}", text.empty() ? "" : ", ", flag);
  if (!flags.no_flags.empty()) text += (text.empty() ? "" : " ") + flags.no_flags.dump();
  return text;
}

WhatIf gain_of(WhatIf what_if, const report::RunReport& run, const report::RunReport& before) {
  const double rate = report::samples_per_second(before);
  what_if.fits = run.timeline.fits();
  what_if.samples_per_second = report::samples_per_second(run);
  what_if.times = rate > 0 ? what_if.samples_per_second / rate : 0;
  return what_if;
}

WhatIf result_of(std::string change, const ComparedStrategy& varied, const report::RunReport& before) {
  WhatIf what_if{.kind = report::WhatIfKind::Strategy, .change = std::move(change)};
  what_if.refusal = varied.refusal;
  return varied.refusal.empty() ? gain_of(std::move(what_if), varied.run, before) : what_if;
}

// Each device that tensors are cut over has a graph of its own.
std::size_t ops_on_devices(std::size_t ops, const report::RunReport& run, const Strategy& strategy) {
  if (strategy.tensor_parallel.cuts())
    return ops * static_cast<std::size_t>(strategy.tensor_parallel.group());
  return strategy.cuts_tensors() ? ops * run.timeline.processors.size() : ops;
}

bool explains(const Options& options, const report::RunReport& run, const Strategy& strategy, std::size_t ops,
              std::size_t most) {
  const bool is_asked = options.explain || !options.html_file.empty();
  return is_asked || ops_on_devices(ops, run, strategy) <= most;
}

}  // namespace

bool explains_best(const Options& options, const report::RunReport& run, const Strategy& strategy,
                   std::size_t ops) {
  constexpr std::size_t kMostOps = 6000;
  return explains(options, run, strategy, ops, kMostOps);
}

std::vector<WhatIf> what_ifs(const Contestants& contestants, const compare::Candidate& candidate,
                             const report::RunReport& run, std::vector<sim::Timeline> elsewhere) {
  using report::WhatIfKind;
  std::vector<WhatIf> found;
  const auto better = compare::better_devices(contestants.device);
  const auto variations = compare::variations(candidate, contestants.request, contestants.outputs);
  std::vector<compare::Candidate> tried;
  for (const compare::Variation& variation : variations) tried.push_back(variation.candidate);
  const auto clocked = contestants.attempt(tried, Trial::WhatIf, contestants.device, nothing_to_say);
  for (std::size_t i = 0; i < variations.size(); ++i)
    found.push_back(result_of(flags_text(variations[i].change), clocked[i], run));
  report::RunReport doubled{.micro_batches = run.micro_batches,
                            .samples_per_micro_batch = run.samples_per_micro_batch};
  for (std::size_t i = 0; i < elsewhere.size(); ++i) {
    doubled.timeline = std::move(elsewhere[i]);
    found.push_back(gain_of({.kind = WhatIfKind::Device, .change = better[i].name}, doubled, run));
  }
  std::stable_sort(found.begin(), found.end(), [](const WhatIf& a, const WhatIf& b) {
    return std::pair(!a.fits, -a.times) < std::pair(!b.fits, -b.times);
  });
  return found;
}

std::vector<sim::Timeline> on_better_machines(
    const device::Device& device, const Options& options,
    const std::function<sim::Timeline(const device::Device&)>& clock) {
  if (!clock) return {};
  return compare::clock_on(compare::better_devices(device), options.threads, clock);
}

std::string what_helps(const std::vector<WhatIf>& what_ifs) {
  constexpr int kMost = 3;
  std::string text;
  int count = 0;
  for (const WhatIf& what_if : what_ifs) {
    const bool helps = what_if.fits && what_if.times > kWorthSaying;
    if (!helps || what_if.kind != report::WhatIfKind::Strategy) continue;
    if (++count > kMost) break;
    text += fmt::format("  {}: {} samples/s, {:.2f} times as many\n", ir::printable(what_if.change),
                        report::rate(what_if.samples_per_second), what_if.times);
  }
  if (!text.empty()) text = "what would help, by the clock:\n" + text;
  for (const WhatIf& what_if : what_ifs) {
    if (what_if.kind != report::WhatIfKind::Device || what_if.times <= kWorthSaying) continue;
    return text + fmt::format("of the machine, {} counts most: doubled, {:.2f} times as many samples/s\n",
                              what_if.change, what_if.times);
  }
  return text;
}

namespace {

bool explains_run(const Options& options, const report::RunReport& run, std::size_t ops) {
  constexpr std::size_t kMostOps = 400;
  return run.is_clocked && explains(options, run, options.session, ops, kMostOps);
}

}  // namespace

std::vector<sim::Timeline> on_better_machines(
    const Options& options, const report::RunReport& run, std::size_t ops,
    const std::function<sim::Timeline(const device::Device&)>& clock) {
  if (!options.estimate || !explains_run(options, run, ops)) return {};
  show_activity("clocking better machines", options);
  return on_better_machines(machine_of(options), options, clock);
}

std::vector<WhatIf> what_ifs_of_run(const Options& options, const report::RunReport& run, Task task,
                                    std::size_t ops, std::vector<sim::Timeline> elsewhere) {
  if (!explains_run(options, run, ops)) return {};
  show_activity("clocking what would help", options);
  Options wanted = options;
  wanted.trains = task == Task::Training;
  wanted.quiet = true;  // what there is to note has been
  wanted.estimate = true;
  wanted.compare = {};
  Notes notes;
  compare::Candidate candidate{.name = run.strategy, .document = run.options, .where = "what if"};
  candidate.strategy = read_option_document(run.options, "what if", notes);
  Contestants contestants = make_trials(wanted, candidate.strategy);
  contestants.request.processors = contestants.device.processors;
  if (elsewhere.empty()) {
    const auto base = contestants.attempt({candidate}, Trial::Base, contestants.device, nothing_to_say);
    elsewhere = on_better_machines(contestants.device, options, base.front().clocked_on);
  }
  return what_ifs(contestants, candidate, run, std::move(elsewhere));
}

}  // namespace podium::cli
