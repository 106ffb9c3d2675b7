#include "importer/sharding.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <sstream>

#include "importer/write_model.h"
#include "tests/importer/model_proto.h"
#include "tests/support/device_configurations.h"

namespace podium::importer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace podium::testing;  // NOLINT(google-build-using-namespace): the messages

void add_bytes(auto& message, int number, const std::string& bytes) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(number, bytes);
}

// y = Neg(x), z = Abs(y), with a configuration 'tp' of 4 devices.
onnx::ModelProto plain() {
  onnx::ModelProto proto = proto_of("g (float[4,6] x) => (float[4,6] z) { y = Neg(x)\n z = Abs(y) }");
  proto.set_ir_version(11);
  add_bytes(proto, kModelConfiguration, device_configuration("tp", 4));
  return proto;
}

void say(onnx::ModelProto& proto, int node, const std::string& bytes) {
  add_bytes(*proto.mutable_graph()->mutable_node(node), kNodeDeviceConfigurations, bytes);
}

onnx::ModelProto with_spec(const std::string& bytes) {
  onnx::ModelProto proto = plain();
  say(proto, 0, node_configuration("tp", {bytes}));
  return proto;
}

std::string printed(const ir::ShardingSpec& spec) {
  std::string text = fmt::format("{}", spec.holders);
  for (const ir::ShardedAxis& axis : spec.axes) {
    text += fmt::format(" axis {}:", axis.axis);
    for (const ir::ShardedFactor& factor : axis.factors)
      text += fmt::format(" {}/{}", factor.size ? std::to_string(*factor.size) : "?", factor.shards);
  }
  return text;
}

std::string read_spec_text(const std::string& bytes) {
  const Sharding sharding = read_sharding(import_proto(with_spec(bytes)));
  return printed(sharding.nodes.at(0).tensors.at(0).spec);
}

std::string refusal_of_spec(const std::string& bytes) {
  const std::string error = error_of(with_spec(bytes));
  const std::string where = "node 'y' (Neg): tensor 'x': ";
  return error.starts_with(where) ? error.substr(where.size()) : "elsewhere: " + error;
}

TEST(Sharding, IsReadWithStagesAndNamesOfDevices) {
  onnx::ModelProto proto = plain();
  add_bytes(proto, kModelConfiguration, device_configuration("pair", 2, {"left", "right"}));
  say(proto, 0, node_configuration("tp", {spec("x", {3, 1}, {sharded(0, 2)}), spec("y", {0}, {})}));
  say(proto, 1, node_configuration("pair", {}) + stage(1));
  const Sharding sharding = read_sharding(import_proto(proto));
  ASSERT_EQ(sharding.configurations.size(), 2U);
  EXPECT_THAT(sharding.configurations[1].names, ElementsAre("left", "right"));
  ASSERT_EQ(sharding.nodes.size(), 2U);
  EXPECT_EQ(sharding.nodes[0].node, "y");
  EXPECT_EQ(sharding.nodes[0].tensors[1].name, "y");
  EXPECT_EQ(sharding.nodes[0].stage, std::nullopt);
  EXPECT_EQ(sharding.nodes[1].configuration, "pair");
  EXPECT_EQ(sharding.nodes[1].stage, 1);
  EXPECT_THAT(sharding.warnings, ElementsAre());
}

TEST(Sharding, KeepsTheOrderOfShardsAndPutsGroupsInTheirPlaces) {
  EXPECT_EQ(read_spec_text(spec("x", {3, 1}, {sharded(-1, 2)})), "[[3], [1]] axis -1: ?/2");
  EXPECT_EQ(read_spec_text(spec("x", {-1, -2}, {sharded(0, 2)}, {group(-1, {1, 0}), group(-2, {2, 3})})),
            "[[0, 1], [2, 3]] axis 0: ?/2");
}

TEST(Sharding, IsReplicationWhereNoAxisIsCut) {
  EXPECT_EQ(read_spec_text(spec("x", {-1}, {}, {group(-1, {0, 2})})), "[[0, 2]]");
  EXPECT_EQ(read_spec_text(spec("x", {0, 1, 2}, {})), "[[0, 1, 2]]");
  EXPECT_EQ(read_spec_text(spec("x", {2}, {})), "[[2]]");
}

TEST(Sharding, ReadsFactorsOfAnAxisAndSymbolicSizes) {
  const std::string fixed = number_field(1, 2) + number_field(3, 1);
  const std::string symbolic = bytes_field(2, "n") + number_field(3, 2);
  const std::string axis = number_field(1, 0) + bytes_field(2, fixed) + bytes_field(2, symbolic);
  EXPECT_EQ(read_spec_text(spec("x", {0, 1}, {axis})), "[[0], [1]] axis 0: 2/1 ?/2");
}

