#include "executor/numeric/fuse_elementwise.h"

#include "executor/kernels/fused/chain_code.h"
#include "executor/numeric/prepared_block.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::Datum;
using ir::Dims;
using ir::ValueId;
using testing::ops_of;
using testing::Sketch;

// Not a multiple of a piece.
const Dims kLarge{150, 201};

// A mean of gradients, and the weight that steps against its direction.
Sketch update() {
  Sketch s;
  const ValueId gradient = s.op("Mul", {s.input(kLarge), s.number(0.5F)});
  const ValueId rate = s.op("Sqrt", {s.number(0.01F)});
  const ValueId kept = s.op("Mul", {s.input(kLarge), s.number(0.9F)});
  const ValueId mean = s.op("Add", {kept, s.op("Mul", {gradient, s.number(0.1F)})});
  s.output(mean);
  const ValueId size = s.op("Sqrt", {s.op("Mul", {mean, mean})});
  const ValueId large = s.op("Greater", {size, s.number(0.3F)});
  const ValueId step = s.op("Where", {large, s.op("Div", {mean, s.op("Add", {size, rate})}), mean});
  s.output(s.op("Sub", {s.input(kLarge), s.op("Mul", {rate, step})}));
  return s;
}

TEST(FuseElementwise, GoesOverTheMemoryOfAnUpdateOnce) {
  Sketch s = update();
  EXPECT_TRUE(fuse_elementwise(s.graph));
  ASSERT_EQ(s.graph.ops.size(), 2U) << ops_of(s.graph);
  EXPECT_TRUE(s.graph.ops[0].is("Sqrt"));
  const ir::Op& chain = s.graph.ops[1];
  EXPECT_TRUE(chain.is("Chain", "podium"));
  EXPECT_EQ(chain.outputs, s.graph.outputs);
  EXPECT_EQ(ir::attribute<ir::Body>(chain, "body")->ops.size(), 12U);
}

// Loops stand for all of its ops, with numbers on either side.
Sketch arithmetic() {
  Sketch s;
  const ValueId x = s.input(kLarge);
  const ValueId y = s.input(kLarge);
  const ValueId ratio = s.op("Div", {s.op("Sub", {s.number(2.0F), x}), y});
  const ValueId inverse = s.op("Div", {s.number(0.5F), ratio});
  const ValueId shifted = s.op("Sub", {inverse, s.number(0.25F)});
  s.output(shifted);
  const ValueId size = s.op("Sqrt", {s.op("Mul", {shifted, shifted})});
  const ValueId scaled = s.op("Mul", {s.number(0.7F), s.op("Div", {size, s.number(3.0F)})});
  const ValueId moved = s.op("Add", {s.op("Add", {s.number(0.1F), scaled}), s.number(0.2F)});
  s.output(s.op("Sub", {s.op("Add", {moved, s.input(kLarge)}), y}));
  return s;
}

TEST(FuseElementwise, MakesOneChainOfPlainArithmetic) {
  Sketch s = arithmetic();
  EXPECT_TRUE(fuse_elementwise(s.graph));
  EXPECT_EQ(s.graph.ops.size(), 1U) << ops_of(s.graph);
}

void expect_no_bit_changes(const Sketch& s) {
  std::vector<Datum> inputs;
  std::vector<const Datum*> pointers;
  for (ValueId id : s.graph.inputs)
    inputs.emplace_back(testing::random_floats(s.graph[id].type.dims, static_cast<int>(inputs.size())));
  for (const Datum& input : inputs) pointers.push_back(&input);
  PreparedBlock plain(s.graph, {.threads = 1, .fuse = false});
  const auto expected = plain.run(pointers);
  for (const int threads : {1, 3}) {
    PreparedBlock fused(s.graph, {.threads = threads});
    const auto found = fused.run(pointers);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(identical(found[i]->tensor, expected[i]->tensor)) << i << " with " << threads;
  }
}

TEST(FuseElementwise, ChangesNoBitWithAnyNumberOfThreads) {
  expect_no_bit_changes(update());
  expect_no_bit_changes(arithmetic());
}

// Both in one chain: x becomes -x, and -x * x is made after it.
TEST(FuseElementwise, KeepsWhatIsReadAfterItsReplacementIsMade) {
  Sketch s;
  const ValueId x = s.input(kLarge);
  const ValueId next = s.op("Neg", {x});
  s.output(next);
  s.output(s.op("Mul", {next, x}));
  PreparedBlock block(s.graph, {}, {}, {{.input = 0, .output = 0}});
  Datum given(testing::random_floats(kLarge, 1));
  const float number = given.tensor.data<float>()[0];
  const Datum* pointer = &given;
  given = *block.run({&pointer, 1})[0];
  EXPECT_EQ(block.run({&pointer, 1})[1]->tensor.data<float>()[0], -number * number);
}

