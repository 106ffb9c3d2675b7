#include "executor/cli/compare_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "executor/cli/session_options.h"
#include "executor/cli/write_file.h"
#include "executor/compare/strategy_sizes.h"
#include "executor/compare/trial.h"
#include "executor/session/check_options.h"
#include "ir/files.h"

namespace podium::cli {
namespace {

constexpr std::int64_t kMostTried = 1 << 20;

std::string count_of(std::int64_t processors) {
  return fmt::format("{} processor{}", processors, processors == 1 ? "" : "s");
}

std::string in_parentheses(const std::string& flags) {
  return flags.empty() ? "" : fmt::format(" ({})", flags);
}

// The processors that a comparison is over, as if they had been asked for.
Strategy more_than(const compare::Request& request) {
  Strategy strategy = request.base;
  strategy.ipus = request.processors;
  return strategy;
}

// What to type for a multiple of `unit`: the next above, or where nobody knows a machine that has so many,
// the next below.
std::string flags_for_multiple(const compare::Request& request, const device::Device& device,
                               std::int64_t unit) {
  const std::int64_t above = (request.processors + unit - 1) / unit * unit;
  const std::string flags = flags_for_processors(more_than(request), above, device);
  return !flags.empty() || above == unit ? flags : fmt::format("--ipus {}", above - unit);
}

// A cut that is asked for and that no candidate has would pass unseen.
std::string note_of_missing_cuts(const compare::Request& request, const device::Device& device,
                                 const std::vector<compare::Candidate>& candidates) {
  const TensorParallelism& asked = request.base.tensor_parallel;
  const auto cuts = [](const compare::Candidate& one) { return one.strategy.tensor_parallel.cuts(); };
  if (!asked.cuts() || std::ranges::any_of(candidates, cuts)) return "";
  const std::int64_t unit = asked.group() * request.replicas.value_or(1);
  if (request.processors % unit != 0) {
    return fmt::format(
        "no strategy cuts tensors over {} devices: {} found (--ipus), a multiple of {} needed{}",
        asked.group(), count_of(request.processors), unit,
        in_parentheses(flags_for_multiple(request, device, unit)));
  }
  std::int64_t needed = 2 * request.processors;
  while (!compare::have_room(request, static_cast<int>(needed)) && needed < kMostTried) needed *= 2;
  return fmt::format(
      "no strategy cuts tensors over {} devices: {} found (--ipus), which have no room for the weights{}",
      asked.group(), count_of(request.processors),
      in_parentheses(flags_for_processors(more_than(request), needed, device)));
}

// Of two that are equally near the larger.
int nearest_divisor(int number, int wanted) {
  int nearest = 1;
  for (int divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0 && std::abs(wanted - divisor) <= std::abs(wanted - nearest)) nearest = divisor;
  }
  return nearest;
}

// As many as were asked for, or null: as many as there is room for.
std::optional<int> replicas_asked(const Options& options, const compare::Request& request,
                                  const device::Device& device) {
  const int processors = request.processors;
  const bool is_given =
      std::ranges::any_of(options.given, [](const GivenFlag& given) { return given.name == "replicas"; });
  const int replicas = options.session.replicas;
  if (!is_given && replicas == 1) return std::nullopt;
  if (processors % replicas == 0) return replicas;
  const std::string more = flags_for_multiple(request, device, replicas);
  throw Error("compare: {} replicas found (--replicas) over {} (--ipus), a divisor needed (--replicas {}{})",
              replicas, count_of(processors), nearest_divisor(processors, replicas),
              more.empty() ? "" : ", or " + more);
}

}  // namespace

compare::Request request_of(const Options& options, const device::Device& device,
                            const importer::Model& model, int micro_batches) {
  compare::Request request = compare::request_of(device, model);
  request.task = options.trains ? Task::Training : Task::Inference;
  request.base = options.session;
  request.document = options.session_json;
  request.micro_batches = micro_batches;
  if (options.session.ipus > 0) request.processors = options.session.ipus;
  return request;
}

std::vector<compare::Candidate> candidates_of(const Options& options, const device::Device& device,
                                              compare::Request& request) {
  if (options.compare.strategies_file.empty()) {
    check_device(options.session, device);
    request.replicas = replicas_asked(options, request, device);
  }
  std::vector<std::string> notes = options.notes;
  std::vector<compare::Candidate> candidates;
  if (const std::string& file = options.compare.strategies_file; !file.empty()) {
    candidates = compare::read_candidates(ir::read_small_file(file), file, options.session_json, notes);
  } else {
    candidates = compare::sensible_candidates(request);
    const std::string missing = note_of_missing_cuts(request, device, candidates);
    if (!missing.empty()) notes.push_back(missing);
  }
  print_notes(notes, options);
  return candidates;
}

}  // namespace podium::cli
