#include "executor/kernels/fused/vector_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "executor/kernels/fused/chain_code.h"
#include "executor/kernels/tools/convert.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_op.h"

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::Float16;
using ir::Tensor;

constexpr std::int64_t kCount = 1 << 16;

// Every half, infinities and what is no number among them.
Tensor all_halves() {
  Tensor halves(DataType::Float16, {kCount});
  for (std::int64_t i = 0; i < kCount; ++i)
    halves.data<Float16>()[i] = std::bit_cast<Float16>(static_cast<std::uint16_t>(i));
  return halves;
}

// From everywhere among the floats, a step that is no power of two apart.
Tensor many_floats() {
  constexpr std::uint32_t kStep = 65521;
  Tensor floats(DataType::Float, {kCount});
  for (std::int64_t i = 0; i < kCount; ++i)
    floats.data<float>()[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i) * kStep);
  return floats;
}

Tensor some_bools() {
  Tensor bools(DataType::Bool, {kCount});
  for (std::int64_t i = 0; i < kCount; ++i) bools.data<bool>()[i] = i % 7 < 3;
  return bools;
}

Tensor number(DataType type, float value) {
  Tensor made(type, {});
  type == DataType::Float ? void(made.data<float>()[0] = value)
                          : void(made.data<Float16>()[0] = Float16(value));
  return made;
}

template <class T>
void expect_same(const Tensor& found, const Tensor& expected, const Tensor& x) {
  int wrong = 0;
  for (std::int64_t i = 0; i < kCount - 1 && wrong < 3; ++i) {
    const T a = found.data<T>()[i];
    const T b = expected.data<T>()[i];
    const bool neither = std::isnan(static_cast<float>(a)) && std::isnan(static_cast<float>(b));
    if (neither || std::memcmp(&a, &b, sizeof(T)) == 0) continue;
    ++wrong;
    ADD_FAILURE() << "of " << as_float(x).data<float>()[i] << ": " << static_cast<float>(a)
                  << ", by its kernel " << static_cast<float>(b);
  }
}

// Holds the code for a graph of one op, whose first input is x, against the op's own kernel.
void expect_bits_of_kernel(const std::string& text, std::vector<Tensor> inputs) {
  SCOPED_TRACE(text);
  const ir::Graph graph = testing::graph_of(text);
  ir::IdMap<ir::ValueId, bool> in_pieces;
  for (const ir::Value& value : graph.values) in_pieces.push_back(value.type.rank() == 1);
  const auto code = ChainCode::of(graph, in_pieces);
  ASSERT_TRUE(code);
  const ir::Op& op = graph.ops[0];
  std::vector<Tensor> operands;
  for (ir::ValueId id : op.inputs) {
    const auto i = std::ranges::find(graph.inputs, id) - graph.inputs.begin();
    operands.push_back(id.valid() ? inputs[i] : Tensor());
  }
  const Tensor expected = testing::run_op(op.spec->name, operands, op.attributes);
  Tensor found(expected.type(), expected.dims());
  std::vector<void*> memory;
  for (Tensor& input : inputs) memory.push_back(const_cast<void*>(input.raw()));
  memory.push_back(found.raw());
  code->run(memory, kCount - 1);  // the last ones are no whole vector
  if (found.type() == DataType::Bool) return expect_same<bool>(found, expected, inputs[0]);
  found.type() == DataType::Float ? expect_same<float>(found, expected, inputs[0])
                                  : expect_same<Float16>(found, expected, inputs[0]);
}

class VectorOpsOf : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
#ifndef PODIUM_HAS_VECTOR_OPS
    GTEST_SKIP() << "this processor has no AVX2";
#endif
  }
};

// Of all ops that have code, with and without what they may leave out.
TEST_P(VectorOpsOf, HaveTheBitsOfTheirKernels) {
  const auto text_of = [](std::string_view type) {
    return fmt::format("g ({0}[65536] x, {0} k, {0} m, bool[65536] c) => (y) {{ y = {1} }}", type,
                       GetParam());
  };
  expect_bits_of_kernel(text_of("float"), {many_floats(), number(DataType::Float, -0.75F),
                                           number(DataType::Float, 1.3F), some_bools()});
  expect_bits_of_kernel(text_of("float16"), {all_halves(), number(DataType::Float16, -0.75F),
                                             number(DataType::Float16, 1.3F), some_bools()});
}

std::string name_of_case(const ::testing::TestParamInfo<const char*>& one) {
  const std::string text = one.param;
  return text.substr(0, text.find_first_of(" (")) + std::to_string(one.index);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, VectorOpsOf,
    ::testing::Values("Add(x, k)", "Sub(k, x)", "Mul(x, x)", "Div(m, x)", "Sqrt(x)", "Clip(x, k, m)",
                      "Clip(x, m, k)", "Clip(x, k)", "Clip(x, , m)", "Clip(x)", "Relu(x)",
                      "LeakyRelu <alpha = -0.3> (x)", "PRelu(x, k)", "HardSigmoid <alpha = 0.3> (x)",
                      "HardSwish(x)", "Sigmoid(x)", "Swish <alpha = 1.7> (x)", "Tanh(x)", "Erf(x)", "Gelu(x)",
                      "Gelu <approximate = \"tanh\"> (x)", "Sum(x)", "Sum(x, k)", "Sum(k, x, m, x)",
                      "Max(x, k)", "Max(k, x)", "Max(x)", "Min(x, k)", "Min(k, x)", "Neg(x)", "Abs(x)",
                      "Exp(x)", "Less(x, k)", "LessOrEqual(x, k)", "Greater(x, k)", "GreaterOrEqual(k, x)",
                      "Equal(x, k)", "Where(c, x, k)", "Where(c, m, x)", "And(c, c)", "Or(c, c)", "Not(c)"),
    name_of_case);

TEST(VectorOps, RoundToHalvesAsCastsDo) {
#ifndef PODIUM_HAS_VECTOR_OPS
  GTEST_SKIP() << "this processor has no AVX2";
#endif
  expect_bits_of_kernel("g (float[65536] x) => (float16[65536] y) { y = Cast <to = 10> (x) }",
                        {many_floats()});
  expect_bits_of_kernel("g (float16[65536] x) => (float[65536] y) { y = Cast <to = 1> (x) }", {all_halves()});
}

}  // namespace
}  // namespace podium::kernels
