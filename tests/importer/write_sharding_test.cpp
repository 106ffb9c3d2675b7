#include "importer/write_sharding.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "importer/write_model.h"
#include "tests/importer/model_proto.h"
#include "tests/support/device_configurations.h"

namespace podium::importer {
namespace {

using namespace podium::testing;  // NOLINT(google-build-using-namespace): the messages

void put(auto& message, int number, const std::string& bytes) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(number, bytes);
}

onnx::ModelProto two_nodes() {
  return proto_of("g (float[4,6] x) => (float[4,6] z) { y = Neg(x)\n z = Abs(y) }");
}

void say_of(onnx::ModelProto& proto, int node, const std::string& bytes) {
  put(*proto.mutable_graph()->mutable_node(node), kNodeDeviceConfigurations, bytes);
}

// What the reader gives is written into a model that has it not yet, and read again.
void expect_round_trip(const onnx::ModelProto& annotated, onnx::ModelProto plain) {
  write_sharding(read_sharding(import_proto(annotated)), plain);
  EXPECT_EQ(plain.SerializeAsString(), annotated.SerializeAsString());
}

ir::ShardingSpec halves(std::int64_t axis) {
  return {.holders = {{0}, {1}}, .axes = {{.axis = axis, .factors = {{.shards = 2}}}}};
}

Sharding halves_of(const std::string& node, const std::string& tensor) {
  Sharding sharding;
  sharding.configurations = {{.name = "tp", .devices = 2, .names = {}}};
  sharding.nodes = {{.node = node, .configuration = "tp", .tensors = {{tensor, halves(1)}}}};
  return sharding;
}

TEST(WriteSharding, GivesBackWhatWasReadByteForByte) {
  onnx::ModelProto annotated = two_nodes();
  annotated.set_ir_version(11);
  put(annotated, kModelConfiguration, device_configuration("tp", 4, {"a", "b", "c", "d"}));
  put(annotated, kModelConfiguration, device_configuration("dp", 2));
  const std::string fixed = number_field(1, 2) + number_field(3, 1);
  const std::string factors =
      number_field(1, -1) + bytes_field(2, fixed) + bytes_field(2, number_field(3, 2));
  say_of(annotated, 0,
         node_configuration("tp", {spec("x", {-1, 3}, {factors}, {group(-1, {0, 2})}), spec("y", {1}, {})}));
  say_of(annotated, 0, node_configuration("dp", {spec("x", {1, 0}, {sharded(0, 2)})}) + stage(1));
  say_of(annotated, 1, node_configuration("dp", {}) + stage(1));
  expect_round_trip(annotated, annotated);
  expect_round_trip(annotated, two_nodes());
}

TEST(WriteSharding, ReachesBodiesAndFunctions) {
  onnx::ModelProto plain = proto_of(
      "g (bool c, float[2] x) => (float[2] y) {"
      " y = If(c) <then_branch = t () => (float[2] r) { r = Neg(x) }, else_branch = e () => (float[2] s) { s "
      "= Abs(x) }> }");
  onnx::ModelProto annotated = plain;
  annotated.set_ir_version(11);
  put(annotated, kModelConfiguration, device_configuration("tp", 2));
  auto& body = *annotated.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  put(*body.mutable_node(0), kNodeDeviceConfigurations,
      node_configuration("tp", {spec("x", {0, 1}, {sharded(0, 2)})}));
  expect_round_trip(annotated, plain);
}

TEST(WriteSharding, ReplacesTheConfigurationOfThatNameAndLeavesOthers) {
  onnx::ModelProto proto = two_nodes();
  put(proto, kModelConfiguration, device_configuration("tp", 4));
  put(proto, kModelConfiguration, device_configuration("dp", 2));
  say_of(proto, 0, node_configuration("tp", {spec("x", {0, 1, 2, 3}, {sharded(0, 4)})}));
  say_of(proto, 1, node_configuration("dp", {spec("y", {0, 1}, {sharded(0, 2)})}));
  write_sharding(halves_of("z", "y"), proto);
  EXPECT_EQ(proto.ir_version(), 11);
  const Sharding read = read_sharding(import_proto(proto));
  ASSERT_EQ(read.configurations.size(), 2U);
  EXPECT_EQ(read.configurations[0].devices, 2);
  ASSERT_EQ(read.nodes.size(), 2U);  // both of 'z': what 'y' said for the old 'tp' is gone
  EXPECT_EQ(read.nodes[0].node, "z");
  EXPECT_EQ(read.nodes[0].configuration, "dp");
  EXPECT_EQ(read.nodes[1].node, "z");
  EXPECT_EQ(read.nodes[1].tensors.at(0).spec, halves(1));
}

TEST(WriteSharding, LeavesANewerVersionAndAModelWithoutConfigurations) {
  onnx::ModelProto newer = two_nodes();
  newer.set_ir_version(13);
  write_sharding(halves_of("y", "x"), newer);
  EXPECT_EQ(newer.ir_version(), 13);
  onnx::ModelProto same = two_nodes();
  write_sharding({}, same);
  EXPECT_EQ(same.SerializeAsString(), two_nodes().SerializeAsString());
}

TEST(WriteSharding, DropsAConfigurationWithAllThatNodesSayForIt) {
  onnx::ModelProto proto = two_nodes();
  const Sharding halves = halves_of("y", "x");
  write_sharding(halves, proto);
  write_sharding({}, proto, {halves.configurations[0].name});
  const Sharding read = read_sharding(import_proto(proto));
  EXPECT_TRUE(read.configurations.empty());
  EXPECT_TRUE(read.nodes.empty());
}

TEST(WriteSharding, IsAnEditOfAModelThatIsWritten) {
  const Folder folder;
  ModelEdits edits;
  edits.sharding = halves_of("y", "x");
  write_model(import_proto(two_nodes()), folder.file("cut.onnx"), edits);
  const Sharding read = read_sharding(import_model(folder.file("cut.onnx")));
  ASSERT_EQ(read.nodes.size(), 1U);
  EXPECT_EQ(read.nodes[0].tensors.at(0).spec, halves(1));
}

TEST(WriteSharding, TellsNodesOfOneNameByTheirTensorsAndRefusesTheOthers) {
  onnx::ModelProto proto = two_nodes();
  for (auto& node : *proto.mutable_graph()->mutable_node()) node.set_name("n");
  write_sharding(halves_of("n", "x"), proto);
  EXPECT_EQ(read_sharding(import_proto(proto)).nodes.at(0).tensors.at(0).name, "x");
  EXPECT_EQ(refusal([&] { write_sharding(halves_of("n", "y"), proto); }),
            "node 'n': there are two of that name, one needed");
  EXPECT_EQ(refusal([&] { write_sharding(halves_of("m", "x"), proto); }),
            "node 'm': there is none of that name with the tensors that are cut");
}

}  // namespace
}  // namespace podium::importer
