// Inside a link domain processors are pairs along a ladder or torus: a rung joins a pair, rails join
// neighbours on a side. Between domains gateways form a ring. Behind switches every way has two hops: over
// the switch of a domain, or over the network that joins domains.
//   pair 0   pair 1   pair 2
//     1 ------ 3 ------ 5     rails, side 1
//     |        |        |     rungs
//     0 ------ 2 ------ 4     rails, side 0
// An exchange adds up bytes per link: it lasts as long as the fullest link, plus the longest latency. A
// collective is two rings, one each way, round the torus or there and back, whichever is faster; over several
// domains it is a reduce-scatter inside, the collective between equal places, and an all-gather inside.
#include "executor/sim/routes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "executor/device/fields.h"
#include "executor/sim/switched_collective.h"
#include "ir/error.h"

namespace podium::sim {
namespace {

using device::Device;
using device::Topology;

constexpr int kSides = 2;

// The first processor of the link domain that a processor is in.
int domain_start(const Device& device, int processor) { return processor - processor % device.link_domain; }

// Appends single steps of `stride` from `from` to `to`, `count` places of which are a ring when `is_ring`.
template <class Append>
void walk(int from, int to, int count, bool is_ring, const Append& append) {
  const int up = (to - from + count) % count;
  const bool goes_up = is_ring ? 2 * up <= count : to > from;
  while (from != to) {
    const int next = (from + (goes_up ? 1 : count - 1)) % count;
    append(from, next);
    from = next;
  }
}

void route_in_domain(const Device& device, int from, int to, std::vector<LinkId>& way) {
  const int start = domain_start(device, from);
  if (from % kSides != to % kSides) {
    const int partner = from ^ 1;
    way.push_back({LinkKind::Rung, from, partner});
    from = partner;
  }
  const int members = std::min(device.link_domain, device.processors - start);
  walk((from - start) / kSides, (to - start) / kSides, (members + 1) / kSides,
       device.topology == Topology::Torus, [&](int pair, int next) {
         const int side = from % kSides;
         way.push_back({LinkKind::Rail, start + pair * kSides + side, start + next * kSides + side});
       });
}

void route_between_domains(const Device& device, int from, int to, std::vector<LinkId>& way) {
  const int domains = (device.processors - 1) / device.link_domain + 1;  // no overflow without a limit
  const auto machine = [&](int domain) {
    return (domain * device.link_domain + to % device.link_domain) / device.processors_per_host;
  };
  walk(from / device.link_domain, to / device.link_domain, domains, true, [&](int domain, int next) {
    way.push_back({LinkKind::Gateway, machine(domain), machine(next)});
  });
}

// Sums up the loads of each link.
std::vector<LinkLoad> merged(std::vector<LinkLoad> loads) {
  std::stable_sort(loads.begin(), loads.end(),
                   [](const LinkLoad& a, const LinkLoad& b) { return a.link < b.link; });
  std::vector<LinkLoad> sums;
  for (const LinkLoad& load : loads) {
    if (sums.empty() || sums.back().link != load.link) sums.push_back({load.link});
    sums.back().bytes += load.bytes;
    sums.back().seconds += load.seconds;
  }
  return sums;
}

// Transfers that are under way at once.
class Traffic {
 public:
  explicit Traffic(const Device& device) : device_(device) {}

  /// Gives the latency of the way.
  double send(int from, int to, double bytes) {
    double latency = 0;
    for (const LinkId& id : route(device_, from, to)) {
      const device::Link& link = link_of(device_, id);
      loads_.push_back({id, bytes, bytes / link.bytes_per_second});
      latency += link.latency_seconds;
    }
    return latency;
  }

  ExchangeCost cost(double latency) {
    ExchangeCost result{.links = merged(std::move(loads_))};
    for (const LinkLoad& load : result.links) result.seconds = std::max(result.seconds, load.seconds);
    result.seconds += latency;
    return result;
  }

