// Changes of one strategy that might help it: what-ifs for the clock.
#pragma once

#include <functional>
#include <vector>

#include "executor/compare/candidates.h"
#include "executor/sim/timeline.h"

namespace podium::compare {

struct Variation {
  Candidate candidate;
  nlohmann::json change;  ///< the options that are not those it varies, as a file would say them
};

/// One change each of `from`. Anchors are those of `outputs`. What the options forbid, and what changes
/// nothing, is left out.
std::vector<Variation> variations(const Candidate& from, const Request& request,
                                  const std::vector<std::string>& outputs);

/// A machine that is twice as good in one respect.
struct BetterDevice {
  std::string name;  ///< "links between processors"
  device::Device device;
};

/// Each of links, streaming memory, host, clock and tiles doubled: twice the rate, and half of what a
/// transfer, a collective, a call or a kernel costs beside.
std::vector<BetterDevice> better_devices(const device::Device& device);

/// What `clock` says on each of them, up to the first for which it has an Error. They are clocked side by
/// side, on so many threads; 0: one a processor of the machine.
std::vector<sim::Timeline> clock_on(const std::vector<BetterDevice>& devices, int threads,
                                    const std::function<sim::Timeline(const device::Device&)>& clock);

}  // namespace podium::compare
