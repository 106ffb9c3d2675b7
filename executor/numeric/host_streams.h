// What comes from and goes to the host: arrays of all micro-batches on its side, one micro-batch or slice on
// ours.
#pragma once

#include <span>
#include <vector>

#include "executor/numeric/pool.h"
#include "executor/program.h"
#include "ir/datum.h"

namespace podium::numeric {

/// The inputs. An array is laid out as [micro-batches][replicas][micro-batch...], without the replicas where
/// the input is broadcast; only its number of elements counts (semantics, section 6.1).
class HostInputs {
 public:
  /// `program` outlives the streams.
  explicit HostInputs(const executor::Program& program);

  /// Before a run. Error for a number or type of elements that does not fit; `given` outlives the run.
  void start(std::span<const ir::Datum> given);
  /// What the replica's next load brings, valid until the next call: a part of the array where it lies in one
  /// piece.
  const ir::Datum& next(int input, int replica);

 private:
  const executor::Program* program_;
  std::span<const ir::Datum> given_;
  std::vector<std::vector<int>> loads_;  // per input and replica: done in this run
  ir::Datum next_;
  Pool pool_;
};

/// The outputs: each one array [leading dimensions, replicas, micro-batch...], of whose dimensions before the
/// micro-batch's own those of one are dropped (semantics, section 6.2).
class HostOutputs {
 public:
  explicit HostOutputs(const executor::Program& program);

  /// Before a run.
  void start();
  /// The replica's next store. Error when the shapes of micro-batches differ or they are no tensors.
  void offer(int output, int replica, const ir::Datum& value);
  /// Of all outputs, when the run has ended. InternalError when micro-batches are missing.
  std::span<const ir::Datum> results() const;

 private:
  void begin(int output, const ir::Datum& first);
  void put(int output, int chunk, int slice, const ir::Datum& value);

  const executor::Program* program_;
  std::vector<std::vector<int>> stores_;  // per output and replica: offered in this run
  std::vector<ir::Dims> dims_;            // per output: of one store
  std::vector<bool> begun_;               // per output: it has an array and dims_
  std::vector<ir::Datum> results_;
  Pool pool_;
};

}  // namespace podium::numeric
