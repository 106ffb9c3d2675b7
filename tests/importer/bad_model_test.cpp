// Models and files that cannot be read, each with the message that says why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importer/read_tensor.h"
#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

const std::string kRelu = "g (float[2] x) => (float[2] y) { y = Relu(x) }";
const std::string kAdd = "g (float[2] x) => (float[2] y) { y = Add(x, w) }";

onnx::ModelProto with_initializer() {
  onnx::ModelProto proto = proto_of(kAdd);
  auto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(1);
  tensor.add_dims(2);
  return proto;
}

TEST(BadFile, SaysWhatTheFileIs) {
  const Folder folder;
  const auto error = [&](const std::string& path) { return testing::refusal([&] { import_model(path); }); };
  EXPECT_EQ(error(folder.file("none.onnx")),
            folder.file("none.onnx") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error(folder.file("")), folder.file("") + ": is a directory, a file needed");
  EXPECT_THAT(error(folder.write("a.onnx", "")), HasSubstr("a.onnx: is empty, an ONNX model needed"));
  EXPECT_THAT(error(folder.write("b.onnx", "hello, I am text\n")),
              HasSubstr("is text, a binary ONNX model needed"));
  EXPECT_THAT(error(folder.write("c.onnx", std::string(100, '\xFF'))),
              HasSubstr("is no ONNX model: damaged"));
  EXPECT_THAT(error(folder.write("d.onnx", std::string("\x08\x08", 2))),
              HasSubstr("there is no graph in it"));
  const std::string whole = proto_of(kRelu).SerializeAsString();
  EXPECT_THAT(
      error(folder.write("e.onnx", whole.substr(0, whole.size() / 4))),
      MatchesRegex(".*e.onnx: is no ONNX model: field 7 has [0-9]+ bytes, [0-9]+ are left in the file"));
}

TEST(BadFile, TheSignatureIsRefusedInTheSameWords) {
  const Folder folder;
  const std::string path = folder.write("a.onnx", "");
  EXPECT_EQ(testing::refusal([&] { read_signature(path); }), path + ": is empty, an ONNX model needed");
}

TEST(BadFile, ATextFileOfTheRightEndingIsRead) {
  const Folder folder;
  EXPECT_EQ(import_model(folder.write("a.onnxtxt", testing::model_text(kRelu, 17))).graph.ops.size(), 1U);
}

TEST(BadFile, EveryTruncationIsRefusedOrRead) {
  const std::string whole = with_initializer().SerializeAsString();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(testing::refusal([&] { import_bytes(std::string_view(whole).substr(0, length)); }).find('\n'),
              std::string::npos);
  }
}

TEST(BadModel, NeedsAKnownIrVersionAndOpset) {
  onnx::ModelProto proto = proto_of(kRelu);
  proto.set_ir_version(2);
  EXPECT_EQ(error_of(proto), "IR version 2 found, 3 or newer needed");
  proto.set_ir_version(13);
  proto.mutable_opset_import(0)->set_version(0);
  EXPECT_EQ(error_of(proto), "opset version 0 of domain '' found, 1 or more needed");
  proto.mutable_opset_import(0)->set_version(1000);
  EXPECT_THAT(error_of(proto), HasSubstr("opset version 1000 of ai.onnx found"));
  proto.clear_opset_import();
  EXPECT_EQ(error_of(proto), "node 'y' (Relu): the model imports no version of domain 'ai.onnx'");
}

TEST(BadModel, NamesTheNearestOp) {
  EXPECT_THAT(error_of(proto_of("g (float[2] x) => (float[2] y) { y = Rellu(x) }")),
              AllOf(StartsWith("node 'y' (Rellu"), HasSubstr("there is no op 'Rellu'"), HasSubstr("'Relu'")));
}

TEST(BadModel, ReportsValuesThatAreMissingOrDouble) {
  EXPECT_EQ(error_of(proto_of(kAdd)),
            "node 'y' (Add): value 'w' is no input, no initializer and no output of a node");
  EXPECT_EQ(error_of(proto_of("g (float[2] x) => (float[2] z) { y = Relu(x) }")),
            "output 'z': value 'z' is no input, no initializer and no output of a node");
  EXPECT_EQ(error_of(proto_of("g (float[2] x) => (float[2] y) { y = Relu(x)\n y = Abs(x) }")),
            "node 'y' (Abs): value 'y' is defined twice");
  EXPECT_EQ(error_of(proto_of("g (float[2] x, float[2] x) => (float[2] y) { y = Abs(x) }")),
            "value 'x' is defined twice");
  onnx::ModelProto proto = with_initializer();
  proto.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string(8, '\0'));
  *proto.mutable_graph()->add_initializer() = proto.graph().initializer(0);
  EXPECT_EQ(error_of(proto), "initializer 'w' is there twice");
}

TEST(BadModel, AListOfInputsHasNoGap) {
  onnx::ModelProto proto = proto_of("g (float[2] x) => (float[2] y) { y = Min(x, x) }");
  proto.mutable_graph()->mutable_node(0)->set_input(0, "");
  EXPECT_EQ(error_of(proto), "node 'y' (Min): input 'data_0' is missing at place 0");
  proto.mutable_graph()->mutable_node(0)->set_input(1, "");
  EXPECT_EQ(error_of(proto), "node 'y' (Min): input 'data_0' is missing");
}

