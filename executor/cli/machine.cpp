#include "executor/cli/machine.h"

#include <algorithm>

#include "executor/device/presets.h"
#include "executor/device/read_device.h"
#include "ir/files.h"

namespace podium::cli {
namespace {

// Fewer threads than all, one above all, have been measured by themselves, or are as many tiles of all.
device::Device host_with(int threads) {
  const std::string measured = device::host_with(threads);
  if (threads == 1 || ir::is_there(device::host_file(measured))) return device::read_device(measured);
  device::Device host = device::read_device(std::string(device::kHost));
  host.tiles = std::min(host.tiles, threads);
  return host;
}

}  // namespace

device::Device machine_of(const Options& options) {
  if (options.device == device::kHost && options.threads > 0) return host_with(options.threads);
  if (options.device) return device::read_device(*options.device);
  const device::Device& fallback = *device::find_preset(device::kDefaultPreset);
  const int wanted = std::max(options.session.ipus, options.session.replicas);
  if (wanted <= fallback.processors) return fallback;
  constexpr std::string_view kFamily = "ipu-pod";
  for (std::string_view name : device::preset_names()) {
    const device::Device& pod = *device::find_preset(name);
    if (name.starts_with(kFamily) && pod.processors >= wanted) return pod;
  }
  return fallback;
}

}  // namespace podium::cli
