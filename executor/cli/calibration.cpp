// A machine whose threads share a memory, as a device: each number is read off the time of one kernel, from
// which what is known already has been taken away. In this order:
//   call, launch     a run of one tiny op and of chains of them
//   product          the fastest of three cubes; what a short one and one with few inner elements take beside
//   memory           a + s b over working sets from 192 KiB to 192 MiB: the largest gives the rate; those
//                    that come at 1.7 times that or more give the cache's, and those at 1.7 times the slowest
//                    of these that of the threads' own caches. What a cache holds of one that is larger is
//                    between the rates. Then one row by weights that no cache holds, which are only read
//   packing          what products of an operand that is no constant take beside
//   few rows         eight rows by weights that the cache holds, by the rate of products
//   ahead            the same by weights that the cache holds, not a thread's own: what they wait less for
//   convolution      what layers add to a net of two, of 5 x 5 pixels, of the same with few channels and, for
//                    Winograd's way, of 3 x 3, by the rate of products
//   bytes            a product of them, without what its results take
//   attention        of 512 positions and heads of 64, by the rate of products
//   vectors          GELU of rows that the cache holds
//   spread           what a product of middle size takes longer than its share of all threads' rate
// The clock is a unit, not a fact: with 1 GHz a rate per cycle is one per nanosecond.
#include "executor/cli/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "executor/device/fields.h"
#include "executor/device/read_device.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::cli {
namespace {

constexpr double kHertz = 1e9;
constexpr std::array<int, 3> kCubes{256, 512, 1024};
constexpr std::array<int, 8> kTriads{14, 15, 16, 17, 18, 20, 22, 24};  // powers of two
constexpr std::array<int, 2> kChains{8, 64};
constexpr double kElementBytes = 4;
constexpr int kFewLayers = 2;
constexpr int kManyLayers = 6;

Probe cube(int size, const char* type = "float") {
  const std::string text = std::to_string(size);
  return {"product", {{"rows", text}, {"inner", text}, {"columns", text}, {"type", type}}};
}

Probe chain(int ops) {
  return {"phased-matmul", {{"layers", std::to_string(ops)}, {"size", "8"}, {"rows", "1"}, {"batch", "1"}}};
}

double cubed(double size) { return size * size * size; }

class Calibration {
 public:
  Calibration(const HostMachine& machine, const TimeProbe& time) : machine_(machine), time_(time) {}

  device::Device measure() {
    device_.name = device::kHost;
    device_.kind = device::ProcessorKind::Cpu;
    device_.tiles = machine_.threads;
    device_.clock_hertz = kHertz;
    device_.tile_memory_bytes = machine_.memory_bytes / machine_.threads;
    describe_one_processor();
    measure_calls();
    measure_products();
    measure_memory();
    measure_packing();
    measure_few_rows();
    measure_weights_ahead();
    measure_convolutions();
    measure_products_of_bytes();
    measure_attention();
    measure_vectors();
    keep_within_fields();
    return device_;
  }

 private:
  // What a machine without others, and without a host or a memory beside it, does not have.
  void describe_one_processor() {
    device_.processors = device_.link_domain = device_.processors_per_host = 1;
    device_.topology = device::Topology::AllToAll;
    device_.synchronous = false;
    device_.sync_cycles = device_.global_sync_seconds = device_.collective_overhead_seconds = 0;
    device_.fusion = device::Fusion::All;
    device_.rearrangement = {0, 0, 0};
    device_.matrix_share = 1;
    constexpr double kNoCopy = 1e15;  // the engine reads and writes where the caller has its tensors
    device_.host_load = device_.host_store = {kNoCopy, 0};
    device_.sharded_transaction_seconds = 0;
  }

  double seconds(const Probe& probe) const { return time_(probe).seconds; }
  double launch() const { return device_.phase_overhead_cycles / kHertz; }
  /// Of a run of one kernel.
  double kernel_seconds(const Probe& probe) const {
    return std::max(seconds(probe) - device_.host_call_seconds - launch(), 1e-9);
  }

  void measure_calls() {
    const double few = seconds(chain(kChains[0]));
    const double many = seconds(chain(kChains[1]));
    const double launch = std::max(0.0, (many - few) / (kChains[1] - kChains[0]));
    device_.phase_overhead_cycles = launch * kHertz;
    device_.host_call_seconds = std::max(0.0, seconds({"triad", {{"size", "16"}}}) - launch);
  }

