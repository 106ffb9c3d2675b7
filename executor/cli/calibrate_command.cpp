// `podium calibrate`: the machine that it runs on becomes a device. Each probe is a session like any other,
// timed for its share of the seconds in some rounds, so that what else a shared machine does meets all probes
// alike. Of a round the mean of its runs counts, as a model's time is the sum of what its ops take, the slow
// ones too; of the rounds their lower quartile: the least may be a lucky one, and a median jumps where a
// neighbour comes and goes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include "executor/cli/calibration.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/terminal.h"
#include "executor/cli/usage_error.h"
#include "executor/cli/write_file.h"
#include "executor/device/read_device.h"
#include "executor/session/random_input.h"
#include "executor/session/session.h"
#include "executor/session/stopwatch.h"
#include "ir/machine_memory.h"

namespace podium::cli {
namespace {

constexpr int kRounds = 8;

double lower_quartile(std::vector<double> numbers) {
  const auto quarter = numbers.begin() + std::ssize(numbers) / 4;
  std::nth_element(numbers.begin(), quarter, numbers.end());
  return *quarter;
}

class TimedProbe {
 public:
  TimedProbe(const Probe& probe, int threads)
      : session_(
            importer::Model{
                .graph = models::build(probe.model, probe.parameters).graph, .info = {}, .source = {}},
            {.threads = threads, .clock = true}) {
    for (const executor::HostTensor& input : session_.inputs())
      inputs_.push_back(random_input(input.name, input.type, session_.ids(), 0));
    session_.run(inputs_);  // finds memory
    flop_ = session_.timeline()->flop;
  }

  /// Times one round more; what counts of those so far.
  ProbeTime time(double seconds) {
    std::int64_t runs = 0;
    double taken = 0;
    const auto start = WallClock::now();
    do {
      session_.run(inputs_);
      ++runs;
      taken = seconds_since(start);
    } while (taken < seconds);
    rounds_.push_back(taken / static_cast<double>(runs));
    return {.seconds = lower_quartile(rounds_), .flop = flop_};
  }

 private:
  InferenceSession session_;
  std::vector<ir::Datum> inputs_ = {};
  double flop_ = 0;
  std::vector<double> rounds_ = {};
};

int machine_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

struct Target {
  int threads;
  std::string file;
};

std::vector<Target> targets_of(const Options& options) {
  const int threads = options.threads > 0 ? options.threads : machine_threads();
  if (!options.calibrate.file.empty()) return {{threads, options.calibrate.file}};
  std::vector<Target> targets{{1, device::host_file(device::host_with(1))}};
  if (threads >= machine_threads()) {
    targets.push_back({threads, device::host_file(device::kHost)});
  } else if (threads > 1) {
    targets.push_back({threads, device::host_file(device::host_with(threads))});
  }
  return targets;
}

void make_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) throw Error("{}: cannot be made: {}", folder.string(), failed.message());
}

std::string summary(const device::Device& device) {
  const double per_second = device.tiles * device.clock_hertz;
  return fmt::format(
      "{} thread{}: products {:.1f} GFLOP/s and {:.1f} of bytes, {:.0f} % of that with few rows, convolutions {:.0f} %, by Winograd's way "
      "{:.0f} %, along rows {:.0f} %, attention {:.0f} %, memory {:.1f} GB/s and {:.1f} of what is only read, {:.1f} MiB of cache at {:.1f} GB/s, {:.1f} near a thread at {:.1f}, {:.2f} us an op, {:.1f} us to wake the threads",
      device.tiles, device.tiles == 1 ? "" : "s", 2 * device.matrix.single * per_second / 1e9,
      2 * device.matrix.quarter * per_second / 1e9, 100 * device.few_rows_share,
      100 * device.convolution_share, 100 * device.winograd_share, 100 * device.row_convolution_share,
      100 * device.attention_share, device.exchange_bytes_per_cycle * per_second / 1e9,
      device.exchange_bytes_per_cycle * device.read_speed * per_second / 1e9,
      static_cast<double>(device.cache_bytes) / (1 << 20),
      device.exchange_bytes_per_cycle * device.cache_speed * per_second / 1e9,
      static_cast<double>(device.near_cache_bytes) / (1 << 20),
      device.exchange_bytes_per_cycle * device.near_cache_speed * per_second / 1e9,
      device.phase_overhead_cycles / device.clock_hertz * 1e6, device.spread_seconds * 1e6);
}

}  // namespace

void check_calibrate(const Options& options) {
  if (!options.paths.empty())
    throw UsageError("calibrate: '{}' found, no path needed: it measures with models of its own",
                     options.paths[0]);
}

int execute_calibrate(const Options& options) {
  const std::vector<Target> targets = targets_of(options);
  for (const Target& target : targets) {
    if (options.calibrate.file.empty()) make_folder_of(target.file);
    check_can_write(target.file);
  }
  const std::size_t count = kRounds * targets.size() * probe_count();
  const double seconds = options.calibrate.seconds / static_cast<double>(count);
  Progress progress("calibrate", count, options.quiet);
  for (const Target& target : targets) {
    std::map<std::pair<std::string, models::Parameters>, TimedProbe> probes;
    const auto time = [&](const Probe& probe) {
      progress.advance();
      return probes.try_emplace({probe.model, probe.parameters}, probe, target.threads)
          .first->second.time(seconds);
    };
    const HostMachine machine{target.threads, ir::machine_memory()};
    device::Device device;
    for (int round = 0; round < kRounds; ++round) device = calibrate(machine, time);
    write_file(target.file, to_json(device));
    if (!options.quiet) progress.print(fmt::format("{}: {}", target.file, summary(device)));
  }
  progress.finish();
  return kDone;
}

}  // namespace podium::cli
