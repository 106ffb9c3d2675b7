#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

constexpr const char* kHead = "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]>\n";
constexpr const char* kFunctionHead = "<opset_import: [\"\" : 17], domain: \"local\">\n";

onnx::ModelProto with_functions(const std::string& graph, const std::vector<std::string>& functions) {
  std::string text = kHead + graph;
  for (const std::string& function : functions) text += "\n" + std::string(kFunctionHead) + function;
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  IR_CHECK(status.IsOK(), "{}", status.ErrorMessage());
  return proto;
}

std::string printed(const onnx::ModelProto& proto) { return print(import_proto(proto).graph); }

TEST(Function, IsInlinedWithNamesOfItsOwn) {
  const auto proto = with_functions("g (float[2] x) => (float[2] z) { y = local.f(x)\n z = local.f(y) }",
                                    {"f (a) => (b) { t = Neg(a)\n b = Abs(t) }"});
  EXPECT_EQ(printed(proto),
            "input x  # float[2]\ny/t = Neg(x)  # undefined\ny = Abs(y/t)  # undefined\n"
            "z/t = Neg(y)  # undefined\nz = Abs(z/t)  # undefined\noutput z\n");
}

TEST(Function, IsNotedWithWhatItsCallsNamesAre) {
  const auto proto =
      with_functions("g (float[2] x) => (float[2] z) { y = local.outer(x)\n z = local.inner(y) }",
                     {"outer (a) => (b) { t = Neg(a)\n b = local.inner(t) }",
                      "inner (p) => (q) { r = Abs(p)\n q = Exp(r) }"});
  std::string text;
  for (const FunctionCall& call : import_proto(proto).calls) {
    text += call.prefix;
    for (const auto& [formal, name] : call.names) text += " " + formal + "=" + name;
    text += "\n";
  }
  EXPECT_EQ(text, "y/b/ p=y/t q=y\ny/ a=x b=y\nz/ p=y q=z\n");
}

TEST(Function, CallsOthersAndPassesAttributesOn) {
  const auto proto =
      with_functions("g (float[2,3] x) => (float[3,2] y) { y = local.outer <order = [1, 0]> (x) }",
                     {"outer <order> (a) => (b) { b = local.inner <perm: ints = @order> (a) }",
                      "inner <perm> (a) => (b) { b = Transpose <perm: ints = @perm> (a) }"});
  EXPECT_EQ(printed(proto), "input x  # float[2,3]\ny = Transpose(x) {perm=[1,0]}  # undefined\noutput y\n");
}

TEST(Function, LeavesOutAnAttributeThatTheCallLeavesOut) {
  const auto proto = with_functions("g (float[2,3] x) => (float[3,2] y) { y = local.f (x) }",
                                    {"f <perm> (a) => (b) { b = Transpose <perm: ints = @perm> (a) }"});
  EXPECT_EQ(printed(proto), "input x  # float[2,3]\ny = Transpose(x)  # undefined\noutput y\n");
}

TEST(Function, HasDefaultsForAttributes) {
  auto proto = with_functions("g (float[2] x) => (float[2] y) { y = local.f (x) }",
                              {"f (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }"});
  onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_f(0.25F);
  constexpr int kAttributeProto = 11;
  auto& function = *proto.mutable_functions(0);
  function.GetReflection()->MutableUnknownFields(&function)->AddLengthDelimited(kAttributeProto,
                                                                                slope.SerializeAsString());
  EXPECT_EQ(printed(proto), "input x  # float[2]\ny = LeakyRelu(x) {alpha=0.25}  # undefined\noutput y\n");
}

TEST(Function, IsChosenByItsOverload) {
  auto proto = with_functions("g (float[2] x) => (float[2] y) { y = local.f (x) }",
                              {"f (a) => (b) { b = Neg(a) }", "f (a) => (b) { b = Abs(a) }"});
  EXPECT_EQ(error_of(proto), "function 'f' of domain 'local' is defined twice");
  const auto set_overload = [](auto& message, int number) {
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(number, "second");
  };
  set_overload(*proto.mutable_functions(1), 13);
  EXPECT_EQ(printed(proto), "input x  # float[2]\ny = Neg(x)  # undefined\noutput y\n");
  set_overload(*proto.mutable_graph()->mutable_node(0), 8);
  EXPECT_EQ(printed(proto), "input x  # float[2]\ny = Abs(x)  # undefined\noutput y\n");
}

TEST(Function, MayBeCalledWithoutOptionalInputsAndOutputs) {
  const auto proto = with_functions("g (float[2] x) => (float[2] y) { y = local.f (x) }",
                                    {"f (a, low) => (b, c) { b = Clip(a, low)\n c = Neg(a) }"});
  EXPECT_EQ(printed(proto),
            "input x  # float[2]\ny = Clip(x)  # undefined\ny/c = Neg(x)  # undefined\noutput y\n");
}

TEST(Function, MayGiveAnInputBack) {
  const auto proto =
      with_functions("g (float[2] x) => (float[2] y) { y = local.f (x) }", {"f (a) => (a) { b = Neg(a) }"});
  EXPECT_EQ(printed(proto),
            "input x  # float[2]\ny/b = Neg(x)  # undefined\ny = Identity(x)  # undefined\noutput y\n");
}