  void measure_products() {
    double rate = 0;  // multiply-adds per second, all threads
    double middle = 0;
    for (int size : kCubes) {
      const double taken = kernel_seconds(cube(size));
      if (size == kCubes[0]) middle = taken;
      rate = std::max(rate, cubed(size) / taken);
    }
    if (machine_.threads > 1) device_.spread_seconds = std::max(0.0, middle - cubed(kCubes[0]) / rate);
    device_.matrix.single = rate / kHertz / machine_.threads;
    const double halves = cubed(kCubes[1]) / kernel_seconds(cube(kCubes[1], "float16"));
    device_.matrix.half_half = device_.matrix.half_single = halves / kHertz / machine_.threads;

    constexpr int kShort = 64;  // one thread's work
    const double alone = rate / machine_.threads;
    const double overhead = std::max(0.0, kernel_seconds(cube(kShort)) - cubed(kShort) / alone);
    device_.matrix_overhead_single_cycles = device_.matrix_overhead_half_cycles = overhead * kHertz;
    constexpr double kSide = 512;
    constexpr double kInner = 64;
    const double taken = kernel_seconds({"product", {{"rows", "512"}, {"inner", "64"}, {"columns", "512"}}}) -
                         overhead - device_.spread_seconds;
    device_.matrix_fill = std::max(0.0, taken * rate / (kSide * kSide) - kInner);
    rate_ = rate;
  }

  double memory_rate() const { return device_.exchange_bytes_per_cycle * kHertz * machine_.threads; }
  bool is_near(double working_set) const {
    return working_set <= static_cast<double>(device_.near_cache_bytes) * machine_.threads;
  }
  /// What a product waits for operands that the cache holds.
  double waiting_seconds(double bytes, double working_set) const {
    return is_near(working_set) ? 0 : bytes / memory_rate() / device_.cache_speed / device_.read_speed;
  }
  double storing_seconds(double bytes, double working_set) const {
    return bytes / memory_rate() / (is_near(working_set) ? device_.near_cache_speed : device_.cache_speed);
  }

  // Products whose second operand is no constant, and is brought into the order of the kernel in every run:
  // what rows more take is their rate, what is left of the time of few is the packing.
  void measure_packing() {
    constexpr double kCount = 2;
    constexpr double kFewRows = 32;
    constexpr double kManyRows = 512;
    constexpr double kSide = 1024;
    constexpr double kGroup = 16.0 * 64;
    const auto taken = [&](const char* rows) {
      return kernel_seconds(
          {"product", {{"batch", "2"}, {"rows", rows}, {"inner", "1024"}, {"columns", "1024"}}});
    };
    const double few = taken("32");
    const double for_a_row = std::max((taken("512") - few) / (kManyRows - kFewRows), 1e-12);
    device_.changing_weights_share = std::min(1.0, kCount * kSide * kSide / for_a_row / rate_);
    constexpr double kWeights = kElementBytes * kCount * kSide * kSide;
    const double packing = few - device_.spread_seconds - waiting_seconds(kWeights, kWeights) -
                           kCount * kFewRows * kSide * kSide / rate_ / device_.changing_weights_share;
    const double cycles =
        std::max(0.0, packing) * kHertz * machine_.threads / (kCount * kSide * kSide / kGroup);
    device_.matrix_weights_single_cycles = device_.matrix_weights_half_cycles = cycles;
  }

  // Weights that the cache holds, as many for each thread.
  void measure_few_rows() {
    constexpr double kRows = 8;
    constexpr double kInner = 512;
    const int columns = 512 * machine_.threads;
    const double taken =
        kernel_seconds({"product", {{"rows", "8"}, {"inner", "512"}, {"columns", std::to_string(columns)}}}) -
        device_.matrix_overhead_single_cycles / kHertz - device_.spread_seconds -
        waiting_seconds(kElementBytes * kInner * columns, kElementBytes * kInner * columns);
    device_.few_rows_share = std::min(1.0, kRows * kInner * columns / rate_ / std::max(taken, 1e-9));
  }

  // The same with weights that are no longer in the threads' own caches, 4 MiB for each.
  void measure_weights_ahead() {
    constexpr double kRows = 8;
    constexpr double kInner = 512;
    const int columns = 2048 * machine_.threads;
    const double weights = kElementBytes * kInner * columns;
    const double waiting = waiting_seconds(weights, weights);
    if (waiting == 0) return;
    const double taken =
        kernel_seconds({"product", {{"rows", "8"}, {"inner", "512"}, {"columns", std::to_string(columns)}}});
    const double waited = taken - device_.matrix_overhead_single_cycles / kHertz - device_.spread_seconds -
                          kRows * kInner * columns / rate_ / device_.few_rows_share;
    device_.ahead_share = std::clamp(1 - waited / waiting, 0.0, 1.0);
  }

