#include "executor/sim/routes.h"

#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "ir/error.h"

namespace podium::sim {
namespace {

using device::Device;
using executor::CollectiveKind;

const Device& preset_named(std::string_view name) { return *device::find_preset(name); }

std::string way(const Device& device, int from, int to) {
  std::string text;
  for (const LinkId& link : route(device, from, to)) text += (text.empty() ? "" : " ") + to_string(link);
  return text;
}

// Round numbers: a rung carries 100 bytes a second, a rail 10, a hop takes 1 second.
Device ladder(int processors) {
  Device device = preset_named("ipu-m2000");
  device.processors = processors;
  device.rung = {100, 1};
  device.rail = {10, 1};
  device.gateway = {5, 2};
  device.collective_overhead_seconds = 0;
  return device;
}

TEST(Route, StaysWhereItIs) { EXPECT_EQ(way(preset_named("ipu-pod16"), 3, 3), ""); }

TEST(Route, OfALadderGoesAcrossTheRungFirstThenAlongTheRails) {
  EXPECT_EQ(way(preset_named("ipu-pod16"), 0, 1), "ipu0->ipu1");
  EXPECT_EQ(way(preset_named("ipu-pod16"), 0, 5), "ipu0->ipu1 ipu1->ipu3 ipu3->ipu5");
  EXPECT_EQ(way(preset_named("ipu-pod16"), 6, 2), "ipu6->ipu4 ipu4->ipu2");
}

TEST(Route, OfATorusTakesTheShorterWayRound) {
  EXPECT_EQ(way(preset_named("ipu-pod64"), 0, 62), "ipu0->ipu62");
  EXPECT_EQ(way(preset_named("ipu-pod64"), 62, 0), "ipu62->ipu0");
  EXPECT_EQ(route(preset_named("ipu-pod16"), 0, 14).size(), 7U);
  EXPECT_EQ(route(preset_named("ipu-pod64"), 0, 32).size(), 16U);
}

TEST(Route, ToAnotherRackGoesToItsPlaceAndThroughTheGateways) {
  EXPECT_EQ(way(preset_named("ipu-pod256"), 0, 66), "ipu0->ipu2 gateway0->gateway16");
  EXPECT_EQ(way(preset_named("ipu-pod256"), 0, 193), "ipu0->ipu1 gateway0->gateway48");
}

TEST(Route, OfASwitchUsesThePortsOfBothEnds) {
  EXPECT_EQ(way(preset_named("gpu-node-8"), 2, 7), "ipu2->switch switch->ipu7");
}

TEST(ExchangeCost, IsDecidedByTheLinkThatCarriesMost) {
  const ExchangeCost cost = exchange_cost(ladder(4), {{0, 2, 30}, {1, 2, 20}, {0, 1, 100}});
  // 1 goes to 2 over the rung to 0: the rail from 0 to 2 carries 50 bytes in 5 s; the longest way has two
  // hops.
  EXPECT_DOUBLE_EQ(cost.seconds, 5 + 2);
  ASSERT_EQ(cost.links.size(), 3U);
  EXPECT_EQ(to_string(cost.links[2].link), "ipu0->ipu2");
  EXPECT_DOUBLE_EQ(cost.links[2].bytes, 50);
  EXPECT_DOUBLE_EQ(cost.links[2].seconds, 5);
}

TEST(ManyTransfers, CostAtTheirPlacesWhatTheyCostAlone) {
  const std::vector<ProcessorTransfer> all{{0, 2, 30}, {1, 2, 20}, {0, 1, 100}, {3, 3, 7}, {2, 1, 0}};
  for (const Device& device : {ladder(4), preset_named("gpu-node-8")}) {
    ManyTransfers many(device, all);
    for (unsigned chosen = 1; chosen < 32; ++chosen) {
      std::vector<int> places;
      std::vector<ProcessorTransfer> alone;
      for (int place = 0; place < 5; ++place) {
        if ((chosen >> place & 1U) == 0) continue;
        places.push_back(place);
        alone.push_back(all[place]);
      }
      const ExchangeCost cost = many.cost(places);
      const ExchangeCost expected = exchange_cost(device, alone);
      EXPECT_EQ(cost.seconds, expected.seconds);
      ASSERT_EQ(cost.links.size(), expected.links.size());
      for (std::size_t i = 0; i < cost.links.size(); ++i) {
        EXPECT_EQ(cost.links[i].link, expected.links[i].link);
        EXPECT_EQ(cost.links[i].bytes, expected.links[i].bytes);
        EXPECT_EQ(cost.links[i].seconds, expected.links[i].seconds);
      }
    }
  }
}

TEST(CollectiveCost, OfAllReduceIsTwiceThatOfReduceScatter) {
  // A ring 0 2 3 1: every member sends 3/4 of 400 bytes, half of it each way: 150 bytes over the slowest
  // link, a rail, and 3 steps of one hop.
  EXPECT_DOUBLE_EQ(collective_cost(ladder(4), CollectiveKind::ReduceScatter, 400, {0, 1, 2, 3}).seconds,
                   15 + 3);
  EXPECT_DOUBLE_EQ(collective_cost(ladder(4), CollectiveKind::AllGather, 400, {0, 1, 2, 3}).seconds, 15 + 3);
  EXPECT_DOUBLE_EQ(collective_cost(ladder(4), CollectiveKind::AllReduce, 400, {0, 1, 2, 3}).seconds, 30 + 6);
}

// Members on one side of the ladder: 0 4 6 2. Every rail carries two hops of 150 bytes each way, every step
// takes two hops.
TEST(CollectiveCost, OfReplicasOfTwoProcessorsGoesThereAndBack) {
  EXPECT_DOUBLE_EQ(collective_cost(ladder(8), CollectiveKind::ReduceScatter, 400, {0, 2, 4, 6}).seconds,
                   30 + 6);
}

// On a torus the same members are neighbours all round.
TEST(CollectiveCost, OfATorusGoesRound) {
  Device device = ladder(8);
  device.topology = device::Topology::Torus;
  EXPECT_DOUBLE_EQ(collective_cost(device, CollectiveKind::ReduceScatter, 400, {0, 2, 4, 6}).seconds, 15 + 3);
}

TEST(CollectiveCost, OfAThousandReplicasIsQuickToTell) {
  std::vector<int> members;
  for (int i = 0; i < 1024; ++i) members.push_back(i);
  const Device& pod = preset_named("ipu-pod1024");
  const ExchangeCost cost = collective_cost(pod, CollectiveKind::AllReduce, 1e9, members);
  // At least what a processor sends over both its rails in the two phases inside its rack.
  EXPECT_GT(cost.seconds, 2 * 63.0 / 64 * 1e9 / (2 * pod.rail.bytes_per_second));
  EXPECT_LT(cost.seconds, 0.2);
  EXPECT_LT(cost.links.size(), 4096U);
}

// Each member of four sends each other one a quarter of its 400 bytes. The rail from 0 to 2 carries what 0
// has for 2, and what 1 has for 2; the longest way has two hops.
TEST(CollectiveCost, OfAnAllToAllIsThatOfTheFullestLink) {
  const ExchangeCost cost = collective_cost(ladder(4), CollectiveKind::AllToAll, 400, {0, 1, 2, 3});
  EXPECT_DOUBLE_EQ(cost.seconds, 20 + 2);
  double bytes = 0;
  for (const LinkLoad& load : cost.links) bytes += load.bytes;
  EXPECT_DOUBLE_EQ(bytes, 100.0 * (8 + 4 * 2));  // eight pairs are neighbours
}

TEST(CollectiveCost, OfAnAllToAllBehindSwitchesSendsEachShareOnce) {
  const ExchangeCost cost =
      collective_cost(preset_named("h100"), CollectiveKind::AllToAll, 8e9, {0, 1, 2, 3});
  for (const LinkLoad& load : cost.links) EXPECT_DOUBLE_EQ(load.bytes, 6e9);
  EXPECT_GT(cost.seconds, 6e9 / preset_named("h100").rung.bytes_per_second);
}

TEST(CollectiveCost, OfOneMemberIsNothing) {
  EXPECT_EQ(collective_cost(ladder(4), CollectiveKind::AllReduce, 400, {2}).seconds, 0);
}

TEST(CollectiveCost, OverRacksSendsOnlyPartsThroughTheGateways) {
  Device device = ladder(8);
  device.link_domain = 4;
  device.topology = device::Topology::Torus;
  // Inside a rack reduce-scatter and all-gather of 400 bytes as above, 18 s each. Between the racks each
  // place all-reduces 100 bytes: 2 x 1/2 x 100, of which half goes each way round a ring of two, so 100 from
  // each end; four places share the machine's gateway: 400 bytes at 5 a second, and 2 steps of 2 s.
  EXPECT_DOUBLE_EQ(collective_cost(device, CollectiveKind::AllReduce, 400, {0, 1, 2, 3, 4, 5, 6, 7}).seconds,
                   18 + 80 + 4 + 18);
}

TEST(HostSeconds, SharesTheGatewayAmongProcessors) {
  Device device = ladder(4);
  device.host_load = {100, 1};
  device.streaming_load = {40, 7};
  EXPECT_DOUBLE_EQ(host_transfer(device, Direction::Load, 200, 1).seconds, 1 + 5);  // at its own rate
  EXPECT_DOUBLE_EQ(host_transfer(device, Direction::Load, 200, 1).link_seconds, 2);
  EXPECT_DOUBLE_EQ(host_transfer(device, Direction::Load, 200, 4).link_seconds, 8);
  EXPECT_EQ(host_transfer(device, Direction::Load, 0, 4).seconds, 0);
}

TEST(RemoteSeconds, AddsAnOverheadForEachTransaction) {
  Device device = ladder(4);
  device.streaming_store = {100, 3};
  device.transaction_bytes = 250;
  device.sharded_transaction_seconds = 1;
  EXPECT_DOUBLE_EQ(remote_seconds(device, Direction::Store, 500), 2 * 3 + 5);
  EXPECT_DOUBLE_EQ(remote_seconds(device, Direction::Store, 500, true), 2 * 1 + 5);
}

TEST(RemoteSeconds, NeedsStreamingMemory) {
  Device device = ladder(4);
  device.streaming_load = {};
  EXPECT_THROW(remote_seconds(device, Direction::Load, 1), Error);
}

// Measured: 26.46 GB/s each way between two processors, with 4.096 GB in each direction.
TEST(ExchangeCost, OfTwoProcessorsIsNearTheVendorsTrafficTest) {
  const ExchangeCost cost = exchange_cost(preset_named("ipu-m2000"), {{0, 2, 2.097e9}, {2, 0, 2.097e9}});
  EXPECT_NEAR(cost.seconds, 0.079266, 0.04 * 0.079266);
}

}  // namespace
}  // namespace podium::sim
