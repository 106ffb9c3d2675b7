#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Dims;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

const Tensor kX = Tensor::ints({1, 2, 3, 4, 5});

TEST(SplitToSequence, IntoChunksOfWhichTheLastIsSmaller) {
  const auto y = run_text(
      "g (int64[5] x) => (int64[N] last, int64 n) { c = Constant <value_int = 2> () s = SplitToSequence(x, c)"
      " p = Constant <value_int = -1> () last = SequenceAt(s, p) n = SequenceLength(s) }",
      {kX});
  EXPECT_THAT(values<std::int64_t>(y[0]), ElementsAre(5));
  EXPECT_THAT(values<std::int64_t>(y[1]), ElementsAre(3));
}

TEST(SplitToSequence, BySizesThatMustAddUp) {
  const std::string graph =
      "g (int64[5] x, int64[2] s) => (int64[N] y) { q = SplitToSequence(x, s) y = ConcatFromSequence <axis = "
      "0> (q) }";
  EXPECT_THAT(values<std::int64_t>(run_text(graph, {kX, Tensor::ints({0, 5})})[0]),
              ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THROW(run_text(graph, {kX, Tensor::ints({1, 5})}), Error);
  EXPECT_THROW(run_text(graph, {kX, Tensor::ints({-1, 6})}), Error);
}

TEST(Sequence, KeepsWhatWasPutIn) {
  // The sum's memory is free for others once the sequence has been made: the sequence must not see that.
  const auto y = run_text(
      "g (float[2] x) => (float[2] y) { a = Add(x, x) s = SequenceConstruct(a, x) b = Add(x, a) c = Add(b, b)"
      " d = Add(c, c) p = Constant <value_int = 0> () t = SequenceAt(s, p) y = Max(t, t) z = Add(d, d) }",
      {tensor<float>({2}, {1, 2})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(2, 4));
}

TEST(Sequence, OfDifferentShapesInsertsAndErases) {
  const std::string graph =
      "g (int64[5] x, int64[1] a, int64 p) => (int64[N] y, int64[M] z) { s = SequenceConstruct(x, x)"
      " t = SequenceInsert(s, a, p) y = SequenceAt(t, p) u = SequenceErase(t, p) z = SequenceAt(u, p) }";
  const auto run = [&](std::int64_t position) {
    return run_text(graph, {kX, Tensor::ints({9}), Tensor::scalar(position)});
  };
  EXPECT_THAT(values<std::int64_t>(run(1)[0]), ElementsAre(9));
  EXPECT_THAT(values<std::int64_t>(run(0)[1]), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THROW(run(3), Error);
  EXPECT_THROW(run(-3), Error);
}

TEST(ConcatFromSequence, StacksOnANewLastAxis) {
  const auto y = run_text(
      "g (string[2] a, string[2] b) => (string[2,2] y)"
      " { s = SequenceConstruct(a, b) y = ConcatFromSequence <axis = -1, new_axis = 1> (s) }",
      {tensor<std::string>({2}, {"a", "b"}), tensor<std::string>({2}, {"c", "d"})});
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("a", "c", "b", "d"));
  EXPECT_THROW(run_text("g (int64[5] x) => (int64[N] y)"
                        " { s = SequenceEmpty <dtype = 7> () y = ConcatFromSequence <axis = 0> (s) }",
                        {kX}),
               Error);
}

TEST(SequenceInfers, WhatAllItemsHaveInCommon) {
  ir::Graph graph;
  ir::Builder build(graph);
  const auto item = [&](ir::DataType type, Dims dims) {
    return build.input("x", ir::Type::tensor(type, std::move(dims)));
  };
  const auto a = item(ir::DataType::Float, {2, 3});
  const auto s = build.op("SequenceConstruct", {a, item(ir::DataType::Float, {2, 4})});
  EXPECT_EQ(to_string(build.type(s)), "sequence(float[2,?])");
  const auto t = build.op("SequenceInsert", {s, item(ir::DataType::Float, {2})});
  EXPECT_EQ(to_string(build.type(t)), "sequence(float)");
  EXPECT_EQ(to_string(build.type(build.op("ConcatFromSequence", {s}, {{"axis", std::int64_t{0}}}))),
            "float[?,?]");
  EXPECT_THROW(build.op("SequenceInsert", {s, item(ir::DataType::Int64, {2, 3})}), Error);
  EXPECT_THROW(build.op("SequenceLength", {a}), Error);
}

TEST(Optional, HoldsATensorOrNothing) {
  const auto y = run_text(
      "g (float[2] x) => (float[2] y, bool h) { o = Optional(x) y = OptionalGetElement(o) h = "
      "OptionalHasElement(o) }",
      {tensor<float>({2}, {1, 2})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(1, 2));
  EXPECT_TRUE(*y[1].tensor.data<bool>());
  const auto of_tensor = run_text(
      "g (float[1] x) => (float[1] y, bool h) { y = OptionalGetElement(x) h = OptionalHasElement(x) }",
      {tensor<float>({1}, {3})});
  EXPECT_THAT(values<float>(of_tensor[0]), ElementsAre(3));
  EXPECT_TRUE(*of_tensor[1].tensor.data<bool>());
  EXPECT_FALSE(
      *run_text("g (float[1] x) => (bool h) { h = OptionalHasElement() }", {tensor<float>({1}, {3})})[0]
           .tensor.data<bool>());
}

}  // namespace
}  // namespace podium::kernels
