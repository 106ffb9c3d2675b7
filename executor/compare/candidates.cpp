// A candidate is an entry of a table: over which processors and replicas, what they do there, and what is
// changed of that for comparison. Each of these is a function that names what it does, so the names of
// candidates come from the table, too. Entries side by side over the same processors stay together where
// there are several such splits.
#include "executor/compare/candidates.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <span>

#include "executor/compare/strategy_sizes.h"
#include "executor/session/json_rows.h"
#include "executor/session/option_rows.h"
#include "executor/session/read_options.h"
#include "executor/session/tensor_kinds.h"

namespace podium::compare {
namespace {

using nlohmann::json;

constexpr int kMostSlices = 4;
constexpr int kCopiesOfWeights = 4;  // the weight, its gradient and the state of most optimizers

struct Split {
  int processors = 1;  // of a replica
  int replicas = 1;
  int cut = 1;  // of these processors, those that tensors are cut over
};

// How a step's micro-batches are shared out: an update on a replica takes as many fewer as there are
// replicas.
Candidate on(const Request& request, const std::string& name, VirtualGraphMode mode, Split split) {
  Candidate candidate{
      .name = split.replicas > 1 ? fmt::format("{}, {} replicas", name, split.replicas) : name,
      .strategy = request.base};
  Strategy& strategy = candidate.strategy;
  strategy.virtual_graph_mode = mode;
  strategy.pipelining = false;
  strategy.tensor_parallel = {};
  strategy.ipus = split.processors * split.replicas;
  strategy.replicas = split.replicas;
  int& count = request.task == Task::Training ? strategy.accumulation_factor : strategy.batches_per_step;
  count = std::max(1, micro_batches_of_step(request) / split.replicas);
  return candidate;
}

Candidate one_processor(const Request& request, Split split) {
  return on(request, "one processor", VirtualGraphMode::Off, split);
}

Candidate one_processor_off_chip(const Request& request, Split split) {
  Candidate candidate = on(request, "one processor, weights off chip", VirtualGraphMode::Off, split);
  candidate.strategy.weights.location.storage = ir::Storage::OffChip;
  return candidate;
}

Candidate sharded(const Request& request, Split split) {
  return on(request, fmt::format("sharded over {}", split.processors), VirtualGraphMode::Auto, split);
}

Candidate pipelined(const Request& request, Split split) {
  Candidate candidate =
      on(request, fmt::format("pipelined over {}", split.processors), VirtualGraphMode::Auto, split);
  candidate.strategy.pipelining = true;
  return candidate;
}

// As the base asks for, which says nothing where a candidate leaves tensors whole.
void cut_blocks(const Request& request, Split split, Strategy& strategy) {
  strategy.tensor_parallel = request.base.tensor_parallel;
  TensorParallelism& cut = strategy.tensor_parallel;
  cut.devices = static_cast<int>(split.cut / (cut.context_groups * cut.image_groups()));
}

// "tensors cut over 4", or what groups of devices do that cut no weights.
std::string name_of_cut(const Request& request, int devices) {
  const TensorParallelism& asked = request.base.tensor_parallel;
  if (asked.image_groups() > 1)
    return words_of({.spatial_groups = asked.spatial_groups, .sample_groups = asked.sample_groups});
  return words_of({.devices = devices / asked.context_groups, .context_groups = asked.context_groups});
}

Candidate cut_over(const Request& request, Split split) {
  Candidate candidate = on(request, name_of_cut(request, split.cut), VirtualGraphMode::Manual, split);
  cut_blocks(request, split, candidate.strategy);
  return candidate;
}

Candidate images_over(const Request& request, Split split) {
  Candidate candidate = on(request, fmt::format("images shared out among {}", split.processors),
                           VirtualGraphMode::Manual, split);
  candidate.strategy.tensor_parallel.spatial_groups = split.processors;
  return candidate;
}

// Stages are groups of devices.
Candidate cut_and_pipelined(const Request& request, Split split) {
  const std::string name =
      fmt::format("{}, pipelined over {}", name_of_cut(request, split.cut), split.processors / split.cut);
  Candidate candidate = on(request, name, VirtualGraphMode::Auto, split);
  Strategy& strategy = candidate.strategy;
  cut_blocks(request, split, strategy);
  strategy.pipelining = true;
  if (request.task == Task::Training) strategy.pipeline_order = PipelineOrder::OneForwardOneBackward;
  return candidate;
}

// Phases with weights, and in training all that belongs to them, in streaming memory; on two processors that
// take turns, or on one, with IO tiles where it has them.
Candidate phased(const Request& request, Split split) {
  const bool is_alone = split.processors == 1;
  const bool takes_io_tiles = is_alone && has_io_tiles(request);
  const std::string_view alone = takes_io_tiles ? "phases on 1 with IO tiles" : "phases on 1";
  Candidate candidate = on(request, std::string(is_alone ? alone : "phases in turns on 2"),
                           VirtualGraphMode::ExecutionPhases, split);
  Strategy& strategy = candidate.strategy;
  strategy.phases = {.phases = phases_that_fit(request), .stages = split.processors};
  strategy.sync = SyncPattern::ReplicaAndLadder;
  if (takes_io_tiles) strategy.io_tiles = sensible_io_tiles(request);
  for (const TensorKind& kind : kTensorKinds) {
    if (kind.settings != &Strategy::weights && request.task == Task::Inference) continue;
    ir::TensorLocation& location = (strategy.*kind.settings).location;
    location.storage = ir::Storage::OffChip;
    if (takes_io_tiles) location.load_tiles = ir::TileSet::IO;
  }
  return candidate;
}

using Change = void (*)(const Request&, Candidate&);

void add_name(Candidate& candidate, const std::string& what) { candidate.name += ", " + what; }

void few_batches(const Request& /*request*/, Candidate& candidate) {
  Strategy& strategy = candidate.strategy;
  strategy.batches_per_step = strategy.ipus;
  add_name(candidate, fmt::format("{} batches", strategy.ipus));
}

void overlapped_io(const Request& request, Candidate& candidate) {
  Strategy& strategy = candidate.strategy;
  if (strategy.virtual_graph_mode == VirtualGraphMode::Off)
    strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.io_tiles = sensible_io_tiles(request);
  strategy.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
  add_name(candidate, "host IO overlapped");
}

int slices_of(const Request& request) { return request.batch % kMostSlices == 0 ? kMostSlices : 2; }

// A micro-batch in slices that come and go beside the computation.
void sliced(const Request& request, Candidate& candidate) {
  candidate.strategy.io_tiles = sensible_io_tiles(request);
  candidate.strategy.batch_serialization = {.factor = slices_of(request), .io_mode = IoMode::IoOverlapped};
  add_name(candidate, fmt::format("batch in {} slices", slices_of(request)));
}

void recomputed(const Request& /*request*/, Candidate& candidate) {
  Strategy& strategy = candidate.strategy;
  strategy.recomputation = strategy.pipelining ? Recomputation::Pipeline : Recomputation::Standard;
  add_name(candidate, "recomputation");
}

void tokens_cut(const Request& /*request*/, Candidate& candidate) {
  candidate.strategy.tensor_parallel.cuts_tokens = true;
  add_name(candidate, "tokens cut");
}

void sends_in_parts(const Request& /*request*/, Candidate& candidate) {
  candidate.strategy.tensor_parallel.scatters_sends = true;
  add_name(candidate, "sends in parts");
}

template <PipelineOrder order>
void in_order(const Request& /*request*/, Candidate& candidate) {
  candidate.strategy.pipeline_order = order;
  add_name(candidate, std::string(word_of(order)));
}

// Two chunks on each processor, or what the schedule wants.
template <PipelineOrder order>
void in_chunks(const Request& request, Candidate& candidate) {
  candidate.strategy.pipeline_chunks = 2;
  in_order<order>(request, candidate);
}

void weights_sharded(const Request& /*request*/, Candidate& candidate) {
  candidate.strategy.weights.location.sharded = true;
  add_name(candidate, "weights sharded");
}

void state_sharded(const Request& /*request*/, Candidate& candidate) {
  candidate.strategy.optimizer_state.location.sharded = true;
  add_name(candidate, "optimizer state sharded");
}

// Each replica keeps a part of everything that belongs to weights.
void all_sharded(const Request& /*request*/, Candidate& candidate) {
  for (const TensorKind& kind : kTensorKinds) {
    if (kind.can_be_sharded) (candidate.strategy.*kind.settings).location.sharded = true;
  }
  add_name(candidate, "all sharded");
}

void state_off_chip(const Request& /*request*/, Candidate& candidate) {
  candidate.strategy.optimizer_state.location.storage = ir::Storage::OffChip;
  add_name(candidate, "optimizer state off chip");
}

void weights_off_chip(const Request& /*request*/, Candidate& candidate) {
  candidate.strategy.weights.location.storage = ir::Storage::OffChip;
  add_name(candidate, "weights off chip");
}

void weights_and_state_off_chip(const Request& /*request*/, Candidate& candidate) {
  candidate.strategy.weights.location.storage = ir::Storage::OffChip;
  candidate.strategy.optimizer_state.location.storage = ir::Storage::OffChip;
  add_name(candidate, "weights and state off chip");
}

enum class Over : std::uint8_t {
  One,
  Two,       // one replica, also where the device has more
  All,       // processors of one replica
  Copies,    // replicas of one processor
  Shorter,   // pipelines, each length of them
  Shortest,  // the last of these
  Pairs,     // replicas of two
  Cuts,      // replicas of as many as tensors can be cut over
  Images,    // replicas of as many as images can be shared out among, where no other cut is asked for
  CutStages  // pipelines whose stages are as many
};

// Those that the base asks for, else those that the model allows.
std::vector<int> degrees(const Request& request) {
  const std::int64_t asked = request.base.tensor_parallel.group();
  if (asked == 1) return request.tensor_cuts.degrees;
  if (asked > request.processors) return {};
  return {static_cast<int>(asked)};
}

// Tensors are cut over so many devices as have room for the weights, alone or as the stages of a pipeline.
std::vector<Split> cuts(const Request& request) {
  std::vector<Split> found;
  for (int devices : degrees(request)) {
    if (request.processors % devices == 0 && have_room(request, devices))
      found.push_back({devices, request.processors / devices, devices});
  }
  return found;
}

std::vector<Split> image_cuts(const Request& request) {
  std::vector<Split> found;
  if (request.base.tensor_parallel.cuts()) return found;
  for (int devices : request.tensor_cuts.image_degrees) {
    if (request.processors % devices == 0) found.push_back({devices, request.processors / devices, devices});
  }
  return found;
}

// The shortest pipelines that have room, of groups of so many devices.
std::vector<Split> cut_stages(const Request& request, int devices, std::size_t most) {
  std::vector<Split> found;
  for (int stages = 2; found.size() < most && stages <= request.ops; stages *= 2) {
    const int processors = devices * stages;
    if (request.processors % processors != 0) break;
    if (have_room(request, processors))
      found.push_back({processors, request.processors / processors, devices});
  }
  return found;
}

// Two lengths of the largest groups that leave processors for a second stage, one of those half as large.
std::vector<Split> cut_stages(const Request& request) {
  std::vector<Split> found;
  std::size_t most = 2;
  const std::vector<int> ascending = degrees(request);
  for (int devices : ascending | std::views::reverse) {
    const std::vector<Split> of_groups = cut_stages(request, devices, most);
    if (of_groups.empty()) continue;
    found.insert(found.end(), of_groups.begin(), of_groups.end());
    if (most-- == 1) break;
  }
  return found;
}

std::vector<Split> splits(Over over, const Request& request) {
  const int processors = request.processors;
  std::vector<Split> shorter;
  for (int length : shorter_pipelines(request)) shorter.push_back({length, processors / length});
  const auto where = [](bool holds, Split split) {
    return holds ? std::vector<Split>{split} : std::vector<Split>{};
  };
  switch (over) {
    case Over::One:
      return {{1, 1}};
    case Over::Two:
      return where(processors > 1, {2, 1});
    case Over::All:
      return where(processors > 1, {processors, 1});
    case Over::Copies:
      return where(processors > 1, {1, processors});
    case Over::Shorter:
      return shorter;
    case Over::Shortest:
      return shorter.empty() ? shorter : std::vector<Split>{shorter.back()};
    case Over::Cuts:
      return cuts(request);
    case Over::Images:
      return image_cuts(request);
    case Over::CutStages:
      return cut_stages(request);
    case Over::Pairs:
      break;
  }
  return where(processors >= 4 && processors % 2 == 0, {2, processors / 2});
}

// Where so many replicas are asked for, each entry is over the processors of one of them.
std::vector<Split> splits_as_asked(Over over, Request request) {
  if (!request.replicas) return splits(over, request);
  const int replicas = *request.replicas;
  request.processors /= replicas;
  switch (over) {
    case Over::Copies:
    case Over::Shorter:
    case Over::Shortest:
    case Over::Pairs:
      if (replicas == 1) return {};
      if (over == Over::Copies) return {{1, replicas}};
      over = over == Over::Pairs ? Over::Two : Over::All;
      break;
    default:
      break;
  }
  std::vector<Split> found = splits(over, request);
  std::erase_if(found, [](const Split& split) { return split.replicas > 1; });
  for (Split& split : found) split.replicas = replicas;
  return found;
}

struct Entry {
  Over over;
  Candidate (*make)(const Request&, Split);
  std::array<Change, 2> changes = {};
  bool (*holds)(const Request&) = nullptr;  // absent: always
};

bool has_weights(const Request& request) { return request.weight_bytes > 0; }

// Slices come and go over IO tiles.
bool can_be_sliced(const Request& request) {
  return has_io_tiles(request) && request.batch % slices_of(request) == 0;
}

// Tokens are cut between the blocks over the devices of a weight, of which groups that share them out may
// have one alone.
bool can_cut_tokens(const Request& request) {
  const TensorParallelism& asked = request.base.tensor_parallel;
  return request.tensor_cuts.tokens && (asked.devices > 1 || !asked.cuts());
}

// All candidates do where the base asks for it.
bool can_send_in_parts(const Request& request) {
  const TensorParallelism& asked = request.base.tensor_parallel;
  return !asked.scatters_sends && (asked.devices > 1 || !asked.cuts());
}

bool is_no_long_pipeline(const Request& request) { return !is_long_pipeline(request.processors); }

constexpr auto kInference = std::to_array<Entry>({
    {Over::One, one_processor},
    {Over::One, one_processor, {overlapped_io}, has_io_tiles},
    {Over::One, phased},
    {Over::Two, phased},
    {Over::Two, phased, {sliced}, can_be_sliced},
    {Over::All, sharded},
    {Over::All, pipelined, {few_batches}, is_no_long_pipeline},
    {Over::All, pipelined},
    {Over::All, pipelined, {overlapped_io}, has_io_tiles},
    {Over::Copies, one_processor},
    {Over::Copies, one_processor, {weights_sharded}, has_weights},
    {Over::Copies, one_processor_off_chip, {}, has_weights},
    {Over::Copies, one_processor_off_chip, {weights_sharded}, has_weights},
    {Over::Shorter, pipelined},
    {Over::Shortest, pipelined, {weights_sharded}, has_weights},
    {Over::Pairs, sharded},
    {Over::Pairs, phased},
    {Over::Pairs, phased, {weights_sharded}, has_weights},
    {Over::Cuts, cut_over},
    {Over::Images, images_over},
    {Over::CutStages, cut_and_pipelined},
});

constexpr auto kTraining = std::to_array<Entry>({
    {Over::One, one_processor},
    {Over::One, one_processor, {recomputed}},
    {Over::One, one_processor, {state_off_chip}},
    {Over::One, one_processor, {weights_and_state_off_chip}},
    {Over::One, phased},
    {Over::Two, phased},
    {Over::All, sharded},
    {Over::All, sharded, {recomputed}},
    {Over::All, pipelined, {}, is_no_long_pipeline},
    {Over::All, pipelined, {in_order<PipelineOrder::LockstepSplit>}, is_no_long_pipeline},
    {Over::All, pipelined, {in_order<PipelineOrder::OneForwardOneBackward>}, is_no_long_pipeline},
    {Over::All, pipelined, {in_chunks<PipelineOrder::Interleaved>}, is_no_long_pipeline},
    {Over::All, pipelined, {in_order<PipelineOrder::ZeroBubbleH1>}, is_no_long_pipeline},
    {Over::All, pipelined, {in_order<PipelineOrder::ZeroBubbleH2>}, is_no_long_pipeline},
    {Over::All, pipelined, {in_chunks<PipelineOrder::ZeroBubbleV>}, is_no_long_pipeline},
    {Over::All, pipelined, {in_order<PipelineOrder::ListScheduled>}, is_no_long_pipeline},
    {Over::All, pipelined, {recomputed}, is_no_long_pipeline},
    {Over::All, pipelined, {state_off_chip}, is_no_long_pipeline},
    {Over::Copies, one_processor},
    {Over::Copies, one_processor, {state_sharded}},
    {Over::Copies, one_processor, {all_sharded}},
    {Over::Copies, one_processor, {weights_and_state_off_chip, all_sharded}},
    {Over::Shorter, pipelined},
    {Over::Shorter, pipelined, {recomputed}},
    {Over::Shorter, pipelined, {state_sharded}},
    {Over::Pairs, phased},
    {Over::Pairs, phased, {all_sharded}},
    {Over::Cuts, cut_over},
    {Over::Images, images_over},
    {Over::CutStages, cut_and_pipelined},
    {Over::CutStages, cut_and_pipelined, {sends_in_parts}, can_send_in_parts},
    {Over::CutStages, cut_and_pipelined, {recomputed, tokens_cut}, can_cut_tokens},
});

constexpr auto kThriftyInference = std::to_array<Entry>({
    {Over::All, pipelined, {weights_off_chip}},
    {Over::All, sharded, {weights_off_chip}},
    {Over::Shorter, pipelined, {weights_off_chip}},
});

constexpr auto kThriftyTraining = std::to_array<Entry>({
    {Over::One, one_processor, {recomputed, weights_and_state_off_chip}},
    {Over::All, sharded, {recomputed, state_off_chip}},
    {Over::All, pipelined, {recomputed, state_off_chip}, is_no_long_pipeline},
    {Over::All, pipelined, {recomputed, weights_and_state_off_chip}, is_no_long_pipeline},
    {Over::Copies, one_processor, {recomputed, all_sharded}},
    {Over::Shorter, pipelined, {recomputed, state_off_chip}},
    {Over::Shorter, pipelined, {recomputed, state_sharded}},
});

std::span<const Entry> entries(Task task) {
  return task == Task::Training ? std::span<const Entry>(kTraining) : kInference;
}

// A base that asks for it gets a refusal, which says more than an empty list.
bool lacks_streaming_memory(const Request& request, const Strategy& strategy) {
  if (has_streaming_memory(request)) return false;
  return std::ranges::any_of(kTensorKinds, [&](const TensorKind& kind) {
    const auto storage = [&](const Strategy& of) { return (of.*kind.settings).location.storage; };
    return storage(strategy) != storage(request.base);
  });
}

// The entries over the same processors from the first of `rest` on.
std::span<const Entry> first_group(std::span<const Entry> rest) {
  const auto end = std::find_if(rest.begin(), rest.end(),
                                [&](const Entry& entry) { return entry.over != rest.front().over; });
  return rest.first(end - rest.begin());
}

Candidate documented(Candidate candidate, const Request& request) {
  candidate.where = candidate.name;
  candidate.document = request.document;
  candidate.document.merge_patch(write_options(candidate.strategy, request.base));
  return candidate;
}

Candidate candidate_of(const Entry& entry, const Request& request, Split split) {
  Candidate candidate = entry.make(request, split);
  for (Change change : entry.changes) {
    if (change != nullptr) change(request, candidate);
  }
  return documented(std::move(candidate), request);
}

std::vector<Candidate> candidates_of(std::span<const Entry> rest, Request request) {
  if (request.task == Task::Training) request.weight_bytes *= kCopiesOfWeights;
  std::vector<Candidate> candidates;
  while (!rest.empty()) {
    const std::span<const Entry> group = first_group(rest);
    rest = rest.subspan(group.size());
    for (const Split& split : splits_as_asked(group.front().over, request)) {
      for (const Entry& entry : group) {
        if (entry.holds != nullptr && !entry.holds(request)) continue;
        Candidate candidate = candidate_of(entry, request, split);
        if (lacks_streaming_memory(request, candidate.strategy)) continue;
        // As pairs and as all processors of a replica an entry may come twice.
        if (std::ranges::find(candidates, candidate.name, &Candidate::name) == candidates.end())
          candidates.push_back(std::move(candidate));
      }
    }
  }
  return candidates;
}

// One for each configuration of the model for which there are processors.
std::vector<Candidate> cut_over_devices(const Request& request) {
  std::vector<Candidate> candidates;
  for (const importer::DeviceConfiguration& configuration : request.configurations) {
    if (configuration.devices > request.processors / request.replicas.value_or(1)) continue;
    const int devices = static_cast<int>(configuration.devices);
    const int replicas = request.replicas.value_or(request.processors / devices);
    Candidate candidate =
        on(request, fmt::format("{} ('{}')", words_of({.devices = devices}), configuration.name),
           VirtualGraphMode::Manual, {devices, replicas});
    candidate.strategy.device_configuration = configuration.name;
    candidates.push_back(documented(std::move(candidate), request));
  }
  return candidates;
}

Candidate read_candidate(const json& entry, const std::string& place, const json& base) {
  if (!entry.is_object()) throw Error("{}: {} found, an object needed", place, entry.type_name());
  Candidate candidate{.name = "", .document = base};
  for (const auto& [key, value] : entry.items()) {
    if (key == "name" && value.is_string()) {
      candidate.name = value;
    } else if (key == "options" && value.is_object()) {
      candidate.document.merge_patch(value);
    } else if (key == "annotate" && value.is_structured()) {
      candidate.annotations = value;
    } else {
      throw Error("{}: '{}' found, name (a text), options (an object) or annotate (rules) needed", place,
                  key);
    }
  }
  return candidate;
}

}  // namespace

std::vector<Candidate> sensible_candidates(Request request) {
  std::vector<Candidate> cut = cut_over_devices(request);
  std::vector<Candidate> candidates = candidates_of(entries(request.task), std::move(request));
  std::ranges::move(cut, std::back_inserter(candidates));
  return candidates;
}

std::vector<Candidate> thrifty_candidates(Request request) {
  const std::span<const Entry> thrifty =
      request.task == Task::Training ? std::span<const Entry>(kThriftyTraining) : kThriftyInference;
  return candidates_of(thrifty, std::move(request));
}

std::vector<Candidate> read_candidates(const std::string& text, const std::string& where, const json& base,
                                       Notes& notes) {
  const json document = parse_json(text, where);
  if (!document.is_array() || document.empty())
    throw Error("{}: a list of at least one strategy needed", where);
  std::vector<Candidate> candidates;
  for (const json& entry : document) {
    Candidate candidate =
        read_candidate(entry, fmt::format("{}: strategy {}", where, candidates.size()), base);
    if (candidate.name.empty()) candidate.name = fmt::format("strategy {}", candidates.size());
    candidate.where = fmt::format("{}: {}", where, candidate.name);
    const bool is_taken = std::any_of(candidates.begin(), candidates.end(),
                                      [&](const Candidate& other) { return other.name == candidate.name; });
    if (is_taken) throw Error("{}: two strategies are called '{}'", where, candidate.name);
    candidates.push_back(std::move(candidate));
  }
  for (Candidate& candidate : candidates)
    candidate.strategy = read_option_document(candidate.document, candidate.where, notes);
  return candidates;
}

}  // namespace podium::compare
