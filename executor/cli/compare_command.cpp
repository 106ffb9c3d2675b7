// `podium compare`: every candidate is clocked and the table printed, best first. Where not all fit, what
// saves more memory is clocked as well. Then the candidates that fit are computed, best first, and their
// numbers held against those of one processor. Sentences at the end say what it comes to.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>

#include "executor/cli/clocked_run.h"
#include "executor/cli/contestants.h"
#include "executor/cli/fingerprint.h"
#include "executor/cli/freed_memory.h"
#include "executor/cli/machine.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/report_files.h"
#include "executor/cli/strategy_flags.h"
#include "executor/cli/terminal.h"
#include "executor/cli/usage_error.h"
#include "executor/cli/verdict.h"
#include "executor/cli/what_ifs.h"
#include "executor/cli/write_file.h"
#include "executor/report/cause.h"
#include "executor/report/page.h"
#include "executor/report/table.h"
#include "executor/session/check_options.h"
#include "executor/session/json_rows.h"
#include "ir/printable.h"

namespace podium::cli {
namespace {

using compare::Candidate;
using report::ComparedStrategy;

bool is_too_large(const ComparedStrategy& strategy) {
  return strategy.refusal.empty() && !strategy.run.timeline.fits();
}

std::vector<ComparedStrategy> clock(const Contestants& contestants, const std::vector<Candidate>& candidates,
                                    const Options& options) {
  Progress progress("strategies clocked", candidates.size(), options.quiet);
  auto compared = contestants.attempt(candidates, Trial::Clock, contestants.device,
                                      [&](const ComparedStrategy& one) { progress.advance(1, one.name); });
  progress.finish();
  return compared;
}

// Where something does not fit: combinations that fit, or, when nothing does, all of them.
void add_thrifty(Contestants& contestants, std::vector<ComparedStrategy>& compared, const Options& options) {
  const bool is_asked = !options.compare.strategies_file.empty();
  if (is_asked || std::none_of(compared.begin(), compared.end(), is_too_large)) return;
  const std::vector<Candidate> thrifty = compare::thrifty_candidates(contestants.request);
  const std::vector<ComparedStrategy> clocked = clock(contestants, thrifty, options);
  const bool all = !any_fits(compared) && !any_fits(clocked);
  for (std::size_t i = 0; i < thrifty.size(); ++i) {
    const bool fits = clocked[i].refusal.empty() && !is_too_large(clocked[i]);
    if (!fits && !all) continue;
    compared.push_back(clocked[i]);
    contestants.candidates.push_back(thrifty[i]);
  }
}

// The candidates that are to be computed, the best first.
std::vector<Candidate> to_verify(const Contestants& contestants, const std::vector<ComparedStrategy>& sorted,
                                 const Options& options) {
  std::vector<Candidate> chosen;
  const auto most =
      static_cast<std::size_t>(options.compare.verified.value_or(std::numeric_limits<int>::max()));
  for (const ComparedStrategy& strategy : sorted) {
    if ((!strategy.refusal.empty() && !strategy.needs_run) || is_too_large(strategy)) continue;
    if (chosen.size() == most) break;
    chosen.push_back(*std::find_if(contestants.candidates.begin(), contestants.candidates.end(),
                                   [&](const Candidate& one) { return one.name == strategy.name; }));
  }
  return chosen;
}

// "bit for bit", and what else can come of a strategy's numbers.
std::string numbers_text(const ComparedStrategy& one, double tolerance) {
  if (!one.refusal.empty()) return "not computed: " + one.refusal;
  if (!one.difference) return "not computed";
  if (*one.difference == 0) return "the same, bit for bit";
  if (*one.difference <= tolerance)
    return fmt::format("the same; largest difference {:.2g}", *one.difference);
  return fmt::format("differs by {:.2g}, at most {:.2g} needed", *one.difference, tolerance);
}

// A line a strategy once it has been computed; the bar below says which one runs and how long it may take.
std::vector<ComparedStrategy> compute(const Contestants& contestants, const std::vector<Candidate>& chosen,
                                      const Options& options) {
  std::size_t widest = 0;
  for (const Candidate& one : chosen) widest = std::max(widest, one.name.size());
  show("numbers, against those of one processor:\n");
  flush_shown();
  Progress progress("strategies computed", chosen.size(), options.quiet);
  progress.begin("one processor");
  std::size_t done = 0;
  auto computed =
      contestants.attempt(chosen, Trial::Numbers, contestants.device, [&](const ComparedStrategy& one) {
        show(fmt::format("  {:<{}}  {}\n", ir::printable(one.name), widest,
                         ir::printable(numbers_text(one, options.relative))));
        if (one.oracle)
          show(fmt::format("  {:<{}}  {}\n", "", widest, ir::printable(report::sentence(*one.oracle))));
        flush_shown();
        const std::string next = ++done < chosen.size() ? chosen[done].name : "";
        progress.advance(1, next);
        if (!next.empty()) progress.begin(next);
      });
  progress.finish();
  return computed;
}

// Runs them, and puts what came of it in the place of what was clocked.
void verify(const Contestants& contestants, std::vector<ComparedStrategy>& strategies,
            const Options& options) {
  if (options.estimate) return;
  const std::vector<Candidate> chosen = to_verify(contestants, strategies, options);
  if (chosen.empty()) return;
  const std::vector<ComparedStrategy> computed = compute(contestants, chosen, options);
  const bool was_clocked =
      std::none_of(strategies.begin(), strategies.end(), [](const auto& one) { return one.needs_run; });
  for (const ComparedStrategy& one : computed) {
    ComparedStrategy& clocked =
        *std::find_if(strategies.begin(), strategies.end(),
                      [&](const ComparedStrategy& other) { return other.name == one.name; });
    const bool keeps_its_clock = !one.refusal.empty() && !clocked.needs_run;
    if (!keeps_its_clock) clocked = one;
  }
  if (was_clocked) return;
  report::sort_best_first(strategies);
}

// The lines of a table, each in the style of its row; the head is row 0.
template <class StyleOf>
void show_lines(std::string_view table, StyleOf style_of) {
  std::size_t row = 0;
  for (std::size_t start = 0; start < table.size(); ++row) {
    const std::size_t end = table.find('\n', start) + 1;
    show(table.substr(start, end - start), style_of(row));
    start = end;
  }
}

void show_table(const std::vector<ComparedStrategy>& strategies, const Options& options) {
  const auto columns = options.trains ? report::Columns::TimesAndTraffic : report::Columns::Times;
  const std::string table = report::comparison_table(strategies, columns, terminal_width());
  show_lines(table, [&](std::size_t row) {
    const bool is_strategy = row > 0 && row <= strategies.size() && strategies[row - 1].refusal.empty();
    if (!is_strategy) return Style::Plain;
    if (!strategies[row - 1].run.timeline.fits()) return Style::Dimmed;
    return row == 1 ? Style::Marked : Style::Plain;
  });
}

// Whether every strategy that was run gave the numbers of one processor; says so.
bool agree(const std::vector<ComparedStrategy>& strategies, double tolerance) {
  const ComparedStrategy* worst = nullptr;
  std::size_t computed = 0;
  std::size_t possible = 0;
  for (const ComparedStrategy& strategy : strategies) {
    if (strategy.refusal.empty() && !is_too_large(strategy)) ++possible;
    if (!strategy.difference) continue;
    ++computed;
    if (worst == nullptr || *strategy.difference > *worst->difference) worst = &strategy;
  }
  if (worst == nullptr) return true;
  const double largest = *worst->difference;
  const std::string which = computed == possible ? "every strategy"
                            : computed == 1      ? "the one that was computed"
                                                 : fmt::format("each of the {} that were computed", computed);
  if (largest == 0) {
    show(fmt::format("{} gave the numbers of one processor, bit for bit\n", which));
  } else if (largest <= tolerance) {
    show(fmt::format("{} gave the numbers of one processor; largest difference {:.2g} ({})\n", which, largest,
                     worst->name));
  } else {
    show(fmt::format("the numbers differ from those of one processor by {:.2g} ({}), at most {:.2g} needed\n",
                     largest, worst->name, tolerance));
  }
  return largest <= tolerance;
}

// Whether no strategy that was followed parts from one processor; counts them.
bool none_parts(const std::vector<ComparedStrategy>& strategies) {
  std::array<int, 4> counts{};
  for (const ComparedStrategy& strategy : strategies) {
    if (strategy.oracle) ++counts[static_cast<std::size_t>(strategy.oracle->judgement())];
  }
  const auto count = [&](report::Judgement judgement) { return counts[static_cast<std::size_t>(judgement)]; };
  const int parts = count(report::Judgement::Parts);
  if (std::accumulate(counts.begin(), counts.end(), 0) == 0) return true;
  show(fmt::format(
      "op by op beside one processor: {} equal to the bit, {} but for the order of sums, {} part{}\n",
      count(report::Judgement::EqualToTheBit), count(report::Judgement::Explained), parts,
      count(report::Judgement::NotJudged) == 0
          ? ""
          : fmt::format(", {} not judged", count(report::Judgement::NotJudged))));
  return parts == 0;
}

using ClockElsewhere = std::function<sim::Timeline(const device::Device&)>;

// The best one's, of which alone what-ifs are asked; the others give their Programs away.
ClockElsewhere take_clock(std::vector<ComparedStrategy>& strategies) {
  ClockElsewhere clock = std::move(strategies.front().clocked_on);
  for (ComparedStrategy& one : strategies) one.clocked_on = nullptr;
  return clock;
}

std::vector<report::WhatIf> what_ifs_of_best(const Options& options, const Contestants& contestants,
                                             const std::vector<ComparedStrategy>& strategies,
                                             ClockElsewhere clock) {
  if (!any_fits(strategies)) return {};
  const auto best = std::find_if(contestants.candidates.begin(), contestants.candidates.end(),
                                 [&](const Candidate& one) { return one.name == strategies.front().name; });
  const auto ops = static_cast<std::size_t>(contestants.request.ops);
  if (!explains_best(options, strategies.front().run, best->strategy, ops)) return {};
  Contestants around = contestants;
  around.request.processors = contestants.device.processors;
  auto elsewhere = on_better_machines(contestants.device, options, clock);
  clock = nullptr;  // which gives the Program's memory to those of the what-ifs
  return what_ifs(around, *best, strategies.front().run, std::move(elsewhere));
}

int finish(const Options& options, const Contestants& contestants, std::vector<ComparedStrategy>& strategies,
           ClockElsewhere clock) {
  const bool is_near = agree(strategies, options.relative);
  const bool agreed = none_parts(strategies) && is_near;
  if (any_fits(strategies))
    strategies.front().run.what_ifs = what_ifs_of_best(options, contestants, strategies, std::move(clock));
  report::ComparedModel model{.name = options.paths[0]};
  if (!options.report_file.empty() || !options.html_file.empty()) model.file = fingerprint(model.name);
  if (!options.report_file.empty())
    write_file(options.report_file, json_text(report::comparison_json(model, strategies)) + "\n");
  save_strategies(options, contestants, strategies);
  const std::string sentences = verdict(options, contestants, strategies);
  if (!options.html_file.empty()) {
    model.provenance = provenance_of(options);
    write_page_file(options, report::comparison_page_data(model, strategies, sentences));
  }
  if (options.explain) show("\n" + report::sample_time_table(strategies, terminal_width()) + "\n");
  show(sentences);
  if (!any_fits(strategies)) {
    if (std::ranges::any_of(strategies, is_too_large)) return kDoesNotFit;
    return std::ranges::any_of(strategies, &ComparedStrategy::needs_run) ? kDone : kFailed;
  }
  return agreed ? kDone : kFailed;
}

// The best strategy over a number of processors, and what runs it; none where nothing fits.
struct Scaled {
  int processors = 1;
  std::optional<ComparedStrategy> best = {};
  std::string command = {};
  double rate = 0;  ///< samples/s
};

Options over(int processors, const Options& options) {
  Options one = options;
  one.quiet = options.quiet || processors != options.compare.processors.front();
  one.session_json["numIPUs"] = processors;
  one.session.ipus = processors;
  return one;
}

Scaled best_over(int processors, const Options& options) {
  const Options one = over(processors, options);
  Contestants contestants = make_contestants(one);
  std::vector<ComparedStrategy> compared = clock(contestants, contestants.candidates, one);
  add_thrifty(contestants, compared, one);
  report::sort_best_first(compared);
  Scaled scaled{.processors = processors};
  if (!any_fits(compared)) return scaled;
  scaled.best = compared.front();
  scaled.best->clocked_on = nullptr;
  scaled.rate = report::samples_per_second(scaled.best->run);
  scaled.command = command_of(one, scaled.best->run.options, options_file_of(one, 0, scaled.best->name),
                              contestants.assumed);
  return scaled;
}

void show_scaling_table(const std::vector<Scaled>& all, const Scaled* fastest) {
  std::vector<std::vector<std::string>> rows{{"processors", "strategy", "samples/s", "times the first",
                                              "a processor", "largest memory", "bottleneck"}};
  double first = 0;
  for (const Scaled& one : all) {
    if (!one.best) {
      rows.push_back({fmt::format("{}", one.processors), "nothing fits"});
      continue;
    }
    if (first == 0) first = one.rate;
    rows.push_back({fmt::format("{}", one.processors), one.best->name, report::rate(one.rate),
                    fmt::format("{:.2f}", one.rate / first), report::rate(one.rate / one.processors),
                    report::memory_share(one.best->run.timeline),
                    report::bottleneck(one.best->run.timeline)});
  }
  show_lines(report::table(report::fold(rows, {10, 9, 9, 6, 5, 4, 7}, terminal_width())),
             [&](std::size_t row) {
               if (row == 0) return Style::Plain;
               if (&all[row - 1] == fastest) return Style::Marked;
               return all[row - 1].best ? Style::Plain : Style::Dimmed;
             });
}

// Which number of processors gives the most, what limits it there, and where a processor gives the most.
void show_scaling_verdict(const std::vector<Scaled>& all, const Scaled& fastest) {
  show(fmt::format("best: {} over {} with {} samples/s\n", ir::printable(fastest.best->name),
                   fastest.processors, report::rate(fastest.rate)));
  const std::string cause = report::cause_sentence(fastest.best->run.timeline);
  if (!cause.empty()) show(ir::printable(cause) + "\n");
  const auto each = [](const Scaled& one) { return one.rate / one.processors; };
  const auto dearest = std::ranges::max_element(all, {}, each);
  constexpr double kWorthTelling = 1.005;
  if (each(*dearest) > kWorthTelling * each(fastest)) {
    show(fmt::format("a processor gives the most over {}: {} samples/s, {} over {}\n", dearest->processors,
                     report::rate(each(*dearest)), report::rate(each(fastest)), fastest.processors));
  }
  show(fmt::format("to run it: {}\n", ir::printable(fastest.command)));
}

int compare_scaling(const Options& options) {
  if (!options.report_file.empty() || !options.html_file.empty()) {
    throw UsageError("compare: --report and --html tell of one number of processors, {} found for --ipus",
                     fmt::join(options.compare.processors, ","));
  }
  for (const int processors : options.compare.processors) {
    const Options one = over(processors, options);
    check_device(one.session, machine_of(one));
  }
  std::vector<Scaled> all;
  std::vector<ComparedStrategy> bests;
  for (const int processors : options.compare.processors) {
    const Scaled& one = all.emplace_back(best_over(processors, options));
    if (!one.best) continue;
    bests.push_back(*one.best);
    bests.back().name = fmt::format("{} over {}", one.best->name, processors);
  }
  const auto fastest = std::ranges::max_element(all, {}, &Scaled::rate);
  const bool any = !bests.empty();
  show_scaling_table(all, any ? &*fastest : nullptr);
  if (options.explain) {
    show("\n" + report::sample_time_table(bests, terminal_width()));
    show("\n" + report::change_sentences(bests));
  }
  if (any) show_scaling_verdict(all, *fastest);
  return any ? kDone : kDoesNotFit;
}

// Nothing is followed where nothing is computed.
void refuse_an_idle_oracle(const Options& options) {
  if (!options.compare.oracle) return;
  const auto refuse = [](std::string_view other) {
    throw UsageError(
        "compare: --oracle and {} found: the oracle follows what is computed, leave out one of them", other);
  };
  if (options.estimate) refuse("--estimate");
  if (options.compare.verified == 0) refuse("--no-verify");
  if (!options.compare.processors.empty()) refuse("several numbers for --ipus");
}

// A flag that acts on nothing would be taken for a choice.
void refuse_what_the_list_decides(const Options& options) {
  constexpr std::string_view kDecided[] = {"pipeline", "virtual-graph-mode"};
  if (!options.compare.strategies_file.empty()) return;
  for (const GivenFlag& given : options.given) {
    if (std::ranges::count(kDecided, given.name) == 0) continue;
    throw UsageError(
        "compare: --{} found, which is what its list of strategies tries: leave it out, or name strategies of "
        "your own by --strategies FILE",
        given.name);
  }
}

}  // namespace

int execute_compare(const Options& options) {
  refuse_what_the_list_decides(options);
  refuse_an_idle_oracle(options);
  check_files_to_write(options);
  check_counts(options.session);
  if (options.estimate) keep_freed_memory();
  if (!options.compare.processors.empty()) return compare_scaling(options);
  show_activity(fmt::format("importing {}", options.paths[0]), options);
  Contestants contestants = make_contestants(options);
  std::vector<ComparedStrategy> compared = clock(contestants, contestants.candidates, options);
  add_thrifty(contestants, compared, options);
  report::sort_best_first(compared);
  ClockElsewhere clocked_on = take_clock(compared);
  const bool is_late =
      std::any_of(compared.begin(), compared.end(), [](const auto& one) { return one.needs_run; });
  if (!is_late) show_table(compared, options);
  if (!is_late) flush_shown();
  verify(contestants, compared, options);
  // What could not be run has its reason.
  for (ComparedStrategy& one : compared) one.needs_run = options.estimate && one.needs_run;
  if (is_late) show_table(compared, options);
  return finish(options, contestants, compared, std::move(clocked_on));
}

}  // namespace podium::cli
