// `podium calibrate`: the machine that it runs on becomes a device. Each probe is a session like any other,
// timed again and again for its share of the seconds; the least time counts, since what else the machine does
// only adds to it. All probes have several rounds, as what disturbs one of them may last for longer than it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
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

constexpr int kLeastRuns = 3;
constexpr int kRounds = 3;

ProbeTime least_time(const Probe& probe, int threads, double seconds) {
  importer::Model model{
      .graph = models::build(probe.model, probe.parameters).graph, .info = {}, .source = {}};
  InferenceSession session(std::move(model), {.threads = threads, .clock = true});
  std::vector<ir::Datum> inputs;
  for (const executor::HostTensor& input : session.inputs())
    inputs.push_back(random_input(input.name, input.type, session.ids(), 0));
  session.run(inputs);  // finds memory
  ProbeTime least{.seconds = std::numeric_limits<double>::infinity(), .flop = session.timeline()->flop};
  const auto start = WallClock::now();
  for (int i = 0; i < kLeastRuns || seconds_since(start) < seconds; ++i) {
    const auto run = WallClock::now();
    session.run(inputs);
    least.seconds = std::min(least.seconds, seconds_since(run));
  }
  return least;
}

int machine_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

struct Target {
  int threads;
  std::string file;
  std::map<std::pair<std::string, models::Parameters>, ProbeTime> least = {};  ///< of the rounds so far
};

std::vector<Target> targets_of(const Options& options) {
  const int threads = options.threads > 0 ? options.threads : machine_threads();
  if (!options.calibrate.file.empty()) return {{threads, options.calibrate.file}};
  return {{1, device::host_file(device::kHostAlone)}, {threads, device::host_file(device::kHost)}};
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
      "{} thread{}: products {:.1f} GFLOP/s and {:.1f} of bytes, convolutions {:.0f} % of that, by Winograd's way "
      "{:.0f} %, memory {:.1f} GB/s and {:.1f} of what is only read, {:.1f} MiB of cache at {:.1f} GB/s, {:.2f} us an op, {:.1f} us to wake the threads",
      device.tiles, device.tiles == 1 ? "" : "s", 2 * device.matrix.single * per_second / 1e9,
      2 * device.matrix.quarter * per_second / 1e9, 100 * device.convolution_share,
      100 * device.winograd_share, device.exchange_bytes_per_cycle * per_second / 1e9,
      device.exchange_bytes_per_cycle * device.read_speed * per_second / 1e9,
      static_cast<double>(device.cache_bytes) / (1 << 20),
      device.exchange_bytes_per_cycle * device.cache_speed * per_second / 1e9,
      device.phase_overhead_cycles / device.clock_hertz * 1e6, device.spread_seconds * 1e6);
}

}  // namespace

void check_calibrate(const Options& options) {
  if (!options.paths.empty())
    throw UsageError("calibrate: '{}' found, no path needed: it measures with models of its own",
                     options.paths[0]);
}

int execute_calibrate(const Options& options) {
  std::vector<Target> targets = targets_of(options);
  for (const Target& target : targets) {
    if (options.calibrate.file.empty()) make_folder_of(target.file);
    check_can_write(target.file);
  }
  const std::size_t probes = kRounds * targets.size() * probe_count();
  const double seconds = options.calibrate.seconds / static_cast<double>(probes);
  Progress progress("calibrate", probes, options.quiet);
  for (int round = 1; round <= kRounds; ++round) {
    for (Target& target : targets) {
      const auto time = [&](const Probe& probe) {
        const ProbeTime now = least_time(probe, target.threads, seconds);
        progress.advance();
        ProbeTime& least = target.least.try_emplace({probe.model, probe.parameters}, now).first->second;
        least.seconds = std::min(least.seconds, now.seconds);
        return least;
      };
      const device::Device device = calibrate({target.threads, ir::machine_memory()}, time);
      if (round < kRounds) continue;
      write_file(target.file, to_json(device));
      if (!options.quiet) progress.print(fmt::format("{}: {}", target.file, summary(device)));
    }
  }
  progress.finish();
  return kDone;
}

}  // namespace podium::cli