 private:
  const Device& device_;
  std::vector<LinkLoad> loads_;
};

using Groups = std::vector<std::vector<int>>;

// Every other member on the way up, the rest on the way down: on a ladder up one side and down the other, and
// where members are on one side, a ring without a long way back.
std::vector<int> folded(const std::vector<int>& members) {
  std::vector<int> order;
  for (std::size_t i = 0; i < members.size(); i += 2) order.push_back(members[i]);
  for (std::size_t i = members.size() / 2 * 2; i > 0; i -= 2) order.push_back(members[i - 1]);
  return order;
}

// Rings of many groups at once, one each way: in every step each member passes on its part of the tensor,
// half of it each way.
ExchangeCost rings(const Device& device, executor::CollectiveKind kind, double bytes, const Groups& groups) {
  Traffic traffic(device);
  double latency = 0;
  for (const std::vector<int>& order : groups) {
    const auto count = static_cast<double>(order.size());
    const double steps = (kind == executor::CollectiveKind::AllReduce ? 2 : 1) * (count - 1);
    if (steps == 0) continue;
    const double half = bytes / count / 2 * steps;
    double longest = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int here = order[i];
      const int next = order[(i + 1) % order.size()];
      longest = std::max({longest, traffic.send(here, next, half), traffic.send(next, here, half)});
    }
    latency = std::max(latency, steps * longest);
  }
  return traffic.cost(latency);
}

// In the better of two orders: round the torus, or there and back.
ExchangeCost best_rings(const Device& device, executor::CollectiveKind kind, double bytes,
                        const Groups& groups) {
  Groups there_and_back;
  for (const std::vector<int>& members : groups) there_and_back.push_back(folded(members));
  const ExchangeCost round = rings(device, kind, bytes, groups);
  const ExchangeCost back = rings(device, kind, bytes, there_and_back);
  return round.seconds < back.seconds ? round : back;
}

// Members, in ascending order, by link domain; one group when they are not spread evenly over the same places
// of each.
Groups by_domain(const Device& device, const std::vector<int>& members) {
  std::map<int, std::vector<int>> domains;
  for (int member : members) domains[domain_start(device, member)].push_back(member);
  Groups groups;
  for (auto& [start, list] : domains) {
    groups.push_back(std::move(list));
    const auto is_same_place = [&](int a, int b) { return a % device.link_domain == b % device.link_domain; };
    if (!std::equal(groups[0].begin(), groups[0].end(), groups.back().begin(), groups.back().end(),
                    is_same_place))
      return {members};
  }
  return groups;
}

// The members in the same place of every domain.
Groups by_place(const Groups& domains) {
  Groups places(domains[0].size());
  for (const std::vector<int>& domain : domains) {
    for (std::size_t place = 0; place < domain.size(); ++place) places[place].push_back(domain[place]);
  }
  return places;
}

// One after the other.
void append(ExchangeCost& to, const ExchangeCost& more) {
  to.seconds += more.seconds;
  to.links.insert(to.links.end(), more.links.begin(), more.links.end());
  to.links = merged(std::move(to.links));
}

// Everybody sends everybody else its share at once.
ExchangeCost all_to_all_cost(const Device& device, double bytes, const std::vector<int>& members) {
  Traffic traffic(device);
  double latency = 0;
  for (int from : members) {
    for (int to : members)
      latency = std::max(latency, traffic.send(from, to, bytes / static_cast<double>(members.size())));
  }
  ExchangeCost cost = traffic.cost(latency);
  cost.seconds += device.topology == Topology::AllToAll ? switched_call_seconds(device)
                                                        : device.collective_overhead_seconds / 2;
  return cost;
}

}  // namespace

std::string to_string(const LinkId& link, device::ProcessorKind kind) {
  const std::string_view name = device::name_of(kind);
  switch (link.kind) {
    case LinkKind::Rung:
    case LinkKind::Rail:
      return fmt::format("{0}{1}->{0}{2}", name, link.from, link.to);
    case LinkKind::Gateway:
      return fmt::format("gateway{}->gateway{}", link.from, link.to);
    case LinkKind::ToSwitch:
      return fmt::format("{}{}->switch", name, link.from);
    case LinkKind::FromSwitch:
      return fmt::format("switch->{}{}", name, link.to);
    case LinkKind::ToNetwork:
      return fmt::format("{}{}->network", name, link.from);
    case LinkKind::FromNetwork:
      return fmt::format("network->{}{}", name, link.to);
    case LinkKind::FromHost:
      return fmt::format("host->{}{}", name, link.to);
    case LinkKind::ToHost:
      return fmt::format("{}{}->host", name, link.from);
    case LinkKind::FromStreaming:
      return fmt::format("ddr{}->{}{}", link.from, name, link.to);
    case LinkKind::ToStreaming:
      return fmt::format("{}{}->ddr{}", name, link.from, link.to);
  }
  return {};
}

const device::Link& link_of(const Device& device, const LinkId& link) {
  switch (link.kind) {
    case LinkKind::Rail:
      return device.rail;
    case LinkKind::Gateway:
    case LinkKind::ToNetwork:
    case LinkKind::FromNetwork:
      return device.gateway;
    case LinkKind::Rung:
    case LinkKind::ToSwitch:
    case LinkKind::FromSwitch:
      return device.rung;
    case LinkKind::FromHost:
    case LinkKind::ToHost:
    case LinkKind::FromStreaming:
    case LinkKind::ToStreaming:
      break;
  }
  throw InternalError("a link that is not between processors");
}

std::vector<LinkId> route(const Device& device, int from, int to) {
  IR_CHECK(from >= 0 && to >= 0 && from < device.processors && to < device.processors,
           "no way from processor {} to {} of {}", from, to, device.processors);
  if (from == to) return {};
  std::vector<LinkId> way;
  if (device.topology == Topology::AllToAll) {
    const bool crosses = domain_start(device, from) != domain_start(device, to);
    way = {{crosses ? LinkKind::ToNetwork : LinkKind::ToSwitch, from, from},
           {crosses ? LinkKind::FromNetwork : LinkKind::FromSwitch, to, to}};
  } else {
    const int place = domain_start(device, from) + to % device.link_domain;
    if (place != from) route_in_domain(device, from, place, way);
    route_between_domains(device, place, to, way);
  }
  for (const LinkId& link : way) {
    if (link_of(device, link).bytes_per_second > 0) continue;
    throw Error("device '{}' has no link {}, which the way from processor {} to {} needs", device.name,
                to_string(link, device.kind), from, to);
  }
  return way;
}