TEST(Sharding, ReadsPackedDevicesToo) {
  const std::string packed = bytes_field(1, "x") + bytes_field(2, varint(1) + varint(3));
  EXPECT_EQ(read_spec_text(packed + bytes_field(4, sharded(0, 2))), "[[1], [3]] axis 0: ?/2");
}

TEST(Sharding, TakesTheFirstDevicesWhereNoneAreSaidAndWarns) {
  EXPECT_EQ(read_spec_text(spec("x", {}, {sharded(0, 4)})), "[[0], [1], [2], [3]] axis 0: ?/4");
  const Sharding sharding = read_sharding(import_proto(with_spec(spec("x", {}, {sharded(0, 2)}))));
  EXPECT_THAT(sharding.warnings, ElementsAre("node 'y' (Neg): tensor 'x': no devices said for 2 shards: "
                                             "devices 0 to 1 of 4"));
}

TEST(Sharding, RefusesFewBytesThatAskForManyDevices) {
  const auto read = [](int nodes) {
    std::string text = "g (float[4] x) => (float[4] y0) { y0 = Neg(x)";
    for (int i = 1; i < nodes; ++i) text += fmt::format("\n y{} = Neg(x)", i);
    onnx::ModelProto proto = proto_of(text + " }");
    proto.set_ir_version(11);
    add_bytes(proto, kModelConfiguration, device_configuration("all", 65'536));
    for (int i = 0; i < nodes; ++i)
      say(proto, i, node_configuration("all", {spec("x", {}, {sharded(0, 65'536)})}));
    return error_of(proto);
  };
  EXPECT_EQ(read(2), "");
  EXPECT_THAT(read(257), HasSubstr("node 'y256' (Neg): tensor 'x': specs that say no devices have more than "
                                   "16777216 shards together, lists of devices needed"));
}

TEST(Sharding, TakesTheGroupWhereAKeyIsADeviceTooAndWarns) {
  const std::string both = spec("x", {0, 3}, {sharded(0, 2)}, {group(0, {1, 2})});
  EXPECT_EQ(read_spec_text(both), "[[1, 2], [3]] axis 0: ?/2");
  EXPECT_THAT(read_sharding(import_proto(with_spec(both))).warnings,
              ElementsAre("node 'y' (Neg): tensor 'x': 0 is a group and a device: the group is taken"));
}

TEST(Sharding, RefusesDevicesThatDoNotFitTheShards) {
  EXPECT_EQ(refusal_of_spec(spec("x", {0, 1, 2}, {sharded(0, 2)})),
            "3 devices or groups found for 2 shards, as many needed");
  EXPECT_EQ(refusal_of_spec(spec("x", {}, {sharded(0, 2), sharded(1, 3)})),
            "6 shards found, at most the 4 devices of configuration 'tp' needed");
  EXPECT_EQ(refusal_of_spec(spec("x", {0, 4}, {sharded(0, 2)})),
            "device 4 found, 0 to 3 of configuration 'tp' or a group needed");
  EXPECT_EQ(refusal_of_spec(spec("x", {0, -1}, {sharded(0, 2)})),
            "device -1 found, 0 to 3 of configuration 'tp' or a group needed");
  EXPECT_EQ(refusal_of_spec(spec("x", {1, 1}, {sharded(0, 2)})), "device 1 is there twice, once needed");
  EXPECT_EQ(refusal_of_spec(spec("x", {-1, 2}, {sharded(0, 2)}, {group(-1, {1, 2})})),
            "device 2 is there twice, once needed");
  EXPECT_EQ(refusal_of_spec(spec("x", {-1}, {}, {group(-1, {})})), "group -1 has no devices");
  const std::int64_t many = std::int64_t{1} << 62;
  EXPECT_EQ(refusal_of_spec(spec("x", {0}, {sharded(0, many), sharded(1, many)})),
            "4611686018427387904 shards found, at most the 4 devices of configuration 'tp' needed");
}

TEST(Sharding, RefusesAxesThatAreNotCut) {
  EXPECT_EQ(refusal_of_spec(spec("x", {}, {sharded(0, 0)})), "axis 0 in 0 shards found, 1 or more needed");
  EXPECT_EQ(refusal_of_spec(spec("x", {}, {number_field(1, 1) + bytes_field(2, "")})),
            "axis 1 in no shards found, 1 or more needed");
  EXPECT_EQ(refusal_of_spec(spec("x", {}, {number_field(1, 1)})), "axis 1 without a number of shards found");
  EXPECT_EQ(refusal_of_spec(spec("x", {}, {sharded(0, 2), sharded(0, 2)})), "axis 0 is sharded twice");
  EXPECT_EQ(refusal_of_spec(spec("x", {}, {"\x0a\x05"})), "a sharded axis is damaged");
}

TEST(Sharding, RefusesTensorsThatAreNotTheNodes) {
  EXPECT_EQ(error_of(with_spec(spec("z", {}, {sharded(0, 4)}))),
            "node 'y' (Neg): sharding of 'z' found, one of the node's inputs and outputs needed");
  EXPECT_EQ(error_of(with_spec(spec("", {}, {}))),
            "node 'y' (Neg): a sharding spec without a tensor's name found");
}

TEST(Sharding, TakesASpecTwiceAndRefusesTwoThatDiffer) {
  const std::string one = spec("x", {0, 1}, {sharded(0, 2)});
  onnx::ModelProto same = plain();
  say(same, 0, node_configuration("tp", {one, one}));
  EXPECT_EQ(read_sharding(import_proto(same)).nodes.at(0).tensors.size(), 1U);
  onnx::ModelProto differing = plain();
  say(differing, 0, node_configuration("tp", {one, spec("x", {0, 1}, {sharded(1, 2)})}));
  EXPECT_EQ(error_of(differing),
            "node 'y' (Neg): two sharding specs of tensor 'x' found that differ, one needed");
}

TEST(Sharding, RefusesConfigurationsThatAreUnknownOrWrong) {
  onnx::ModelProto unknown = plain();
  say(unknown, 0, node_configuration("dp", {}));
  EXPECT_EQ(error_of(unknown), "node 'y' (Neg): no device configuration 'dp' found, one of 'tp' needed");
  onnx::ModelProto nameless = plain();
  say(nameless, 0, "");
  EXPECT_EQ(error_of(nameless),
            "node 'y' (Neg): no configuration_id found, the name of a configuration needed");
  onnx::ModelProto twice = plain();
  add_bytes(twice, kModelConfiguration, device_configuration("tp", 2));
  EXPECT_EQ(error_of(twice), "device configuration 'tp' is there twice");
  onnx::ModelProto empty = plain();
  add_bytes(empty, kModelConfiguration, device_configuration("none", 0));
  EXPECT_EQ(error_of(empty), "device configuration 'none': 0 devices found, 1 to 65536 needed");
  onnx::ModelProto names = plain();
  add_bytes(names, kModelConfiguration, device_configuration("pair", 2, {"left"}));
  EXPECT_EQ(error_of(names), "device configuration 'pair': names of 1 devices found, none or 2 needed");
}

TEST(Sharding, RefusesAStageThatReadsALaterOne) {
  onnx::ModelProto proto = plain();
  say(proto, 0, node_configuration("tp", {}) + stage(2));
  say(proto, 1, node_configuration("tp", {}) + stage(1));
  EXPECT_EQ(error_of(proto),
            "node 'z' (Abs): pipeline stage 1 reads 'y' of stage 2, one of stages 0 to 1 needed");
}

TEST(Sharding, RefusesAStageBeyondAsManyDevicesAsThereMayBe) {
  for (const std::int64_t number : {std::int64_t{65'536}, std::int64_t{2'147'483'647}, std::int64_t{-1}}) {
    onnx::ModelProto proto = plain();
    say(proto, 0, node_configuration("tp", {}) + stage(number));
    EXPECT_EQ(error_of(proto),
              fmt::format("node 'y' (Neg): pipeline stage {} found, 0 to 65535 needed", number));
  }
}

TEST(Sharding, IsReadInBodies) {
  onnx::ModelProto proto = proto_of(
      "g (bool c, float[2] x) => (float[2] y) {"
      " y = If(c) <then_branch = t () => (float[2] r) { r = Neg(x) }, else_branch = e () => (float[2] s) { s "
      "= Abs(x) }> }");
  add_bytes(proto, kModelConfiguration, device_configuration("tp", 2));
  auto& body = *proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  add_bytes(*body.mutable_node(0), kNodeDeviceConfigurations,
            node_configuration("tp", {spec("x", {}, {sharded(0, 2)})}));
  const Sharding sharding = read_sharding(import_proto(proto));
  ASSERT_EQ(sharding.nodes.size(), 1U);
  EXPECT_FALSE(sharding.nodes[0].is_in_main_graph);
  EXPECT_THAT(sharding.nodes[0].node, HasSubstr("y/"));
}

TEST(Sharding, IsWrittenBackByteForByte) {
  const Folder folder;
  const onnx::ModelProto proto =
      with_spec(spec("x", {-1, -2}, {sharded(0, 2)}, {group(-1, {0, 1}), group(-2, {2, 3})}));
  write_model(import_proto(proto), folder.file("out.onnx"));
  std::ostringstream written;
  written << std::ifstream(folder.file("out.onnx"), std::ios::binary).rdbuf();
  EXPECT_EQ(written.str(), proto.SerializeAsString());
}

}  // namespace
}  // namespace podium::importer
