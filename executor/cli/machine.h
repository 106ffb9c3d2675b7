// The device that a command line asks for.
#pragma once

#include "executor/cli/options.h"
#include "executor/device/device.h"

namespace podium::cli {

/// The device of --device; of the host as many tiles as there are threads to compute. When none is named: the
/// default, or the smallest pod of the same processors that has as many as --ipus or --replicas says; the
/// default where none has.
device::Device machine_of(const Options& options);

}  // namespace podium::cli
