#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/infer.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::run_text;
using testing::tensor;
using testing::values;
using Ints = std::vector<std::int64_t>;

ir::Tensor truth(bool value) { return ir::Tensor::scalar<bool>(value); }
ir::Tensor number(std::int64_t value) { return ir::Tensor::scalar<std::int64_t>(value); }

const char* const kBranches =
    "g (bool c, float[N] x) => (float[] y) { y = If (c) <then_branch = t () => (float[] a) { a = Neg (x) },"
    " else_branch = e () => (float[] b) { axes = Constant <value_ints = [0]> () b = ReduceSum (x, axes) }> }";

TEST(If, RunsOneBranchWhoseShapesDiffer) {
  const auto x = tensor<float>({2}, {1, 2});
  const auto taken = run_text(kBranches, {truth(true), x});
  EXPECT_EQ(taken[0].tensor.dims(), (ir::Dims{2}));
  EXPECT_EQ(values<float>(taken[0]), (std::vector<float>{-1, -2}));
  const auto other = run_text(kBranches, {truth(false), x});
  EXPECT_EQ(other[0].tensor.dims(), (ir::Dims{1}));
  EXPECT_EQ(values<float>(other[0]), (std::vector<float>{3}));
}

TEST(If, HandsOnWhatABranchOnlyReads) {
  const auto y = run_text(
      "g (bool c, float[2] x) => (float[2] y) { twice = Add (x, x) z = If (c) <then_branch = t () =>"
      " (float[2] a) { a = Identity (twice) }, else_branch = e () => (float[2] x) { }> y = Add (z, x) }",
      {truth(true), tensor<float>({2}, {1, 2})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{3, 6}));
}

TEST(If, DoesNotLookAtABranchThatCannotRun) {
  // Squeeze of a dimension of 2 would be refused.
  const auto y = run_text(
      "g (float[2] x) => (float[] y) { c = Constant <value = bool {1}> () y = If (c) <then_branch = t () =>"
      " (float[] a) { a = Neg (x) }, else_branch = e () => (float[] b) { axes = Constant <value_ints = [0]> ()"
      " b = Squeeze (x, axes) }> }",
      {tensor<float>({2}, {1, 2})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{-1, -2}));
}

// As in decoders that are exported with and without a cache in one model: a branch fits its own case alone.
TEST(If, FailsForABranchThatDoesNotFitOnlyWhereItRuns) {
  const std::string text =
      "g (bool c, float[2] x) => (float[N] y) { y = If (c) <then_branch = t () => (float[] a) {"
      " axes = Constant <value_ints = [0]> () s = Squeeze (x, axes) a = Neg (s) },"
      " else_branch = e () => (float[] b) { b = Neg (x) }> }";
  const auto x = tensor<float>({2}, {1, 2});
  EXPECT_EQ(values<float>(run_text(text, {truth(false), x})[0]), (std::vector<float>{-1, -2}));
  EXPECT_THAT(error_of(text, {truth(true), x}), ::testing::HasSubstr("then_branch: node 's' (Squeeze): "));
}

// Whether it runs or not, and in a body that may never run.
TEST(Bodies, TakeAndGiveWhatTheirOpHas) {
  const auto inside = [](const std::string& op) {
    return error_of(
        "g (bool c, int64 m, float[2] x) => (float[] y) { y = If (c) <then_branch = t () => (float[] a) { " +
            op + " }, else_branch = e () => (float[] b) { b = Neg (x) }> }",
        {truth(false), number(1), tensor<float>({2}, {1, 2})});
  };
  EXPECT_THAT(
      inside("a = Loop (m, c, x) <body = l (int64 i) => (bool o) { o = Constant <value_int = 1> () }>"),
      HasSubstr("body takes 1 inputs, 3 needed"));
  EXPECT_THAT(
      inside("a = Loop (m, c, x) <body = l (int64 i, bool d, float[2] v) => (bool o) { o = Identity (d) }>"),
      HasSubstr("body gives 1 outputs, 2 needed"));
  EXPECT_THAT(
      inside("a = Scan (x, x) <num_scan_inputs = 9, body = s (float v) => (float w) { w = Neg (v) }>"),
      HasSubstr("body takes 1 inputs, 2 needed"));
  EXPECT_THAT(
      inside(
          "a = If (c) <then_branch = i (float v) => (float w) { w = Neg (v) }, else_branch = j () => (float[2] "
          "w) { w = Neg (x) }>"),
      HasSubstr("then_branch takes 1 inputs, 0 needed"));
}

