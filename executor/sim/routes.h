// The routes of bytes between processors, between replicas, and to and from the host and streaming memory,
// and the time they take. Processors are numbered through the whole device; a replica's are consecutive.
// Nothing here is kept per pair of processors.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/program.h"
#include "executor/sim/touched.h"

namespace podium::sim {

enum class LinkKind : std::uint8_t {
  Rung,
  Rail,
  Gateway,   ///< `from` and `to` are machines
  ToSwitch,  ///< a processor's way out, `to` the same processor
  FromSwitch,
  ToNetwork,  ///< the same of the network that joins switches
  FromNetwork,
  FromHost,  ///< these four: to or from a processor, `from` and `to` that processor
  ToHost,
  FromStreaming,
  ToStreaming
};

/// One direction of one link.
struct LinkId {
  LinkKind kind = LinkKind::Rung;
  int from = 0;
  int to = 0;
  friend auto operator<=>(const LinkId&, const LinkId&) = default;
};

struct HashLink {
  std::size_t operator()(const LinkId& link) const {
    const auto ends = static_cast<std::uint64_t>(link.from) << 32 | static_cast<std::uint32_t>(link.to);
    return std::hash<std::uint64_t>{}(ends * 16 + static_cast<std::uint64_t>(link.kind));
  }
};

/// "ipu0->ipu1", "gateway0->gateway16", "gpu0->switch", "host->ipu0", "ddr0->ipu0"
std::string to_string(const LinkId& link, device::ProcessorKind kind = device::ProcessorKind::Ipu);

/// Rate and latency of a link between processors of this device.
const device::Link& link_of(const device::Device& device, const LinkId& link);

/// The links from one processor to another, in order; empty when they are the same. On a ladder and a torus
/// the route goes across the rung first, then along the rails, the shorter way round a torus. To another link
/// domain it goes to the target's position within this domain, then through that machine's gateways. Error
/// when a link on the way has no rate.
std::vector<LinkId> route(const device::Device& device, int from, int to);

struct ProcessorTransfer {
  int from = 0;
  int to = 0;
  double bytes = 0;
};

/// The load of an exchange on one link.
struct LinkLoad {
  LinkId link;
  double bytes = 0;
  double seconds = 0;  ///< that it is busy
  /// Work that may wait on the link when this begins: what is prefetched through it for others.
  double backlog_seconds = 0;
};

struct ExchangeCost {
  double seconds = 0;           ///< without the sync before it
  std::vector<LinkLoad> links;  ///< in the order of LinkId
};

/// The time of an exchange whose transfers run at once: bytes on one link add up, the slowest link decides,
/// and the latencies of the longest route come on top.
ExchangeCost exchange_cost(const device::Device& device, const std::vector<ProcessorTransfer>& transfers);

/// Transfers of which now these and now those run at once. Their ways are found once.
class ManyTransfers {
 public:
  ManyTransfers(const device::Device& device, const std::vector<ProcessorTransfer>& transfers);
  /// What `exchange_cost` gives of the transfers at these places.
  ExchangeCost cost(std::span<const int> places);

 private:
  struct Hop {
    int link = 0;  ///< place in loads_
    double seconds = 0;
  };
  struct Way {
    std::size_t end = 0;  ///< in hops_, of its last hop
    double bytes = 0;
    double latency = 0;
  };
  std::vector<Way> ways_;        ///< of each transfer
  std::vector<Hop> hops_;        ///< way by way
  std::vector<LinkLoad> loads_;  ///< in the order of LinkId
  Touched loaded_;               ///< places in loads_
};

/// The time of a collective between `members`, one processor of each replica of a group: a ring in both
/// directions at once, in which each sends (n-1)/n of the tensor for a reduce-scatter or an all-gather and
/// twice that for an all-reduce, in n-1 or 2(n-1) steps. Over several link domains: reduce-scatter inside
/// each, then the parts between them, then all-gather. `bytes` is the size of the whole tensor, before a
/// reduce-scatter and after an all-gather. Behind switches: see switched_collective.h. In an all-to-all each
/// member sends each other one its share of `bytes`, what a member has, all at once.
ExchangeCost collective_cost(const device::Device& device, executor::CollectiveKind kind, double bytes,
                             std::vector<int> members);

enum class Direction : std::uint8_t { Load, Store };

/// What a transfer between the host and a processor takes. The host fills and empties buffers of the gateway
/// beside: the processor waits for its own way to the gateway, and longer only where the buffer is not ready.
struct HostTransfer {
  double seconds = 0;       ///< of the processor
  double link_seconds = 0;  ///< between host and gateway, from the same moment on
};

/// `sharers` processors of a machine, this one among them, move as much at once and share the host's rate.
HostTransfer host_transfer(const device::Device& device, Direction direction, double bytes, int sharers = 1);

/// The time from streaming memory to a processor or back, in transactions of at most transaction_bytes.
/// `sharded`: each replica holds a part of the tensor, and `bytes` is the size of the part. Error when the
/// device has no streaming memory.
double remote_seconds(const device::Device& device, Direction direction, double bytes, bool sharded = false);

}  // namespace podium::sim