TEST(BadModel, NamesTheBodyOfABadNode) {
  EXPECT_EQ(error_of(proto_of("g (bool c, float[2] x) => (float[2] y) {"
                              " y = If(c) <then_branch = t () => (float[2] r) { r = Neg(nothing) },"
                              " else_branch = e () => (float[2] s) { s = Abs(x) }> }")),
            "node 'y' (If): then_branch: node 'r' (Neg): value 'nothing' is no input, no initializer and no "
            "output of a "
            "node");
}

TEST(BadModel, ANodeGivesSomething) {
  onnx::ModelProto proto = proto_of(kRelu, 9);
  proto.mutable_graph()->mutable_node(0)->clear_output();
  proto.mutable_graph()->mutable_node(0)->set_op_type("Softmax");
  EXPECT_EQ(error_of(proto), "node '' (Softmax): no output found, one or more needed");
}

TEST(BadModel, AnErrorIsOneLineWhateverTheNames) {
  onnx::ModelProto proto = proto_of(kRelu);
  proto.mutable_graph()->mutable_node(0)->set_input(0, "two\nlines");
  EXPECT_EQ(error_of(proto),
            "node 'y' (Relu): value 'two lines' is no input, no initializer and no output of a node");
}

TEST(BadModel, RefusesADoubleAttributeAndAReferenceOutsideAFunction) {
  onnx::ModelProto proto = proto_of("g (float[2] x) => (float[2] y) { y = LeakyRelu <alpha = 0.5> (x) }");
  auto& node = *proto.mutable_graph()->mutable_node(0);
  node.mutable_attribute(0)->set_ref_attr_name("slope");
  EXPECT_EQ(error_of(proto),
            "node 'y' (LeakyRelu): attribute 'alpha' refers to 'slope' of a function, and this is none");
  node.mutable_attribute(0)->clear_ref_attr_name();
  *node.add_attribute() = node.attribute(0);
  EXPECT_EQ(error_of(proto), "node 'y' (LeakyRelu): attribute 'alpha' is there twice");
}

TEST(BadTensor, ChecksTheLengthBeforeItTakesMemory) {
  onnx::ModelProto proto = with_initializer();
  auto& tensor = *proto.mutable_graph()->mutable_initializer(0);
  EXPECT_EQ(error_of(proto), "tensor 'w': 0 numbers of data found, 2 needed for float[2]");
  tensor.set_raw_data("123456");
  EXPECT_EQ(error_of(proto), "tensor 'w': 6 bytes of raw data found, 8 needed for float[2]");
  tensor.clear_raw_data();
  tensor.set_dims(0, std::int64_t{1} << 40);
  EXPECT_EQ(error_of(proto),
            "tensor 'w': 0 numbers of data found, 1099511627776 needed for float[1099511627776]");
  tensor.add_dims(std::int64_t{1} << 40);
  EXPECT_THAT(error_of(proto), HasSubstr("has more elements than 63 bits can count"));
  tensor.set_dims(1, -1);
  EXPECT_THAT(error_of(proto), HasSubstr("has a negative dimension"));
  tensor.set_dims(0, std::int64_t{1} << 60);
  tensor.set_dims(1, 4);
  EXPECT_THAT(error_of(proto), HasSubstr("does not fit memory"));
}

TEST(BadTensor, RefusesTypesAndFormsThatAreNone) {
  onnx::ModelProto proto = with_initializer();
  auto& tensor = *proto.mutable_graph()->mutable_initializer(0);
  tensor.set_data_type(99);
  EXPECT_EQ(error_of(proto), "tensor 'w': element type 99 is not one of ONNX's");
  tensor.set_data_type(8);
  EXPECT_EQ(error_of(proto), "tensor 'w': 0 strings found, 2 needed for [2]");
  tensor.set_data_type(1);
  tensor.mutable_segment()->set_end(1);
  EXPECT_EQ(error_of(proto), "tensor 'w': one segment of a tensor found, a whole tensor needed");
}

TEST(BadTensor, ASparseTensorMayNotBeEnormous) {
  onnx::ModelProto proto = proto_of(kAdd);
  auto& sparse = *proto.mutable_graph()->add_sparse_initializer();
  sparse.mutable_values()->set_name("w");
  sparse.mutable_values()->set_data_type(1);
  sparse.mutable_values()->add_dims(0);
  sparse.mutable_indices()->set_data_type(7);
  sparse.mutable_indices()->add_dims(0);
  sparse.add_dims(std::int64_t{1} << 40);
  EXPECT_THAT(error_of(proto),
              HasSubstr("sparse tensor float[1099511627776] is dense more than 1073741824 bytes"));
}

TEST(BadModel, MayNotNameOpsThatPodiumMakes) {
  onnx::ModelProto proto = proto_of(kRelu);
  proto.mutable_graph()->mutable_node(0)->set_domain("podium");
  auto& opset = *proto.add_opset_import();
  opset.set_domain("podium");
  opset.set_version(1);
  EXPECT_THAT(testing::refusal([&] { import_proto(proto); }), HasSubstr("for ops that no model has"));
}

TEST(BadModel, AResizeOfOldNeedsItsScales) {
  onnx::ModelProto proto = proto_of(kRelu);
  proto.mutable_graph()->mutable_node(0)->set_op_type("Resize");
  for (auto& opset : *proto.mutable_opset_import()) opset.set_version(10);
  EXPECT_THAT(testing::refusal([&] { import_proto(proto); }), HasSubstr("input 'scales' is left out"));
}

}  // namespace
}  // namespace podium::importer
