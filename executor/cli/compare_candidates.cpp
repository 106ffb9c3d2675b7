#include "executor/cli/compare_candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "executor/cli/session_options.h"
#include "executor/cli/write_file.h"
#include "executor/compare/trial.h"
#include "ir/files.h"

namespace podium::cli {
namespace {

// A cut that is asked for and that no candidate has would pass unseen.
std::string note_of_missing_cuts(const compare::Request& request,
                                 const std::vector<compare::Candidate>& candidates) {
  const TensorParallelism& asked = request.base.tensor_parallel;
  const auto cuts = [](const compare::Candidate& one) { return one.strategy.tensor_parallel.cuts(); };
  if (!asked.cuts() || std::ranges::any_of(candidates, cuts)) return "";
  return fmt::format(
      "no strategy cuts tensors over {} devices: {} processors found (--ipus), a multiple needed, with room for "
      "the weights",
      asked.group(), request.processors);
}

// As many as were asked for, or null: as many as there is room for.
std::optional<int> replicas_asked(const Options& options, int processors) {
  const bool is_given =
      std::ranges::any_of(options.given, [](const GivenFlag& given) { return given.name == "replicas"; });
  const int replicas = options.session.replicas;
  if (!is_given && replicas == 1) return std::nullopt;
  if (processors % replicas == 0) return replicas;
  throw Error("compare: {} replicas found (--replicas) over {} processors (--ipus), a divisor needed",
              replicas, processors);
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

std::vector<compare::Candidate> candidates_of(const Options& options, compare::Request& request) {
  if (options.compare.strategies_file.empty()) request.replicas = replicas_asked(options, request.processors);
  std::vector<std::string> notes = options.notes;
  std::vector<compare::Candidate> candidates;
  if (const std::string& file = options.compare.strategies_file; !file.empty()) {
    candidates = compare::read_candidates(ir::read_small_file(file), file, options.session_json, notes);
  } else {
    candidates = compare::sensible_candidates(request);
    const std::string missing = note_of_missing_cuts(request, candidates);
    if (!missing.empty()) notes.push_back(missing);
  }
  print_notes(notes, options);
  return candidates;
}

}  // namespace podium::cli
