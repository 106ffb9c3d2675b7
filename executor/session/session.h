// The public way in: a model becomes a Program and runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "executor/numeric/engine.h"
#include "importer/import.h"

namespace podium {

struct SessionOptions {
  std::uint64_t seed = 0;  ///< of random ops that have none of their own
  int threads = 0;         ///< 0: one a processor of the machine
  bool optimized = false;  ///< the model has been through optimize
};

/// Infers types, folds constants and simplifies, as a session does first. Error names the node that does not fit.
void optimize(importer::Model& model);

/// Runs a model forward on one simulated processor.
class InferenceSession {
 public:
  /// Infers types, folds constants, simplifies, lowers and prepares. Error for a model that cannot run.
  InferenceSession(importer::Model model, const SessionOptions& options = {});

  const std::vector<executor::HostTensor>& inputs() const { return engine_.program().inputs; }
  const std::vector<executor::HostTensor>& outputs() const { return engine_.program().outputs; }

  /// `inputs` in the order of inputs(). Error for a wrong number, type or shape.
  /// The outputs stay valid until the next run.
  std::span<const ir::Datum> run(std::span<const ir::Datum> inputs);

  /// Bytes planned for values between ops.
  std::size_t arena_bytes() const { return engine_.arena_bytes(); }

 private:
  numeric::Engine engine_;
};

}  // namespace podium
