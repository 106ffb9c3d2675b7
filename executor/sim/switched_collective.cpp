// The model by which NCCL chooses its algorithm (src/graph/tuning.cc of NVIDIA's NCCL): time = latency +
// bytes / rate, where the latency is that of a call and of each step, inside a machine and over the network,
// and the rate is a share of the ports' or, where every processor of a machine has a way of its own to the
// network, of all its ways together. Measured latencies are longer than those by which NCCL chooses, most of
// all that of a call: kLonger. Switches that add up are given chunks: before the first is back, it has passed
// each level of the tree of machines up and down. Where such a tree is bound by switches and network alike,
// they hinder each other.
#include "executor/sim/switched_collective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace podium::sim {
namespace {

using executor::CollectiveKind;

struct Latency {
  double call;
  double inner;    ///< of a step inside a machine
  double network;  ///< of a step that crosses machines
};

/// Low latency: half of what moves are flags; low latency 128: a sixteenth; simple: none, but a fence a step.
struct Protocol {
  Latency ring;
  Latency tree;
  double ring_rate;  ///< of the simple protocol's
  double tree_rate;
  double most_of_port;  ///< of a port's rate at most
  double most_across;   ///< of a machine's rate over the network at most, bytes a second
};

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

constexpr std::array<Protocol, 3> kProtocols{{
    {{6.6e-6, 0.6e-6, 2.7e-6}, {6.8e-6, 0.6e-6, 5e-6}, 0.5, 0.26, 0.3, 20e9},
    {{14e-6, 1.9e-6, 4e-6}, {14e-6, 1.25e-6, 8.5e-6}, 0.92, 0.72, 1, kUnlimited},
    {{8.4e-6, 3.4e-6, 14e-6}, {8.4e-6, 4e-6, 14e-6}, 1, 0.92, 1, kUnlimited},
}};
constexpr double kSwitchCall = 25e-6;
constexpr double kSwitchAndTreeCall = 38.9e-6;
constexpr double kSwitchLonger = 2.5;
constexpr Latency kLonger{3.5, 1.5, 3};  // times NCCL's own: a call, a step inside and one over the network
constexpr int kFewestInSwitch = 5;       // below, a ring is chosen
constexpr double kChunkBytes = 16.0 * (512 << 10);  // under way: of 16 channels, an eighth of 4 MiB each
constexpr double kFewestChunks = 4;
constexpr double kSharpness = 4;  // as of products whose operands come from memory

struct Group {
  double ranks = 1;
  double machines = 1;
  double in_machine = 1;
};

Group group_of(const device::Device& device, const std::vector<int>& members) {
  std::set<int> domains;
  for (int member : members) domains.insert(member / device.link_domain);
  const auto ranks = static_cast<double>(members.size());
  const auto machines = static_cast<double>(domains.size());
  return {ranks, machines, ranks / machines};
}

class Choices {
 public:
  Choices(const device::Device& device, const Group& group, double bytes)
      : group_(group),
        bytes_(bytes),
        port_(device.rung.bytes_per_second),
        inner_rate_(port_ * device.ring_share),
        network_rate_(device.gateway.bytes_per_second * device.network_share * group.in_machine),
        switch_rate_(port_ * device.switch_reduction_share) {}

  /// `rounds`: how often the tensor goes round: twice for an all-reduce.
  double ring(const Protocol& protocol, double rounds) const {
    const double steps = rounds * (group_.ranks - 1);
    const double crossing = crosses() ? rounds * (group_.machines - 1) : 0;
    const double rate = std::min(inner_rate_ * protocol.ring_rate, port_ * protocol.most_of_port);
    return latency(protocol.ring, steps - crossing, crossing) +
           bytes_ * steps / group_.ranks / slowest(rate, protocol.ring_rate, protocol.most_across);
  }
  double tree(const Protocol& protocol) const {
    const double rate = slowest(inner_rate_ * protocol.tree_rate, protocol.tree_rate, protocol.most_across);
    return latency(protocol.tree, 2 * (group_.in_machine - 1), 2 * std::log2(group_.machines)) +
           2 * bytes_ / rate;
  }
  bool has_switch() const { return switch_rate_ > 0 && group_.in_machine >= kFewestInSwitch; }
  double in_switch() const {
    const double inside = bytes_ / switch_rate_;
    const double chunk = std::min(kChunkBytes, bytes_ / kFewestChunks);
    if (!crosses()) return kSwitchLonger * kSwitchCall + chunk / switch_rate_ + inside;
    const double levels = 2 * std::log2(group_.machines);
    const double fill = (levels + 1) * chunk / std::min(switch_rate_, network_rate_);
    const double over_network = 2 * bytes_ * (group_.machines - 1) / group_.machines / network_rate_;
    const double both =
        std::pow(std::pow(inside, kSharpness) + std::pow(over_network, kSharpness), 1 / kSharpness);
    const double hops = levels * kLonger.network * kProtocols.back().tree.network;
    return kSwitchLonger * kSwitchAndTreeCall + hops + fill + both;
  }

 private:
  bool crosses() const { return group_.machines > 1; }
  static double latency(const Latency& each, double inner, double crossing) {
    return kLonger.call * each.call + inner * kLonger.inner * each.inner +
           crossing * kLonger.network * each.network;
  }
  double slowest(double rate, double protocol_rate, double most_across) const {
    return crosses() ? std::min({rate, network_rate_ * protocol_rate, most_across}) : rate;
  }

  Group group_;
  double bytes_;
  double port_;
  double inner_rate_;
  double network_rate_;
  double switch_rate_;
};

double fastest(const Choices& choices, CollectiveKind kind) {
  const bool is_all_reduce = kind == CollectiveKind::AllReduce;
  double best = is_all_reduce && choices.has_switch() ? choices.in_switch() : 0;
  const auto consider = [&](double seconds) {
    if (best == 0 || seconds < best) best = seconds;
  };
  for (const Protocol& protocol : kProtocols) {
    consider(choices.ring(protocol, is_all_reduce ? 2 : 1));
    if (is_all_reduce) consider(choices.tree(protocol));
  }
  return best;
}

}  // namespace

double switched_call_seconds(const device::Device& device) {
  return device.collective_overhead_seconds + kLonger.call * kProtocols.front().ring.call;
}

ExchangeCost switched_collective(const device::Device& device, CollectiveKind kind, double bytes,
                                 const std::vector<int>& members) {
  const Group group = group_of(device, members);
  if (group.machines > 1) route(device, members.front(), members.back());  // Error where there is no network
  ExchangeCost cost;
  const double moving = fastest(Choices(device, group, bytes), kind);
  cost.seconds = device.collective_overhead_seconds + moving;
  const double sent = bytes * (kind == CollectiveKind::AllReduce ? 2 : 1) * (group.ranks - 1) / group.ranks;
  // The network is slower than a port, which others use in between.
  const double through_port = std::min(moving, sent / device.rung.bytes_per_second);
  for (LinkKind way : {LinkKind::ToSwitch, LinkKind::FromSwitch}) {
    for (int member : members) cost.links.push_back({{way, member, member}, sent, through_port});
  }
  return cost;
}

}  // namespace podium::sim