TEST(If, RefusesBranchesOfDifferentTypes) {
  EXPECT_THAT(
      error_of(
          "g (bool c, float[2] x) => (float[] y) { y = If (c) <then_branch = t () => (float[] a) { a = Neg (x) },"
          " else_branch = e () => (int64[] b) { b = Shape (x) }> }",
          {truth(true), tensor<float>({2}, {1, 2})}),
      ::testing::HasSubstr("output 0 of the branches is float[2] and int64[1]"));
}

TEST(If, RefusesAConditionOfSeveralElements) {
  EXPECT_THAT(
      error_of(
          "g (bool[M] c, float[N] x) => (float[] y) { y = If (c) <then_branch = t () => (float[] a) { a = Neg (x) },"
          " else_branch = e () => (float[] b) { b = Abs (x) }> }",
          {tensor<bool>({2}, {true, false}), tensor<float>({2}, {1, 2})}),
      ::testing::HasSubstr("one bool needed"));
}

TEST(Bodies, SayWhereTheyFail) {
  const std::string text =
      "g (bool c, float[2] x, int64[1] i) => (float[] y) { y = If (c) <then_branch = t () => (float[] a) { a = Gather (x, i) },"
      " else_branch = e () => (float[] b) { b = Neg (x) }> }";
  EXPECT_THAT(error_of(text, {truth(true), tensor<float>({2}, {1, 2}), tensor<std::int64_t>({1}, {7})}),
              ::testing::StartsWith("node 'y' (If): then_branch: node 'a' (Gather): "));
}

TEST(Bodies, SayWhereTheyCannotBeInferred) {
  EXPECT_THAT(
      error_of(
          "g (bool c, float[2] x, float[3] z) => (float[] y) { y = If (c) <then_branch = t () => (float[] a)"
          " { a = Add (x, z) }, else_branch = e () => (float[] b) { b = Neg (x) }> }",
          {truth(true), tensor<float>({2}, {1, 2}), tensor<float>({3}, {1, 2, 3})}),
      ::testing::StartsWith("node 'y' (If): then_branch: node 'a' (Add): "));
}

// Counts in `v` and gives the squares of the counts.
const char* const kLoop =
    "g (int64 most, bool start, int64 v) => (int64 last, int64[] squares) { last, squares = Loop (most, start, v) <body = b"
    " (int64 i, bool c, int64 v_in) => (bool goes_on, int64 v_out, int64 square) { v_out = Add (v_in, one) square = Mul (i, i)"
    " goes_on = Less (v_out, limit) }> }";

std::string loop_text(const std::string& outer) {
  std::string text = kLoop;
  text.insert(text.find('{') + 1, " one = Constant <value_int = 1> () limit = Constant <value_int = 4> () ");
  if (!outer.empty()) text.replace(text.find("(most, start, v)"), 16, outer);
  return text;
}

TEST(Loop, OfNoTripsMayHaveABodyThatDoesNotFit) {
  const std::string text =
      "g (int64 n, float[2] x, float[3] z) => (float[2] y) { y = Loop (n, , x) <body = b (int64 i, bool go,"
      " float[2] s) => (bool on, float[2] t) { on = Identity (go) t = Add (s, z) }> }";
  const auto x = tensor<float>({2}, {1, 2});
  const auto z = tensor<float>({3}, {1, 2, 3});
  EXPECT_EQ(values<float>(run_text(text, {number(0), x, z})[0]), (std::vector<float>{1, 2}));
  EXPECT_THAT(error_of(text, {number(1), x, z}), ::testing::HasSubstr("body: node 't' (Add): "));
}