ExchangeCost exchange_cost(const Device& device, const std::vector<ProcessorTransfer>& transfers) {
  Traffic traffic(device);
  double latency = 0;
  for (const ProcessorTransfer& transfer : transfers) {
    latency = std::max(latency, traffic.send(transfer.from, transfer.to, transfer.bytes));
  }
  return traffic.cost(latency);
}

ManyTransfers::ManyTransfers(const Device& device, const std::vector<ProcessorTransfer>& transfers) {
  std::vector<LinkId> links;  // hop by hop
  for (const ProcessorTransfer& transfer : transfers) {
    double latency = 0;
    for (const LinkId& id : route(device, transfer.from, transfer.to)) {
      const device::Link& link = link_of(device, id);
      hops_.push_back({.seconds = transfer.bytes / link.bytes_per_second});
      latency += link.latency_seconds;
      links.push_back(id);
    }
    ways_.push_back({hops_.size(), transfer.bytes, latency});
  }
  std::vector<LinkId> ascending = links;
  std::ranges::sort(ascending);
  ascending.erase(std::ranges::unique(ascending).begin(), ascending.end());
  for (std::size_t i = 0; i < hops_.size(); ++i)
    hops_[i].link = static_cast<int>(std::ranges::lower_bound(ascending, links[i]) - ascending.begin());
  for (const LinkId& link : ascending) loads_.push_back({link});
  loaded_ = Touched(loads_.size());
}

ExchangeCost ManyTransfers::cost(std::span<const int> places) {
  double latency = 0;
  for (int place : places) {
    const Way& way = ways_[place];
    latency = std::max(latency, way.latency);
    for (std::size_t i = place == 0 ? 0 : ways_[place - 1].end; i < way.end; ++i) {
      LinkLoad& load = loads_[hops_[i].link];
      load.bytes += way.bytes;
      load.seconds += hops_[i].seconds;
      loaded_.touch(hops_[i].link);
    }
  }
  ExchangeCost result;
  loaded_.take([&](int place) {
    LinkLoad& load = loads_[place];
    result.links.push_back(load);
    result.seconds = std::max(result.seconds, load.seconds);
    load = {load.link};
  });
  result.seconds += latency;
  return result;
}

ExchangeCost collective_cost(const Device& device, executor::CollectiveKind kind, double bytes,
                             std::vector<int> members) {
  using executor::CollectiveKind;
  ExchangeCost result;
  if (members.size() < 2) return result;
  if (kind == CollectiveKind::AllToAll) return all_to_all_cost(device, bytes, members);
  std::sort(members.begin(), members.end());
  if (device.topology == Topology::AllToAll) return switched_collective(device, kind, bytes, members);
  // An all-reduce is a reduce-scatter and an all-gather.
  result.seconds = device.collective_overhead_seconds * (kind == CollectiveKind::AllReduce ? 1 : 0.5);
  const Groups domains = by_domain(device, members);
  if (domains.size() == 1) {
    append(result, best_rings(device, kind, bytes, domains));
    return result;
  }
  const double part = bytes / static_cast<double>(domains[0].size());
  if (kind != CollectiveKind::AllGather)
    append(result, best_rings(device, CollectiveKind::ReduceScatter, bytes, domains));
  append(result, best_rings(device, kind, part, by_place(domains)));
  if (kind != CollectiveKind::ReduceScatter)
    append(result, best_rings(device, CollectiveKind::AllGather, bytes, domains));
  return result;
}

HostTransfer host_transfer(const Device& device, Direction direction, double bytes, int sharers) {
  if (bytes <= 0) return {};
  const bool loads = direction == Direction::Load;
  const device::Link& host = loads ? device.host_load : device.host_store;
  const device::Link& port = loads ? device.streaming_load : device.streaming_store;
  const int machine = std::clamp(sharers, 1, device.processors_per_host);
  const double own_rate = port.bytes_per_second > 0 ? port.bytes_per_second : host.bytes_per_second;
  return {host.latency_seconds + bytes / own_rate, bytes * machine / host.bytes_per_second};
}

double remote_seconds(const Device& device, Direction direction, double bytes, bool sharded) {
  if (bytes <= 0) return 0;
  const device::Link& link = direction == Direction::Load ? device.streaming_load : device.streaming_store;
  if (link.bytes_per_second <= 0) {
    throw Error("device '{}' has no streaming memory, which an off-chip tensor needs", device.name);
  }
  const double transactions = std::ceil(bytes / static_cast<double>(device.transaction_bytes));
  const double latency = sharded ? device.sharded_transaction_seconds : link.latency_seconds;
  return transactions * latency + bytes / link.bytes_per_second;
}

}  // namespace podium::sim
