// What the numeric engine allocates, counted at operator new, against the memory that the clock reports: the
// sum over processors and replicas of the largest amount that each holds, which decides whether a program
// fits.
//
// The two are not the same number. The engine keeps what it has allocated for the next step of the same size,
// so its memory is the sum of the largest amounts of each size, where the plan's is the largest sum. It lays
// constants of convolutions and products out anew for its kernels. The bounds say how much that may be.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "executor/session/training_session.h"
#include "models/catalog.h"

namespace {

// Tensors and arenas are all that is allocated with an alignment. What malloc makes of their sizes is not
// counted.
class Counter {
 public:
  void add(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_.emplace(memory, bytes);
    live_ += static_cast<std::int64_t>(bytes);
  }
  void remove(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    live_ -= static_cast<std::int64_t>(found->second);
    sizes_.erase(found);
  }
  std::int64_t live_bytes() {
    const std::lock_guard lock(mutex_);
    return live_;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::int64_t live_ = 0;
};

// It outlives what other translation units destroy at the end.
Counter& counter() {
  static auto* const only = new Counter;
  return *only;
}

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (memory == nullptr) throw std::bad_alloc();
  counter().add(memory, bytes);
  return memory;
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  if (memory != nullptr) counter().remove(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t alignment) noexcept {
  operator delete(memory, alignment);
}

namespace podium {
namespace {

struct Way {
  std::string_view name;
  void (*set)(Strategy&);
};

const Way kOneProcessor = {"one processor", [](Strategy& /*strategy*/) {}};
const Way kTwoReplicas = {"two replicas", [](Strategy& strategy) { strategy.replicas = 2; }};
const Way kWays[] = {
    kOneProcessor,
    {"sharded over 2",
     [](Strategy& strategy) {
       strategy.virtual_graph_mode = VirtualGraphMode::Auto;
       strategy.ipus = 2;
     }},
    {"pipelined over 3",
     [](Strategy& strategy) {
       strategy.virtual_graph_mode = VirtualGraphMode::Auto;
       strategy.ipus = 3;
       strategy.pipelining = true;
       strategy.batches_per_step = 6;
     }},
    {"phases",
     [](Strategy& strategy) {
       strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
       strategy.phases.phases = 4;
       strategy.phases.stages = 2;
       strategy.ipus = 2;
     }},
};

struct Small {
  std::string_view name;
  models::Parameters parameters;
};

// No tensor of these fills a huge page, to which the engine rounds larger ones up.
const Small kModels[] = {
    {"mnist-mlp", {{"batch", "32"}}},
    {"bert",
     {{"layers", "4"}, {"hidden", "128"}, {"heads", "4"}, {"sequence", "64"}, {"vocabulary", "1000"}}},
    {"mnist-cnn", {{"batch", "16"}}},
};

struct Measured {
  double planned = 0;
  double allocated = 0;
  double read_in_place = 0;  // a micro-batch of inputs, planned on the processor, which reads the host's
};

template <class Session>
std::vector<ir::Datum> zeros_for(const Session& session) {
  const Strategy& strategy = session.strategy();
  const std::int64_t micro_batches = std::int64_t{strategy.batches_per_step} * strategy.accumulation_factor;
  std::vector<ir::Datum> inputs;
  for (const executor::HostTensor& input : session.inputs()) {
    ir::Dims dims = input.type.dims;
    if (micro_batches * strategy.replicas > 1) dims.insert(dims.begin(), {micro_batches, strategy.replicas});
    ir::Tensor tensor(input.type.element, dims);
    std::memset(tensor.raw(), 0, tensor.bytes());
    inputs.emplace_back(tensor);
  }
  return inputs;
}

// `make` makes the session; what its inputs take is not counted as allocated. Nothing is given back during a
// run, so the most is there after it.
template <class Make>
Measured measure(Make make) {
  const std::int64_t before = counter().live_bytes();
  auto session = make();
  const std::int64_t prepared = counter().live_bytes();
  const std::vector<ir::Datum> inputs = zeros_for(session);
  const std::int64_t of_inputs = counter().live_bytes() - prepared;
  for (int run = 0; run < 2; ++run) session.run(inputs);
  const Strategy& strategy = session.strategy();
  const std::int64_t micro_batches = std::int64_t{strategy.batches_per_step} * strategy.accumulation_factor;
  Measured result{.allocated = static_cast<double>(counter().live_bytes() - before - of_inputs),
                  .read_in_place = static_cast<double>(of_inputs / micro_batches)};
  for (const sim::ProcessorReport& processor : session.timeline()->processors) {
    result.planned += static_cast<double>(processor.memory.peak_data * session.program().replicas);
  }
  return result;
}

enum class Fusion : std::uint8_t { Off, On };

SessionOptions options_of(const Way& way, Fusion fusion) {
  SessionOptions options{.fuse = fusion == Fusion::On, .clock = true};
  way.set(options.strategy);
  return options;
}

importer::Model model_of(const Small& small, bool training) {
  models::Parameters parameters = small.parameters;
  if (training) parameters["loss"] = "cross-entropy";
  importer::Model model;
  model.graph = models::build(small.name, parameters).graph;
  return model;
}

Measured inference(const Small& small, const Way& way, Fusion fusion) {
  return measure([&] { return InferenceSession(model_of(small, false), options_of(way, fusion)); });
}

Measured training(const Small& small, const Way& way, Fusion fusion) {
  TrainingOptions options{
      .session = options_of(way, fusion), .loss = "loss", .optimizer = ir::make_optimizer("Adam", {})};
  Strategy& strategy = options.session.strategy;
  if (strategy.pipelining) std::swap(strategy.batches_per_step, strategy.accumulation_factor);
  return measure([&] { return TrainingSession(model_of(small, true), options); });
}

void expect_between(double least, double most, const Measured& measured, const Small& small, const Way& way) {
  const double held = measured.allocated + measured.read_in_place;
  EXPECT_GE(held, least * measured.planned) << small.name << ", " << way.name;
  EXPECT_LE(held, most * measured.planned) << small.name << ", " << way.name;
}

TEST(CountedMemory, InferenceAllocatesWhatThePlanSays) {
  for (const Small& small : kModels) {
    for (const Way& way : kWays) expect_between(0.95, 1.05, inference(small, way, Fusion::Off), small, way);
  }
}

TEST(CountedMemory, ReplicasOfAnInferenceShareTheirWeights) {
  for (const Small& small : kModels) {
    const Measured one = inference(small, kOneProcessor, Fusion::Off);
    const Measured two = inference(small, kTwoReplicas, Fusion::Off);
    EXPECT_LE(two.allocated, 1.05 * one.allocated) << small.name;
  }
}

TEST(CountedMemory, TrainingAllocatesWhatThePlanSaysAndKeepsItForTheNextStep) {
  for (const Small& small : kModels) {
    for (const Way& way : kWays) expect_between(0.95, 1.3, training(small, way, Fusion::Off), small, way);
    // What both compute from the same memory, as an update, is there once, and twice in the plan.
    expect_between(0.9, 1.3, training(small, kTwoReplicas, Fusion::Off), small, kTwoReplicas);
  }
}

TEST(CountedMemory, FusedKernelsNeedNoMore) {
  for (const Small& small : kModels) {
    for (const Way& way : kWays) expect_between(0.5, 1.3, training(small, way, Fusion::On), small, way);
  }
}

}  // namespace
}  // namespace podium