TEST(Loop, OfNoTripsRefusesAScanOutputWhoseTypeNobodyKnows) {
  EXPECT_THAT(
      error_of(
          "g (int64 n, bool c, float[2] x) => (y, z) { y, z = Loop <body = b (int64 i, bool k, float[2] s) =>"
          " (bool d, float[2] t, u) { d = Identity (k) t = Identity (s) a = Constant <value_ints = [7]> ()"
          " u = Unsqueeze (s, a) }> (n, c, x) }",
          {number(0), truth(true), tensor<float>({2}, {1, 2})}),
      HasSubstr("no iteration gave a scan output"));
}

TEST(Loop, StopsWhenTheBodySaysSo) {
  const auto y = run_text(loop_text(""), {number(100), truth(true), number(0)});
  EXPECT_EQ(values<std::int64_t>(y[0]), (Ints{4}));
  EXPECT_EQ(values<std::int64_t>(y[1]), (Ints{0, 1, 4, 9}));
}

TEST(Loop, RefusesABodyThatGivesNoCondition) {
  EXPECT_THAT(
      error_of("g (int64 m, float[2] x) => (float[2] y) { y = Loop (m, , x) <body = b (int64 i, bool on,"
               " float[2] v) => (int64 i, float[2] w) { w = Neg (v) }> }",
               {number(3), tensor<float>({2}, {1, 2})}),
      HasSubstr("body gives its condition as int64[], one bool needed"));
}

TEST(Loop, StopsAfterTheMostTrips) {
  const auto y = run_text(loop_text(""), {number(2), truth(true), number(0)});
  EXPECT_EQ(values<std::int64_t>(y[0]), (Ints{2}));
  EXPECT_EQ(values<std::int64_t>(y[1]), (Ints{0, 1}));
}

TEST(Loop, GivesBackWhatItWasGivenWhenItNeverRuns) {
  for (const auto& [most, start] : {std::pair{5, false}, std::pair{0, true}, std::pair{-3, true}}) {
    const auto y = run_text(loop_text(""), {number(most), truth(start), number(7)});
    EXPECT_EQ(values<std::int64_t>(y[0]), (Ints{7}));
    EXPECT_EQ(y[1].tensor.dims(), (ir::Dims{0}));
  }
}

TEST(Loop, CarriesAValueThatGrows) {
  const auto y = run_text(
      "g (int64 most, float[1] v) => (float[] last, float[] sums) { yes = Constant <value = bool {1}> ()"
      " axes = Constant <value_ints = [0]> () last, sums = Loop (most, yes, v) <body = b (int64 i, bool c,"
      " float[] v_in) => (bool c, float[] v_out, float[] sum) { v_out = Concat <axis = 0> (v_in, v_in)"
      " sum = ReduceSum <keepdims = 0> (v_out, axes) }> }",
      {number(3), tensor<float>({1}, {1})});
  EXPECT_EQ(y[0].tensor.dims(), (ir::Dims{8}));
  EXPECT_EQ(values<float>(y[1]), (std::vector<float>{2, 4, 8}));
}

TEST(Loop, RefusesScanOutputsThatChangeShape) {
  EXPECT_THAT(
      error_of(
          "g (int64 most, float[1] v) => (float[] last, float[] all) { yes = Constant <value = bool {1}> ()"
          " last, all = Loop (most, yes, v) <body = b (int64 i, bool c, float[] v_in) => (bool c, float[] v_out,"
          " float[] row) { v_out = Concat <axis = 0> (v_in, v_in) row = Neg (v_out) }> }",
          {number(2), tensor<float>({1}, {1})}),
      ::testing::HasSubstr("scan output 1 has shape [4] in iteration 1, [2] needed"));
}

TEST(Loop, KeepsEachIterationsRow) {
  // The rows are the carried value itself, the iteration number and an outer value.
  const auto y = run_text(
      "g (int64 most, float[2] v, float[1] o) => (float[2] l, float[] a, int64[] b, float[] c)"
      " { yes = Constant <value = bool {1}> () l, a, b, c = Loop (most, yes, v) <body = b (int64 i, bool c,"
      " float[2] v_in) => (bool c, float[2] w, float[2] v_in, int64 i, float[1] o) { w = Add (v_in, o) }> }",
      {number(3), tensor<float>({2}, {1, 2}), tensor<float>({1}, {10})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{31, 32}));
  EXPECT_EQ(values<float>(y[1]), (std::vector<float>{1, 2, 11, 12, 21, 22}));
  EXPECT_EQ(values<std::int64_t>(y[2]), (Ints{0, 1, 2}));
  EXPECT_EQ(values<float>(y[3]), (std::vector<float>{10, 10, 10}));
}