  struct Layer {
    std::int64_t channels;
    std::int64_t image;  ///< each way
    std::int64_t kernel;
  };

  void measure_convolutions() {
    // Nothing multiplies faster than products do: what is more comes of waiting that was hidden after all.
    device_.convolution_share = std::min(1.0, share_of(Layer{.channels = 64, .image = 28, .kernel = 5}));
    constexpr Layer kRows{.channels = 8, .image = 64, .kernel = 5};
    const ir::ConvShape few{.window = {.output = {kRows.image, kRows.image}},
                            .in_channels = kRows.channels,
                            .out_channels = kRows.channels,
                            .kernel_size = kRows.kernel * kRows.kernel,
                            .out_size = kRows.image * kRows.image};
    device_.row_convolution_share = share_of(kRows) * ir::multiply_adds_by_rows(few) /
                                    static_cast<double>(few.out_size * few.out_channels * few.depth());
    // Of two sizes of images, between which the others lie.
    device_.winograd_share = std::min(
        ir::kWinogradSaves, std::sqrt(share_by_winograd({.channels = 64, .image = 56, .kernel = 3}) *
                                      share_by_winograd({.channels = 128, .image = 28, .kernel = 3})));
  }
  // Of very many channels, beside which the transforms do not count.
  double share_by_winograd(const Layer& layer) const {
    return share_beside(layer, storing_seconds(image_bytes(layer), 2 * image_bytes(layer))) *
           (1 + 2 * ir::kWinogradTransform / static_cast<double>(layer.channels));
  }
  double share_of(const Layer& layer) const {
    const double image = image_bytes(layer);
    const double weights =
        kElementBytes * static_cast<double>(layer.channels * layer.channels * layer.kernel * layer.kernel);
    return share_beside(layer, waiting_seconds(image, 2 * image + weights) +
                                   waiting_seconds(weights, 2 * image + kManyLayers * weights) +
                                   storing_seconds(image, 2 * image + weights));
  }
  static double image_bytes(const Layer& layer) {
    return kElementBytes * static_cast<double>(layer.channels * layer.image * layer.image);
  }
  // Of layers inside of a net, each of which takes so long beside its multiply-adds: at its ends images are
  // brought into the kernels' order and back.
  double share_beside(const Layer& layer, double moving) const {
    const std::string channels = std::to_string(layer.channels);
    const auto layers = [&](int count) {
      return time_({"convolution",
                    {{"layers", std::to_string(count)},
                     {"channels", channels},
                     {"filters", channels},
                     {"image", std::to_string(layer.image)},
                     {"kernel", std::to_string(layer.kernel)}}});
    };
    const ProbeTime few = layers(kFewLayers);
    const ProbeTime many = layers(kManyLayers);
    const double beside = (kManyLayers - kFewLayers) * (launch() + device_.spread_seconds + moving);
    return (many.flop - few.flop) / 2 / std::max(many.seconds - few.seconds - beside, 1e-9) / rate_;
  }

