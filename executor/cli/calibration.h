// What the numbers of a machine are, from the times that a few models take on it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "models/catalog.h"

namespace podium::cli {

/// A model of the catalog.
struct Probe {
  std::string model;
  models::Parameters parameters;
};

struct ProbeTime {
  double seconds = 0;  ///< of a run
  double flop = 0;
};

using TimeProbe = std::function<ProbeTime(const Probe&)>;

struct HostMachine {
  int threads = 1;
  std::int64_t memory_bytes = 0;
};

/// How many models `calibrate` asks for.
std::size_t probe_count();

/// The machine as a device of one processor with a tile a thread, whose numbers follow from the times of
/// single kernels (docs/cost-model.md has how). Every number is within the range that a device file may have.
device::Device calibrate(const HostMachine& machine, const TimeProbe& time);

}  // namespace podium::cli