TEST(Loop, RunsInsideALoop) {
  const auto y = run_text(
      "g (int64 most, int64 v) => (int64 y) { yes = Constant <value = bool {1}> () y = Loop (most, yes, v) <body"
      " = b (int64 i, bool c, int64 s) => (bool c, int64 t) { t = Loop (i, yes, s) <body = d (int64 j, bool e,"
      " int64 p) => (bool e, int64 q) { q = Add (p, most) }> }> }",
      {number(4), number(0)});
  EXPECT_EQ(values<std::int64_t>(y[0]), (Ints{(0 + 1 + 2 + 3) * 4}));
}

TEST(Loop, NeedsNeitherLimitNorCondition) {
  // Both left out: only the body can stop it. ONNX text has no way to leave an input out.
  ir::Graph body;
  ir::Builder inner(body);
  inner.input("i", ir::Type::tensor(ir::DataType::Int64, {}));
  inner.input("c", ir::Type::tensor(ir::DataType::Bool, {}));
  const ir::ValueId v = inner.input("v", ir::Type::tensor(ir::DataType::Int64, {}));
  const ir::ValueId next = inner.op("Add", {v, inner.constant(number(5))});
  inner.output(inner.op("Less", {next, inner.constant(number(12))}));
  inner.output(next);
  ir::Graph graph;
  ir::Builder outer(graph);
  const ir::ValueId start = outer.input("v", ir::Type::tensor(ir::DataType::Int64, {}));
  ir::Op loop{.spec = ir::find_op("", "Loop"), .name = "loop"};
  loop.inputs = {ir::kNoValue, ir::kNoValue, start};
  loop.outputs = {graph.add_value("y")};
  loop.attributes = {{"body", std::make_shared<const ir::Graph>(std::move(body))}};
  graph.outputs = {loop.outputs[0]};
  graph.ops.push_back(std::move(loop));
  EXPECT_EQ(values<std::int64_t>(testing::run_graph(std::move(graph), {number(0)})[0]), (Ints{15}));
}

TEST(Loop, InfersTheRowsOfAKnownNumberOfTrips) {
  const auto y = run_text(
      "g (float[2] v) => (float[2] l, int64[] s) { most = Constant <value_int = 3> () yes = Constant <value = bool {1}>"
      " () l, rows = Loop (most, yes, v) <body = b (int64 i, bool c, float[2] v_in) => (bool c, float[2] w,"
      " float[2] row) { w = Neg (v_in) row = Abs (w) }> s = Shape (rows) }",
      {tensor<float>({2}, {1, 2})});
  EXPECT_EQ(values<std::int64_t>(y[1]), (Ints{3, 2}));
}

// Runs sums of the columns or rows of x, forwards or backwards.
std::string scan(const std::string& attributes) {
  return "g (float[2] s, float[A,B] x) => (float[2] last, float[] sums) { last, sums = Scan (s, x) <num_scan_inputs = 1" +
         attributes +
         ", body = b (float[2] t, float[2] n) => (float[2] u, float[2] row) { u = Add (t, n) row = Identity (u) }> }";
}

TEST(Scan, GoesAlongTheFirstAxisByDefault) {
  const auto y = run_text(scan(""), {tensor<float>({2}, {0, 0}), tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{9, 12}));
  EXPECT_EQ(values<float>(y[1]), (std::vector<float>{1, 2, 4, 6, 9, 12}));
}