TEST(Function, WorksInsideBodiesAndHasBodies) {
  const auto proto = with_functions(
      "g (bool c, float[2] x) => (float[2] y) {"
      " y = If(c) <then_branch = t () => (float[2] r) { r = local.f(c, x) }, else_branch = e () => (float[2] "
      "s) { s = Abs(x) }> }",
      {"f (c, a) => (b) { n = Neg(a)\n b = If(c) <then_branch = t () => (float[2] r) { r = Abs(n) },"
       " else_branch = e () => (float[2] s) { s = Neg(n) }> }"});
  EXPECT_EQ(
      printed(proto),
      "input c  # bool[]\ninput x  # float[2]\ny = If(c, c, x) {then_branch=graph, else_branch=graph}  # "
      "undefined\n"
      "  then_branch:\n    input c  # undefined\n    input x  # undefined\n    r/n = Neg(x)  # undefined\n"
      "    r = If(c, r/n) {then_branch=graph, else_branch=graph}  # undefined\n"
      "      then_branch:\n        input r/n  # undefined\n        r = Abs(r/n)  # undefined\n        output "
      "r\n"
      "      else_branch:\n        input r/n  # undefined\n        s = Neg(r/n)  # undefined\n        output "
      "s\n"
      "    output r\n"
      "  else_branch:\n    input c:unused  # undefined\n    input x  # undefined\n    s = Abs(x)  # "
      "undefined\n    output s\n"
      "output y\n");
}

// The body is written in the main graph and runs inside a body of the function: what it reads comes through
// both.
TEST(Function, TakesABodyAsAnAttribute) {
  auto proto = with_functions(
      "g (bool c, float[2] x) => (float[2] y) { y = local.f <work = w () => (float[2] r) { r = Neg(x) }> (c) "
      "}",
      {"f <work> (c) => (b) { b = If(c) <then_branch = t () => (float[2] r) {"
       " r = If(c) <then_branch: graph = @work, else_branch: graph = @work> }, else_branch: graph = @work> "
       "}"});
  const std::string text = printed(proto);
  EXPECT_NE(text.find("y = If(c, x, c)"), std::string::npos) << text;
  EXPECT_NE(text.find("    r = If(c, x)"), std::string::npos) << text;
  EXPECT_NE(text.find("        r = Neg(x)"), std::string::npos) << text;
}

TEST(Function, PassesAnnotationsOfTheCallOn) {
  const auto proto = with_functions("g (float[2] x) => (float[2] y) { y = local.f <__ipu_number = 2> (x) }",
                                    {"f (a) => (b) { t = Neg(a)\n b = Abs <__ipu_number = 1> (t) }"});
  EXPECT_EQ(printed(proto),
            "input x  # float[2]\ny/t = Neg(x) {__ipu_number=2}  # undefined\n"
            "y = Abs(y/t) {__ipu_number=1}  # undefined\noutput y\n");
}

TEST(Function, DoesNotShadowAnOpOfOnnx) {
  auto proto =
      with_functions("g (float[2] x) => (float[2] y) { y = Relu(x) }", {"Relu (a) => (b) { b = Neg(a) }"});
  proto.mutable_functions(0)->set_domain("ai.onnx");
  EXPECT_EQ(printed(proto), "input x  # float[2]\ny = Relu(x)  # undefined\noutput y\n");
}

TEST(Function, UsesItsOwnOpsetImports) {
  auto proto = with_functions("g (float[2,3] x) => (float[3] y) { y = local.f(x) }",
                              {"f (a) => (b) { b = ReduceMax <axes = [0], keepdims = 0> (a) }"});
  proto.mutable_opset_import(0)->set_version(18);
  EXPECT_NE(printed(proto).find("y = ReduceMax(x, "), std::string::npos)
      << "axes are an input in the newest meaning";
}

TEST(Function, RefusesRecursion) {
  const auto proto = with_functions("g (float[2] x) => (float[2] y) { y = local.f(x) }",
                                    {"f (a) => (b) { b = local.h(a) }", "h (a) => (b) { b = local.f(a) }"});
  EXPECT_EQ(error_of(proto), "node 'y' (f): node 'y/b' (h): node 'y/b/b' (f): function 'f' calls itself");
}

TEST(Function, RefusesWhatGrowsWithoutBound) {
  std::vector<std::string> functions{"f0 (a) => (b) { b = Neg(a) }"};
  for (int i = 1; i < 40; ++i) {
    functions.push_back(
        fmt::format("f{} (a) => (b) {{ t = local.f{}(a)\n b = local.f{}(t) }}", i, i - 1, i - 1));
  }
  const auto proto = with_functions("g (float[2] x) => (float[2] y) { y = local.f39(x) }", functions);
  EXPECT_NE(error_of(proto).find("the model's functions stand for more than 250000 nodes"),
            std::string::npos);
}

TEST(Function, RefusesDeepNesting) {
  std::vector<std::string> functions{"f0 (a) => (b) { b = Neg(a) }"};
  for (int i = 1; i < 300; ++i)
    functions.push_back(fmt::format("f{} (a) => (b) {{ b = local.f{}(a) }}", i, i - 1));
  const auto proto = with_functions("g (float[2] x) => (float[2] y) { y = local.f299(x) }", functions);
  EXPECT_NE(error_of(proto), "");
}

TEST(Function, RefusesWhatACallCannotBe) {
  EXPECT_EQ(error_of(with_functions("g (float[2] x) => (float[2] y) { y = local.f(x, x) }",
                                    {"f (a) => (b) { b = Neg(a) }"})),
            "node 'y' (f): 2 inputs and 1 outputs found, at most 1 and 1 needed by function 'f'");
  EXPECT_EQ(error_of(with_functions("g (float[2] x) => (float[2] y) { y = local.f(x) }",
                                    {"f (a) => (b) { c = Neg(a) }"})),
            "node 'y' (f): value 'b' is no input, no initializer and no output of a node");
  EXPECT_EQ(error_of(with_functions("g (float[2] x) => (float[2] y) { y = local.f(x) }",
                                    {"f (a) => (b) { b = Neg(x) }"})),
            "node 'y' (f): node 'y/b' (Neg): value 'x' is no input, no initializer and no output of a node");
}

}  // namespace
}  // namespace podium::importer
