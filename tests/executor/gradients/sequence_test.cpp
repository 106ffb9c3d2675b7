// Gradients through sequences and optionals, against central differences.
#include <gtest/gtest.h>

#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;
using testing::tensor;

const std::string kHead = "g (double[A] x, double[B] z) => (double[] y) { ";
const testing::Tensors kInputs{numbers({2}), numbers({3}, 1)};

void expect_gradients(const std::string& body) {
  expect_gradients_of_differences(kHead + body + " }", kInputs);
}

std::string position(const std::string& name, int value) {
  return name + " = Constant <value_int = " + std::to_string(value) + "> () ";
}

// Items 0 and 1 of a sequence s, in one number.
const std::string kBoth =
    position("at0", 0) + position("at1", 1) +
    "i0 = SequenceAt (s, at0) i1 = SequenceAt (s, at1) r0 = ReduceSum <keepdims = 0> (i0)"
    " e1 = Exp (i1) r1 = ReduceSum <keepdims = 0> (e1) y = Mul (r0, r1)";

TEST(GradientsOfSequences, OfItemsThatAreTaken) {
  expect_gradients("s = SequenceConstruct (x, z, x) " + kBoth);
  expect_gradients("s = SequenceConstruct (x, z, x) " + position("last", -1) +
                   "a = SequenceAt (s, last) y = Mul (a, x)");
}

TEST(GradientsOfSequences, OfItemsThatAreInserted) {
  for (const char* at : {", p", ""}) {
    for (const int place : {0, 1, -1}) {
      expect_gradients("t = SequenceConstruct (x, z) " + position("p", place) +
                       "q = Exp (x) s = SequenceInsert (t, q" + at + ") " + kBoth);
    }
  }
  expect_gradients("e = SequenceEmpty <dtype = 11> () t = SequenceInsert (e, z) s = SequenceInsert (t, x) " +
                   kBoth);
}

TEST(GradientsOfSequences, OfItemsThatAreErased) {
  for (const char* at : {", p", ""}) {
    for (const int place : {0, 1, -1}) {
      expect_gradients("q = Exp (x) t = SequenceConstruct (x, z, q) " + position("p", place) +
                       "s = SequenceErase (t" + at + ") " + kBoth);
    }
  }
}

TEST(GradientsOfSequences, OfPartsAndTheirJoin) {
  const std::string map = "m = SequenceMap <body = b (double[] i) => (double[] o) { o = Exp (i) }> (s) ";
  const std::string split =
      "k = Concat <axis = 0> (x, z) n = Constant <value_ints = [5, 1]> () w = Reshape (k, n) q = Concat <axis = 1> (w, w) ";
  for (const char* from : {"SplitToSequence <axis = 0> (q)", "SplitToSequence <axis = -2> (q, two)",
                           "SplitToSequence <axis = 0> (q, parts)"}) {
    expect_gradients(
        split + "two = Constant <value_int = 2> () parts = Constant <value_ints = [1, 3, 1]> () s = " + from +
        " " + map + "y = ConcatFromSequence <axis = -2> (m)");
    expect_gradients(
        split + "two = Constant <value_int = 2> () parts = Constant <value_ints = [1, 3, 1]> () s = " + from +
        " " + map + "y = ConcatFromSequence <axis = 0> (m)");
  }
  expect_gradients(split + "s = SplitToSequence <axis = 1, keepdims = 0> (q) " + map +
                   "y = ConcatFromSequence <axis = -1, new_axis = 1> (m)");
}

// Items of two sequences, a tensor that all share, and one that the body captures.
TEST(GradientsOfSequences, OfWhatABodyMakesOfItems) {
  expect_gradients(
      "u = Exp (x) c = ReduceSum <keepdims = 0> (z) f = SequenceConstruct (x, u) h = SequenceConstruct (u, x)"
      " s, t = SequenceMap <body = b (double[] i, double[] j, double k) => (double[] o, double[] p) {"
      " a = Mul (i, j) l = Mul (a, k) d = ReduceSum <keepdims = 0> (z) o = Mul (l, d) p = Sin (i) }> (f, h, c) " +
      kBoth.substr(0, kBoth.rfind("y = Mul")) +
      "v = Mul (r0, r1) w = ConcatFromSequence <axis = 0> (t) y = Mul (v, w)");
}

TEST(GradientsOfSequences, OfOneThatIsReadTwice) {
  expect_gradients(
      "s = SequenceConstruct (x, z) a = ConcatFromSequence <axis = 0> (s) b = Exp (a)"
      " c = ConcatFromSequence <axis = 0> (s) y = Mul (b, c)");
}

TEST(GradientsOfSequences, OfOneThatABranchReads) {
  for (const bool taken : {true, false}) {
    expect_gradients_of_differences(
        "g (bool c, double[A] x, double[B] z) => (double[] y) {"
        " q = Exp (x) s = SequenceConstruct (q, z) y = If (c) <then_branch = t () => (double[N] p) {"
        " p = ConcatFromSequence <axis = 0> (s) }, else_branch = e () => (double[M] o) {"
        " i = Constant <value_int = 1> () a = SequenceAt (s, i) o = Exp (a) }> }",
        {tensor<bool>({}, {taken}), numbers({2}), numbers({3}, 1)});
  }
}

TEST(GradientsOfOptionals, OfWhatTheyHold) {
  expect_gradients("o = Optional (x) a = OptionalGetElement (o) b = OptionalGetElement (o) y = Mul (a, b)");
  expect_gradients("a = OptionalGetElement (x) y = Mul (a, x)");
  expect_gradients(
      "s = SequenceConstruct (x, z) o = Optional (s) t = OptionalGetElement (o) y = ConcatFromSequence <axis = 0> (t)");
}

}  // namespace
}  // namespace podium
