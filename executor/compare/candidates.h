// The strategies that are compared when nobody names others, and those that a file names.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/session/check_options.h"
#include "executor/session/tensor_cuts.h"
#include "executor/strategy.h"
#include "importer/sharding.h"

namespace podium::compare {

struct Candidate {
  std::string name;
  Strategy strategy = {};
  nlohmann::json document = {};     ///< the strategy as an options file has it, for the report
  nlohmann::json annotations = {};  ///< rules as `podium annotate --from` reads them; null: the model's own
  std::string where = {};           ///< for errors: its name, of a file's also the file
};

/// What candidates depend on.
struct Request {
  Task task = Task::Inference;
  Strategy base = {};                                  ///< that every candidate starts from
  nlohmann::json document = nlohmann::json::object();  ///< the same as it was given
  int processors = 1;                                  ///< to use, all replicas together
  std::optional<int> replicas = {};  ///< that every candidate has; it divides the processors
  int micro_batches = 0;   ///< of a step or an update, all replicas together; 0: enough to fill a pipeline
  int ops = 1;             ///< of the graph: no strategy cuts it into more pieces
  std::int64_t batch = 1;  ///< samples of a micro-batch
  std::int64_t weight_bytes = 0;
  std::int64_t memory_bytes = 0;                            ///< of one processor
  device::ProcessorKind kind = device::ProcessorKind::Ipu;  ///< others have no tiles for IO
  int tiles = 0;                                            ///< of one processor
  bool has_streaming_memory = true;
  TensorCuts tensor_cuts = {};                                     ///< that the model's blocks allow
  std::vector<importer::DeviceConfiguration> configurations = {};  ///< that the model declares
};

/// One processor, sharded, pipelined, phased, replicated, and their combinations on all the processors; for
/// training also with recomputation, optimizer state and all else off chip, sharded over replicas. In a step,
/// or an update, each takes the same micro-batches in the same order, so that times and numbers can be
/// compared; but for the pipeline with fewer of them, whose name says so. Where blocks of the model can be
/// cut over devices also that, alone and in pipelines of groups of devices, and where it declares device
/// configurations, tensors cut over their devices; each in as many replicas as there is room for. The first
/// is the run on one processor.
std::vector<Candidate> sensible_candidates(Request request);

/// Strategies that take less memory than those, for when not all of those fit: what saves memory, together.
std::vector<Candidate> thrifty_candidates(Request request);

/// The list of a file: [{"name": ..., "options": {...}, "annotate": [...]}], its options over the document
/// `base`. Notes are those of the options. Error names `where` (the file), the entry, what was found and what
/// was needed.
std::vector<Candidate> read_candidates(const std::string& text, const std::string& where,
                                       const nlohmann::json& base, Notes& notes);

}  // namespace podium::compare
