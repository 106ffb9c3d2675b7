// Collectives among processors behind a switch, of one machine or of several that a network joins.
#pragma once

#include <vector>

#include "executor/device/device.h"
#include "executor/sim/routes.h"

namespace podium::sim {

/// The time of a collective between `members`, in ascending order, on a device AllToAll: the fastest of a
/// ring over all, two trees, and additions in the switch, each with the fastest of its protocols.
ExchangeCost switched_collective(const device::Device& device, executor::CollectiveKind kind, double bytes,
                                 const std::vector<int>& members);

/// What the call of a collective takes, beside its transfers.
double switched_call_seconds(const device::Device& device);

}  // namespace podium::sim