TEST(Scan, GoesAlongOtherAxesAndBackwards) {
  const auto y =
      run_text(scan(", scan_input_axes = [-1], scan_input_directions = [1], scan_output_axes = [-1],"
                    " scan_output_directions = [1]"),
               {tensor<float>({2}, {0, 0}), tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(y[1].tensor.dims(), (ir::Dims{2, 3}));
  EXPECT_EQ(values<float>(y[1]), (std::vector<float>{6, 5, 3, 15, 11, 6}));
}

TEST(Scan, OfNothingGivesItsStateAndNoRows) {
  const auto y = run_text(scan(""), {tensor<float>({2}, {3, 4}), tensor<float>({0, 2}, {})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(y[1].tensor.dims(), (ir::Dims{0, 2}));
}

TEST(Scan, RefusesInputsOfDifferentLengths) {
  EXPECT_THAT(
      error_of(
          "g (float[3] a, float[4] b) => (float[] y) { y = Scan (a, b) <num_scan_inputs = 2, body = d (float p, float q) =>"
          " (float r) { r = Add (p, q) }> }",
          {tensor<float>({3}, {1, 2, 3}), tensor<float>({4}, {1, 2, 3, 4})}),
      ::testing::HasSubstr("scan input 1 has 4 entries, 3 needed"));
}

TEST(Scan, CarriesText) {
  const auto y = run_text(
      "g (string[2] x) => (string[] y) { y = Scan (x) <num_scan_inputs = 1, scan_output_directions = [1], body = d"
      " (string p) => (string q) { q = Identity (p) }> }",
      {tensor<std::string>({2}, {"a", "b"})});
  EXPECT_EQ(values<std::string>(y[0]), (std::vector<std::string>{"b", "a"}));
}

// ONNX text has no sequence types: sequences are made and taken apart inside.
TEST(SequenceMap, PairsSequencesAndHandsTensorsToEach) {
  const auto y = run_text(
      "g (float[2] a, float[1] b, float[1] t) => (float[] first, float[] second, int64[] shape)"
      " { s = SequenceConstruct (a, b) u, v = SequenceMap (s, s, t) <body = m (float[] p, float[] q, float[1] r) =>"
      " (float[] z, int64[] w) { sum = Add (p, q) z = Mul (sum, r) w = Shape (p) }>"
      " zero = Constant <value_int = 0> () one = Constant <value_int = 1> () first = SequenceAt (u, zero)"
      " second = SequenceAt (u, one) shape = SequenceAt (v, zero) }",
      {tensor<float>({2}, {1, 2}), tensor<float>({1}, {3}), tensor<float>({1}, {10})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{20, 40}));
  EXPECT_EQ(values<float>(y[1]), (std::vector<float>{60}));
  EXPECT_EQ(values<std::int64_t>(y[2]), (Ints{2}));
}

TEST(SequenceMap, RefusesSequencesOfDifferentLengths) {
  EXPECT_THAT(
      error_of(
          "g (float[2] a) => (float[] y) { s = SequenceConstruct (a, a) t = SequenceConstruct (a) z = SequenceMap (s, t)"
          " <body = m (float[] p, float[] q) => (float[] r) { r = Add (p, q) }> zero = Constant <value_int = 0> ()"
          " y = SequenceAt (z, zero) }",
          {tensor<float>({2}, {1, 2})}),
      ::testing::HasSubstr("input 1 has 1 items, 2 needed"));
}

TEST(Loop, CarriesASequence) {
  const auto y = run_text(
      "g (int64 most, float[2] x) => (float[] all) { yes = Constant <value = bool {1}> () s = SequenceConstruct (x)"
      " l = Loop (most, yes, s) <body = b (int64 i, bool c, float[] v_in) => (bool c, float[] v_out)"
      " { more = Add (x, x) v_out = SequenceInsert (v_in, more) }>"
      " all = ConcatFromSequence <axis = 0> (l) }",
      {number(2), tensor<float>({2}, {5, 6})});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{5, 6, 10, 12, 10, 12}));
}

// Neither a condition nor values that it carries: what the body captures comes behind both.
TEST(Loop, MayHaveNothingButACount) {
  const std::vector<ir::Datum> results = testing::run_text(
      R"(g (float[2] x) => (float[3,2] ys) <int64 n = {3}> {
        ys = Loop(n, ) <body = b (int64 i, bool c) => (bool d, float[2] y) { d = Identity(c)  y = Neg(x) }>
      })",
      {testing::list<float>({1, -2})});
  EXPECT_TRUE(identical(results[0].tensor, testing::tensor<float>({3, 2}, {-1, 2, -1, 2, -1, 2})));
}

}  // namespace
}  // namespace podium::kernels
