// Data from and to the host: the host's arrays hold all micro-batches; a step takes or gives one micro-batch,
// slice or part.
#pragma once

#include <span>
#include <vector>

#include "executor/numeric/memory_pool.h"
#include "executor/program.h"
#include "ir/datum.h"

namespace podium::numeric {

/// The inputs. An array is laid out as [micro-batches][replicas][micro-batch...], without the replicas where
/// the input is broadcast; only its number of elements counts (semantics, section 6.1). Micro-batches that
/// are no tensors are the items of a sequence in this order, as those of outputs are.
class HostInputs {
 public:
  /// `program` outlives the streams.
  explicit HostInputs(const executor::Program& program);

  /// Called before a run. Error for a number or type of elements that does not fit; `given` outlives the run.
  void start(std::span<const ir::Datum> given);
  /// The data of the replica's next load of a part (HostTensor::parts, or 0), valid until the next call: a
  /// view of the array where the data are contiguous there.
  const ir::Datum& next(int input, int part, int replica);

 private:
  const executor::Program* program_;
  std::span<const ir::Datum> given_;
  std::vector<std::vector<int>> loads_;  // per input, for each part and replica: loads so far in this run
  ir::Datum next_;
  MemoryPool pool_;
};

/// The outputs. Each is one array [leading dimensions, replicas, micro-batch...]; of the dimensions before
/// the micro-batch's own, those of size 1 are dropped (semantics, section 6.2).
class HostOutputs {
 public:
  explicit HostOutputs(const executor::Program& program);

  /// Called before a run.
  void start();
  /// Takes the replica's next store of a part (HostTensor::parts, or 0). Error when the shapes of
  /// micro-batches differ.
  void offer(int output, int part, int replica, const ir::Datum& value);
  /// The arrays of all outputs, once the run has ended. InternalError when micro-batches are missing.
  std::span<const ir::Datum> results() const;

 private:
  void begin(int output, const ir::Datum& first);
  void begin(int output, ir::DataType type, const ir::Dims& dims);
  void put(int output, int chunk, int slice, const ir::Datum& value);
  void put_part(int output, int part, int chunk, const ir::Datum& value);

  const executor::Program* program_;
  std::vector<std::vector<int>> stores_;  // per output, for each part and replica: stores so far in this run
  std::vector<ir::Dims> dims_;            // per output: of one slice
  std::vector<bool> begun_;               // per output: it has an array and dims_
  std::vector<ir::Datum> results_;
  std::vector<std::vector<ir::Datum>> items_;  // per output: micro-batches that are no tensors
  MemoryPool pool_;
};

}  // namespace podium::numeric