  void measure_memory() {
    constexpr double kTensors = 3;
    struct Point {
      double bytes;
      double rate;
    };
    std::vector<Point> points;
    for (int power : kTriads) {
      const double elements = std::exp2(power);
      const double bytes = kTensors * kElementBytes * elements;
      double taken = kernel_seconds({"triad", {{"size", std::to_string(1 << power)}}});
      if (taken > 2 * device_.spread_seconds) taken -= device_.spread_seconds;
      points.push_back({bytes, bytes / taken});
    }
    const double largest = points.back().rate;
    // Half of what comes so much faster than from memory, or more, is in the cache: from one that is four
    // times as fast half comes at 1.6 times the rate, and large shared ones are not even twice as fast as
    // memory.
    constexpr double kInCache = 1.7;
    double slowest = 0;  // of the cache, at its largest working set
    for (const Point& point : points) {
      if (point.rate >= kInCache * largest) slowest = point.rate;
    }
    std::vector<Point> cached;
    std::vector<Point> near;
    for (const Point& point : points) {
      if (point.rate < kInCache * largest) continue;
      (point.rate < kInCache * slowest ? cached : near).push_back(point);
    }
    const auto rate_of = [](const std::vector<Point>& level, double otherwise) {
      double bytes = 0;
      double taken = 0;
      for (const Point& point : level) {
        bytes += point.bytes;
        taken += point.bytes / point.rate;
      }
      return level.empty() ? otherwise : std::max(otherwise, bytes / taken);
    };
    // Of a working set that is larger than a cache a part comes from behind it: both parts follow from the
    // rate. What a cache holds is the most that it does.
    const auto held = [&](double behind, double rate) {
      double most = 0;
      for (const Point& point : points) {
        const double share = (1 / behind - 1 / point.rate) / (1 / behind - 1 / rate);
        if (rate > behind) most = std::max(most, std::clamp(share, 0.0, 1.0) * point.bytes);
      }
      return most;
    };
    const double cache_rate = rate_of(cached, largest);
    const double near_rate = rate_of(near, cache_rate);
    device_.cache_bytes = std::llround(held(largest, cache_rate));
    device_.cache_speed = cache_rate / largest;
    device_.near_cache_bytes = std::llround(held(cache_rate, near_rate)) / machine_.threads;
    device_.near_cache_speed = near_rate / largest;
    device_.read_speed = std::max(1.0, rate_of_weights() / largest);
    device_.exchange_bytes_per_cycle = largest / kHertz / machine_.threads;
    device_.copy_bytes_per_cycle = device_.exchange_bytes_per_cycle;
  }

  double rate_of_weights() const {
    constexpr double kSide = 8192;
    const double taken = kernel_seconds({"product", {{"rows", "1"}, {"inner", "8192"}, {"columns", "8192"}}});
    const double multiplying = kSide * kSide / rate_;
    return kSide * kSide * kElementBytes / std::max(taken - multiplying - device_.spread_seconds, 1e-9);
  }

  // These are so fast that what their results take counts, which are floats and stay in the cache.
  void measure_products_of_bytes() {
    constexpr int kSize = kCubes[1];
    constexpr double kResults = kElementBytes * kSize * kSize;
    Probe bytes = cube(kSize);
    bytes.parameters["operands"] = "byte";
    const double stores = storing_seconds(kResults, kResults);
    const double taken = std::max(kernel_seconds(bytes) - device_.spread_seconds - stores, 1e-9);
    device_.matrix.quarter = std::max(rate_, cubed(kSize) / taken) / kHertz / machine_.threads;
  }

  void measure_attention() {
    const ProbeTime attention =
        time_({"attention",
               {{"batch", "1"}, {"heads", "12"}, {"sequence", "512"}, {"head", "64"}, {"type", "float"}}});
    const double taken = attention.seconds - device_.host_call_seconds - launch() - device_.spread_seconds;
    device_.attention_share = std::min(1.0, attention.flop / 2 / std::max(taken, 1e-9) / rate_);
  }

  void measure_vectors() {
    const ProbeTime gelu = time_({"rowwise", {{"rows", "256"}, {"columns", "1024"}, {"op", "gelu"}}});
    const double taken = gelu.seconds - device_.host_call_seconds - launch() - device_.spread_seconds;
    const double per_second = gelu.flop / std::max(taken, 1e-9);
    device_.vector_bytes_per_cycle = per_second * kElementBytes / kHertz / machine_.threads;
  }

  // A time that a busy machine has spoilt must not make a file that cannot be read.
  void keep_within_fields() {
    for (const device::Field& field : device::fields()) {
      std::visit(
          [&]<class T>(device::Access<T> access) {
            if constexpr (std::is_floating_point_v<T>)
              access(device_) = std::clamp(access(device_), field.least, field.most);
          },
          field.access);
    }
  }

  const HostMachine& machine_;
  const TimeProbe& time_;
  device::Device device_ = {};
  double rate_ = 0;  ///< of products, multiply-adds per second
};

}  // namespace

std::size_t probe_count() {
  // Tiny op, halves, bytes, short product, few inner elements, two of packing, eight nets of convolutions,
  // few rows, weights ahead, weights that are read, attention, GELU.
  constexpr std::size_t kSingle = 20;
  return kChains.size() + kCubes.size() + kTriads.size() + kSingle;
}

device::Device calibrate(const HostMachine& machine, const TimeProbe& time) {
  return Calibration(machine, time).measure();
}

}  // namespace podium::cli
