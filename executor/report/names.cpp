#include "executor/report/names.h"

#include <fmt/core.h>

#include "executor/device/fields.h"
#include "ir/error.h"

namespace podium::report {

Words words_of(sim::Activity activity) {
  switch (activity) {
    case sim::Activity::Compute:
      return {"compute", "compute"};
    case sim::Activity::Exchange:
      return {"exchange", "exchange between processors"};
    case sim::Activity::Collective:
      return {"collective", "collectives between replicas"};
    case sim::Activity::GroupCollective:
      return {"groupCollective", "collectives between devices of a cut"};
    case sim::Activity::TileCopy:
      return {"tileCopy", "copies between tiles"};
    case sim::Activity::HostLoad:
      return {"hostLoad", "loads from the host"};
    case sim::Activity::HostStore:
      return {"hostStore", "stores to the host"};
    case sim::Activity::RemoteLoad:
      return {"remoteLoad", "loads from streaming memory"};
    case sim::Activity::RemoteStore:
      return {"remoteStore", "stores to streaming memory"};
  }
  IR_CHECK(false, "activity {}", static_cast<int>(activity));
}

Words words_of(sim::Idle idle) {
  switch (idle) {
    case sim::Idle::Data:
      return {"data", "waiting for data"};
    case sim::Idle::Sync:
      return {"sync", "waiting for a sync"};
    case sim::Idle::Link:
      return {"link", "waiting for a link"};
    case sim::Idle::Io:
      return {"io", "waiting for input or output"};
  }
  IR_CHECK(false, "idle {}", static_cast<int>(idle));
}

std::string_view name_of(sim::Lane lane) { return lane == sim::Lane::Compute ? "compute" : "io"; }

std::string name_of(device::ProcessorKind kind, std::size_t processor) {
  return fmt::format("{} {}", device::name_of(kind), processor);
}

std::array<MemoryPart, 9> memory_parts(const sim::MemoryUse& memory) {
  return {{{{"weights", "weights"}, memory.weights},
           {{"activations", "activations"}, memory.activations},
           {{"stashes", "stashes"}, memory.stashes},
           {{"streams", "streams"}, memory.streams},
           {{"optimizerState", "optimizer state"}, memory.optimizer_state},
           {{"accumulators", "accumulators"}, memory.accumulators},
           {{"copies", "copies on chip (estimate)"}, memory.copies},
           {{"code", "code (estimate)"}, memory.code},
           {{"exchangeCode", "exchange code (estimate)"}, memory.exchange_code}}};
}

}  // namespace podium::report
