// The simulator's result: the costs of a run. Times in seconds from the start of the run, sizes in bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "executor/device/device.h"

namespace podium::sim {

/// The two parts of a processor that work side by side.
enum class Lane : std::uint8_t { Compute, Io };

enum class Activity : std::uint8_t {
  Compute,
  Exchange,         ///< between processors of a replica
  Collective,       ///< between replicas
  GroupCollective,  ///< between processors of a replica that tensors are cut over
  TileCopy,         ///< between IO and compute tiles
  HostLoad,
  HostStore,
  RemoteLoad,
  RemoteStore
};
inline constexpr std::size_t kActivities = 9;

/// Why a processor's compute lane stands still.
enum class Idle : std::uint8_t {
  Data,  ///< what it needs is still being made elsewhere
  Sync,  ///< others of its sync group, or at the end of the run all others, have not arrived, or it is held
         ///< by an exchange that is not its own
  Link,  ///< a link is taken by others
  Io     ///< a load or store of the host or of streaming memory is under way on the IO lane; the host's call
};
inline constexpr std::size_t kIdles = 4;

/// One step on one lane of one processor.
struct Event {
  double start = 0;
  double end = 0;
  int processor = 0;
  Lane lane = Lane::Compute;
  Activity activity = Activity::Compute;
  int micro_batch = 0;
  double bytes = 0;       ///< moved; 0 of a compute
  std::string name = {};  ///< the block, or what moves
  int flow = -1;          ///< events of one exchange share it: from the sender to the receivers
  int block = -1;         ///< of a compute: its place in Timeline::blocks
  int after = -1;         ///< the event (in Timeline::events) that let it start last; -1: the host's call
  bool on_path = false;   ///< the end of the run waited for it
};

/// Iterations that repeat a steady state, as one lane sees them: their time is there, their events are not.
struct FoldedTime {
  double start = 0;
  double end = 0;
  int processor = 0;
  Lane lane = Lane::Compute;
  std::int64_t iterations = 0;
};

/// A kernel of a block: an op, or several that the device's compiler makes one of.
struct BlockOp {
  std::string name = {};
  std::string type = {};  ///< "MatMul+Add"
  double seconds = 0;
  double flop = 0;
  double bytes = 0;                     ///< of what it reads and writes
  double ideal_seconds = 0;             ///< of the flop at the processor's peak rate for their types
  std::vector<std::string> makes = {};  ///< names of values, those inside the kernel as well
};

/// What one run of a block consists of, in the order of its kernels.
struct BlockReport {
  std::string name = {};
  int processor = 0;
  double seconds = 0;  ///< more than the ops' together where the host's dispatch is slower
  std::vector<BlockOp> ops = {};
};

/// Bytes of one processor at the moment of its peak.
struct MemoryUse {
  std::int64_t weights = 0;
  std::int64_t activations = 0;  ///< values between blocks, and inside the block that runs
  std::int64_t stashes = 0;
  std::int64_t streams = 0;  ///< host streams, and values on the IO tiles
  std::int64_t optimizer_state = 0;
  std::int64_t accumulators = 0;
  /// Estimate: what tiles copy from each other for the kernel that runs, as far as it makes the peak higher.
  std::int64_t copies = 0;
  std::int64_t code = 0;             ///< estimate
  std::int64_t exchange_code = 0;    ///< estimate
  std::int64_t always_live = 0;      ///< part of the sum of the above
  std::int64_t not_always_live = 0;  ///< part of the sum of the above
  /// Without the estimates. Equals what the numeric engine measures, which inside a block takes the
  /// plan's temporary_bytes as well.
  std::int64_t peak_data = 0;
  std::int64_t peak = 0;
  std::int64_t capacity = 0;
  std::int64_t streaming = 0;  ///< in streaming memory
  std::int64_t streaming_capacity = 0;
};

/// What memory is held for, apart from the estimates of code.
enum class Holding : std::uint8_t { Weights, Activations, Stashes, Streams, OptimizerState, Accumulators };
inline constexpr std::size_t kHoldings = 6;

/// Memory in use from this moment on.
struct MemoryPoint {
  double time = 0;
  std::int64_t bytes = 0;  ///< in all, with the estimates of code
  std::array<std::int64_t, kHoldings> held = {};
};

/// A tensor from the step that first writes it to the one that frees it, or what a block needs inside.
struct TensorLife {
  std::string name = {};
  Holding holding = Holding::Activations;
  std::int64_t bytes = 0;
  double start = 0;
  double end = 0;
};

struct LargeTensor {
  std::string name;
  std::int64_t bytes = 0;
};

/// What a processor waited for while its compute lane was idle.
struct Awaited {
  int processor =
      -1;  ///< that was busy in the meantime, maybe the same one on its IO lane; -1: the host's call
  Activity activity = Activity::Compute;
  double seconds = 0;
};

struct ProcessorReport {
  std::array<double, kActivities> busy = {};     ///< of the compute lane, seconds
  std::array<double, kIdles> idle = {};          ///< with busy it sums up to the makespan
  std::array<double, kActivities> io_busy = {};  ///< of the IO lane
  double overlapped = 0;                         ///< seconds in which the IO lane worked beside a compute
  std::vector<Awaited> awaited = {};  ///< with SimulateOptions::events what most of `idle` is made of
  double flop = 0;
  std::array<double, kActivities> bytes = {};  ///< sent and received by each kind of step
  MemoryUse memory = {};
  std::vector<MemoryPoint> memory_curve = {};
  std::vector<TensorLife> lives = {};     ///< of tensors that at some moment are among the largest there
  std::vector<LargeTensor> largest = {};  ///< the largest that are there at the peak, largest first
};

struct LinkReport {
  std::string name;  ///< "ipu0->ipu1", "host->ipu0", "ddr0->ipu0", "replicas"
  double bytes = 0;
  double replica_bytes = 0;  ///< one replica's share of the bytes that all replicas exchange
  double busy = 0;
};

/// Steps of one kind on one processor that the end of the run waited for.
struct PathPart {
  int processor = 0;  ///< of an exchange, the one that sends most
  Activity activity = Activity::Compute;
  std::string name = {};  ///< the op that computes, or what moves
  double seconds = 0;     ///< of the run, in which nothing else would have let it end earlier
  double times = 0;       ///< that a step of them was what was waited for
  double step_bytes = 0;  ///< that one step moves, the mean of all; 0 of a compute
  int receiver = -1;      ///< of an exchange, the processor that gets most

