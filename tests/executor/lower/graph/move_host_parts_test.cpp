#include "executor/lower/graph/move_host_parts.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"

namespace podium::lower {
namespace {

// The ops and outputs, and what the host knows the parts as.
std::string moved(const std::string& text, const Strategy& strategy = {}) {
  PlacedGraph placed = testing::placed_graph({.graph = testing::graph_of(text)});
  move_host_parts(placed, strategy);
  std::string lines = testing::ops_of(placed);
  const ir::Graph& graph = placed.graph();
  for (const auto& [id, part] : placed.host_parts)
    lines += fmt::format("{} is {}{}\n", graph[id].name, graph[part.whole].name,
                         to_string(part.box, graph[part.whole].type.dims));
  return lines;
}

std::string unmoved(const std::string& text) {
  return testing::ops_of(testing::placed_graph({.graph = testing::graph_of(text)}));
}

TEST(MoveHostParts, EachProcessorLoadsItsPartAndStoresWhatItHasMade) {
  EXPECT_EQ(
      moved(R"(g (float[4] x) => (float[4] y) <int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}> {
    a = Slice (x, zero, two)
    p = Relu (a)
    b = Slice <__ipu_number = 1> (x, two, four)
    q = Relu <__ipu_number = 1> (b)
    y = Concat <axis = 0> (p, q)
  })"),
      "p = Relu(a)  # float[2]\n"
      "q = Relu(b)  # float[2]  @ ipu 1\n"
      "output p, q\n"
      "a is x[0:2]\n"
      "p is y[0:2]\n"
      "b is x[2:4]\n"
      "q is y[2:4]\n");
}

// Stripes of rows, and of these some columns.
TEST(MoveHostParts, FollowsAnInputThroughSeveralCuts) {
  EXPECT_EQ(moved(R"(g (float[4,6] x) => (float[2,3] p, float[2,6] q)
                     <int64[2] outer = {0, -1}, int64[2] inner = {1, 2}, int64[1] three = {3}, int64[1] six = {6},
                      int64[1] one = {1}> {
    rows = Gather (x, outer)
    a = Slice (rows, three, six, one)
    p = Relu (a)
    b = Gather <__ipu_number = 1, axis = 0> (x, inner)
    q = Relu <__ipu_number = 1> (b)
  })"),
            "p = Relu(a)  # float[2,3]\n"
            "q = Relu(b)  # float[2,6]  @ ipu 1\n"
            "output p, q\n"
            "a is x[0:1+3:4, 3:6]\n"
            "b is x[1:3, :]\n");
}

TEST(MoveHostParts, TheSameBoxIsOnePartForAll) {
  EXPECT_EQ(moved(R"(g (float[4] x) => (float[2] p, float[2] q) <int64[1] zero = {0}, int64[1] two = {2}> {
    a = Slice (x, zero, two)
    p = Relu (a)
    b = Slice <__ipu_number = 1> (x, zero, two)
    q = Neg <__ipu_number = 1> (b)
  })"),
            "p = Relu(a)  # float[2]\n"
            "q = Neg(a)  # float[2]  @ ipu 1\n"
            "output p, q\n"
            "a is x[0:2]\n");
}

TEST(MoveHostParts, WhoReadsAllOfAnInputOrSeveralBoxesGetsAllOfIt) {
  EXPECT_EQ(moved(R"(g (float[4] x) => (float[4] p, float[2] q) <int64[1] two = {2}, int64[1] four = {4}> {
    p = Relu (x)
    b = Slice <__ipu_number = 1> (x, two, four)
    q = Relu <__ipu_number = 1> (b)
  })"),
            "p = Relu(x)  # float[4]\n"
            "q = Relu(b)  # float[2]  @ ipu 1\n"
            "output p, q\n"
            "b is x[2:4]\n");
  const std::string two_boxes = R"(g (float[4] x) => (float[4] p, float[2] q)
                                   <int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}> {
    p = Relu (x)
    a = Slice <__ipu_number = 1> (x, zero, two)
    b = Slice <__ipu_number = 1> (x, two, four)
    q = Add <__ipu_number = 1> (a, b)
  })";
  EXPECT_EQ(moved(two_boxes), unmoved(two_boxes));
}