TEST(FuseElementwise, StopsAtWhatReadsAMember) {
  Sketch s;
  const ValueId squares = s.op("Mul", {s.op("Neg", {s.input(kLarge)}), s.input(kLarge)});
  const ValueId length = s.op("Sqrt", {s.op("ReduceSumSquare", {squares})});
  s.output(s.op("Relu", {s.op("Div", {squares, length})}));
  testing::expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_elementwise(s.graph));
  ASSERT_EQ(s.graph.ops.size(), 4U) << ops_of(s.graph);
  EXPECT_TRUE(s.graph.ops[0].is("Chain", "podium"));
  EXPECT_TRUE(s.graph.ops[3].is("Chain", "podium"));
}

TEST(FuseElementwise, KeepsWhatHasNothingInCommonApart) {
  Sketch s;
  const ValueId a = s.op("Neg", {s.input(kLarge)});
  const ValueId b = s.op("Neg", {s.input(kLarge)});
  const ValueId c = s.op("Relu", {a});
  s.output(s.op("Abs", {b}));
  s.output(c);
  testing::expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_elementwise(s.graph));
  ASSERT_EQ(s.graph.ops.size(), 2U) << ops_of(s.graph);
}

TEST(FuseElementwise, LeavesSmallOperandsAlone) {
  Sketch s;
  s.output(s.op("Relu", {s.op("Neg", {s.input({64})})}));
  EXPECT_FALSE(fuse_elementwise(s.graph));
}

bool has_code() {
  const Sketch s = arithmetic();
  return kernels::ChainCode::knows(ir::TypedOp(s.graph, s.graph.ops[0]));
}

// Factors of columns, of rows, and of both.
Sketch stretched(ir::DataType type) {
  Sketch s;
  const auto given = [&](const Dims& dims) { return s.cast(s.input(dims), type); };
  const ValueId columns = given({201});
  const ValueId rows = given({2, 75, 1});
  const ValueId blocks = given({2, 1, 201});
  const ValueId scaled = s.op("Mul", {given({2, 75, 201}), columns});
  const ValueId shifted = s.op("Relu", {s.op("Sub", {rows, scaled})});
  s.output(s.cast(s.op("Add", {s.op("Sigmoid", {shifted}), blocks}), ir::DataType::Float));
  s.output(s.cast(shifted, ir::DataType::Float));
  return s;
}

TEST(FuseElementwise, GoesRowByRowWhereOperandsAreStretched) {
  if (!has_code()) GTEST_SKIP() << "this processor has no AVX2";
  for (const ir::DataType type : {ir::DataType::Float, ir::DataType::Float16}) {
    Sketch s = stretched(type);
    expect_no_bit_changes(s);
    EXPECT_TRUE(fuse_elementwise(s.graph));
    EXPECT_EQ(s.graph.ops.size(), 4U) << ops_of(s.graph);  // casts of what is stretched, and a chain
    EXPECT_TRUE(s.graph.ops.back().is("Chain", "podium")) << ops_of(s.graph);
  }
}

TEST(FuseElementwise, LeavesStretchedOperandsAloneWhereThereIsNoCodeOrRowsAreShort) {
  Sketch of_no_code;
  of_no_code.output(
      of_no_code.op("Add", {of_no_code.op("Sin", {of_no_code.input(kLarge)}), of_no_code.weight({201})}));
  expect_no_bit_changes(of_no_code);
  EXPECT_FALSE(fuse_elementwise(of_no_code.graph));
  Sketch of_short_rows;
  const ValueId x = of_short_rows.op("Mul", {of_short_rows.input({2000, 20}), of_short_rows.weight({20})});
  of_short_rows.output(of_short_rows.op("Relu", {x}));
  EXPECT_FALSE(fuse_elementwise(of_short_rows.graph));
}

TEST(FuseElementwise, GoesRowByRowWithThreeStretchedOperandsAtATime) {
  if (!has_code()) GTEST_SKIP() << "this processor has no AVX2";
  Sketch s;
  ValueId y = s.input(kLarge);
  for (int i = 0; i < 5; ++i) y = s.op("Add", {y, s.weight({201})});
  s.output(y);
  expect_no_bit_changes(s);
  EXPECT_TRUE(fuse_elementwise(s.graph));
  EXPECT_EQ(s.graph.ops.size(), 2U) << ops_of(s.graph);
}

}  // namespace
}  // namespace podium::numeric