  /// Of one step, with what its link still had to do when the next one came.
  double step_seconds() const { return times > 0 ? seconds / times : 0; }
};

/// Iterations that repeat a steady state are not in `events` and the memory curves (their time counts, and
/// `folded` says where).
struct Timeline {
  device::ProcessorKind kind = device::ProcessorKind::Ipu;
  double makespan = 0;
  double critical_path = 0;  ///< of data dependences alone; an estimate where iterations were folded, never
                             ///< above the makespan
  double first_output = 0;   ///< when the results of micro-batch 0 are with the host; 0: none are moved
  /// The way back from the end of the run: each step started when the next part's ended. The most seconds
  /// first; what is missing to the makespan is the host's call.
  std::vector<PathPart> path = {};
  double flop = 0;  ///< of one replica
  double utilisation =
      0;  ///< of one replica: time of its flop at the peak rates of their types / time there is
  int replicas = 1;
  std::vector<ProcessorReport> processors;  ///< of one replica
  std::vector<LinkReport> links;
  std::int64_t folded_iterations = 0;  ///< of all Repeats
  std::vector<Event> events;           ///< by start; of an exchange, each sender before its receivers
  /// Seconds: steps of a lane that together are shorter are one event, called after the longest, since there
  /// were more than `events` is meant to hold; 0: each has its own.
  double joined_below = 0;
  bool memory_cut = false;               ///< the memory curves are of the first part of the run
  std::vector<FoldedTime> folded = {};   ///< with events
  std::vector<BlockReport> blocks = {};  ///< with events
  double bytes_sent = 0;
  double bytes_received = 0;
  bool fits() const {
    for (const ProcessorReport& processor : processors) {
      const MemoryUse& memory = processor.memory;
      if (memory.peak > memory.capacity || memory.streaming > memory.streaming_capacity) return false;
    }
    return true;
  }
};

}  // namespace podium::sim