TEST(MoveHostParts, OneProcessorGetsAndGivesAllInOne) {
  const std::string text = R"(g (float[4] x) => (float[4] y) <int64[1] zero = {0}, int64[1] two = {2}> {
    a = Slice (x, zero, two)
    p = Relu (a)
    y = Concat <axis = 0> (p, a)
  })";
  EXPECT_EQ(moved(text), unmoved(text));
}

TEST(MoveHostParts, StepsAndIndicesThatDescendOrLieOutsideAreCutOnTheProcessor) {
  for (const char* indices : {"2, 1", "1, 1", "3, 4"}) {
    const std::string text = fmt::format(R"(g (float[4] x) => (float[4] p, float[2] q)
                              <int64[1] three = {{3}}, int64[1] first = {{-5}}, int64[1] axis = {{0}},
                               int64[1] back = {{-1}}, int64[2] indices = {{{}}}> {{
      r = Slice (x, three, first, axis, back)
      p = Relu (r)
      b = Gather <__ipu_number = 1> (x, indices)
      q = Relu <__ipu_number = 1> (b)
    }})",
                                         indices);
    EXPECT_EQ(moved(text), unmoved(text));
  }
}

TEST(MoveHostParts, AnOutputIsTakenApartThroughJoinsOfOneProcessor) {
  EXPECT_EQ(moved(R"(g (float[2,2] x, float[2,2] z) => (float[4,4] y) {
    a = Relu (x)
    b = Neg <__ipu_number = 1> (x)
    c = Relu <__ipu_number = 2> (z)
    d = Neg <__ipu_number = 3> (z)
    top = Concat <axis = 1> (a, b)
    low = Concat <axis = -1> (c, d)
    y = Concat <axis = 0> (top, low)
  })"),
            "a = Relu(x)  # float[2,2]\n"
            "b = Neg(x)  # float[2,2]  @ ipu 1\n"
            "c = Relu(z)  # float[2,2]  @ ipu 2\n"
            "d = Neg(z)  # float[2,2]  @ ipu 3\n"
            "output a, b, c, d\n"
            "a is y[0:2, 0:2]\n"
            "b is y[0:2, 2:4]\n"
            "c is y[2:4, 0:2]\n"
            "d is y[2:4, 2:4]\n");
}

// What is loaded is made by no op any more.
TEST(MoveHostParts, AnOutputOfNothingButPartsOfAnInputIsPutTogether) {
  EXPECT_EQ(
      moved(R"(g (float[4] x) => (float[4] y) <int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}> {
    a = Slice (x, zero, two)
    b = Slice <__ipu_number = 1> (x, two, four)
    y = Concat <axis = 0> (a, b)
  })"),
      "y = Concat(a, b) {axis=0}  # float[4]\n"
      "output y\n"
      "a is x[0:2]\n"
      "b is x[2:4]\n");
}

// The sum over micro-batches is made on one processor; what is an output itself, or not made by an op, or
// part of it twice, is put together as the model says.
TEST(MoveHostParts, OutputsThatAreSummedUpOrReadStayWhole) {
  const std::string plain = R"(g (float[2] x) => (float[4] y) {
    a = Relu (x)
    b = Neg <__ipu_number = 1> (x)
    y = Concat <axis = 0> (a, b)
  })";
  Strategy sums;
  sums.anchors["y"].returns = AnchorReturn::Sum;
  EXPECT_EQ(moved(plain, sums), unmoved(plain));
  EXPECT_NE(moved(plain), unmoved(plain));
  for (const char* rest :
       {"y = Concat <axis = 0> (a, b) z = Neg (y)", "y = Concat <axis = 0> (a, x) z = Neg (a)",
        "y = Concat <axis = 0> (a, b, a, b) z = Neg (b)"}) {
    const std::string text =
        fmt::format("g (float[2] x) => (y, z) {{ a = Relu (x) b = Neg <__ipu_number = 1> (x) {} }}", rest);
    EXPECT_EQ(moved(text), unmoved(text)) << rest;
  }
  const std::string both = R"(g (float[2] x) => (float[4] y, float[2] a) {
    a = Relu (x)
    b = Neg <__ipu_number = 1> (x)
    y = Concat <axis = 0> (a, b)
  })";
  EXPECT_EQ(moved(both), unmoved(both));
}

}  // namespace
}  // namespace podium::lower
