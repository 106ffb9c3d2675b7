#include "executor/cli/verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "executor/cli/strategy_flags.h"
#include "executor/cli/what_ifs.h"
#include "executor/cli/write_file.h"
#include "executor/report/cause.h"
#include "executor/report/overflow.h"
#include "executor/report/table.h"
#include "executor/session/json_rows.h"
#include "ir/printable.h"

namespace podium::cli {
namespace {

using report::ComparedStrategy;

bool fits(const ComparedStrategy& strategy) {
  return strategy.refusal.empty() && strategy.run.timeline.fits();
}

double rate_of(const ComparedStrategy& strategy) { return report::samples_per_second(strategy.run); }

// ", 4.3 times one processor (1,340.2)"
std::string against_one(const std::vector<ComparedStrategy>& strategies) {
  const auto alone = std::find_if(strategies.begin(), strategies.end(), [](const ComparedStrategy& strategy) {
    return fits(strategy) && strategy.run.timeline.processors.size() == 1 &&
           strategy.run.timeline.replicas == 1;
  });
  if (alone == strategies.end() || alone == strategies.begin() || rate_of(*alone) <= 0) return "";
  return fmt::format(", {:.2f} times one processor ({})", rate_of(strategies.front()) / rate_of(*alone),
                     report::rate(rate_of(*alone)));
}

// What more memory would allow: of those that would be faster than the best but do not fit, the least full.
std::string with_more_memory(const std::vector<ComparedStrategy>& strategies) {
  for (const ComparedStrategy& strategy : strategies) {
    if (fits(strategy) || !strategy.refusal.empty()) continue;
    if (rate_of(strategy) <= rate_of(strategies.front())) continue;
    const sim::Timeline& timeline = strategy.run.timeline;
    const double full = report::fullness(timeline.processors[report::fullest_processor(timeline)].memory);
    return fmt::format("{:.0f}% more memory would allow {}: {} samples/s\n", std::ceil(100 * full) - 100,
                       ir::printable(strategy.name), report::rate(rate_of(strategy)));
  }
  return "";
}

// "podium compare m.onnx --ipus 4": the command line, without a switch.
std::string typed_without(const Options& options, std::string_view flag) {
  std::vector<std::string> words{"podium", "compare", options.paths[0]};
  for (const GivenFlag& given : options.given) {
    if (given.name == flag) continue;
    if (given.values.empty()) words.push_back("--" + given.name);
    for (const std::string& value : given.values) words.insert(words.end(), {"--" + given.name, value});
  }
  return line_of(words);
}

// Of strategies that an estimate cannot clock.
std::string left_to_a_run(const Options& options, const std::vector<ComparedStrategy>& strategies) {
  const auto first = std::ranges::find_if(strategies, &ComparedStrategy::needs_run);
  if (first == strategies.end()) return "";
  return fmt::format("{} strategies are not clocked: {}\nto run them: {}\n",
                     std::ranges::count_if(strategies, &ComparedStrategy::needs_run), ir::printable(first->refusal),
                     ir::printable(typed_without(options, "estimate")));
}

// Of those that do not fit, the least full comes first.
std::string nearest(const std::vector<ComparedStrategy>& strategies) {
  const auto large = std::find_if(strategies.begin(), strategies.end(),
                                  [](const ComparedStrategy& strategy) { return strategy.refusal.empty(); });
  if (large == strategies.end()) return "no strategy is possible\n";
  const auto full =
      report::fullness(large->run.timeline.processors[report::fullest_processor(large->run.timeline)].memory);
  return fmt::format("nothing fits {}; the nearest is '{}', at {:.0f}% of a processor's memory:\n{}",
                     large->run.device, ir::printable(large->name), 100 * full, report::overflow(large->run));
}

}  // namespace

bool any_fits(const std::vector<ComparedStrategy>& strategies) {
  return std::any_of(strategies.begin(), strategies.end(), fits);
}

std::string options_file_of(const Options& options, std::size_t place, const std::string& name) {
  std::string file = fmt::format("{:02}-", place + 1);
  for (const char c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_plain || file.back() != '-') file += is_plain ? c : '-';
  }
  constexpr std::size_t kLongest = 80;
  file = file.substr(0, kLongest) + ".json";
  const std::string& folder = options.compare.save_folder;
  return (std::filesystem::path(folder.empty() ? "DIR" : folder) / file).string();
}

std::string verdict(const Options& options, const Contestants& contestants,
                    const std::vector<ComparedStrategy>& strategies) {
  if (!any_fits(strategies)) {
    const std::string run = left_to_a_run(options, strategies);
    return run.empty() ? nearest(strategies) : run;
  }
  const ComparedStrategy& best = strategies.front();
  std::string text = fmt::format("best: {} with {} samples/s{}\n", ir::printable(best.name),
                                 report::rate(rate_of(best)), against_one(strategies));
  if (const std::string cause = report::cause_sentence(best.run.timeline); !cause.empty())
    text += ir::printable(cause) + "\n";
  if (const std::string gap = report::gap_text(best.run); !gap.empty()) text += "it is " + gap + "\n";
  text += with_more_memory(strategies);
  text += what_helps(best.run.what_ifs);
  const std::string file = options_file_of(options, 0, best.name);
  const std::string command = command_of(options, best.run.options, file, contestants.assumed);
  text += fmt::format("to run it: {}\n", ir::printable(command));
  const bool needs_file = options.compare.save_folder.empty() && !flags_of(best.run.options).no_flags.empty();
  if (needs_file) text += "(some of its options have no flag: --save DIR writes the file)\n";
  return text;
}

void save_strategies(const Options& options, const Contestants& contestants,
                     const std::vector<ComparedStrategy>& strategies) {
  const std::string& folder = options.compare.save_folder;
  if (folder.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw Error("--save {}: {}", folder, failed.message());
  std::string commands;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const ComparedStrategy& strategy = strategies[i];
    if (!strategy.refusal.empty()) continue;
    const std::string file = options_file_of(options, i, strategy.name);
    write_file(file, json_text(strategy.run.options) + "\n");
    commands += fmt::format("# {}\n{}\n", strategy.name,
                            command_of(options, strategy.run.options, file, contestants.assumed));
  }
  write_file((std::filesystem::path(folder) / "commands.txt").string(), commands);
}

}  // namespace podium::cli
