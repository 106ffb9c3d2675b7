#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"

namespace podium::ir {
namespace {

using ::testing::HasSubstr;

// The type of one op's output, with inputs that are types or known lists.
class Inferred {
 public:
  ValueId of(Type type) { return build_.input("x", std::move(type)); }
  ValueId of(Dims dims) { return of(Type::tensor(DataType::Float, std::move(dims))); }
  ValueId list(const std::vector<std::int64_t>& values) { return build_.constant(Tensor::ints(values)); }
  std::string op(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return to_string(build_.type(build_.op(type, std::move(inputs), std::move(attributes))));
  }
  std::string error(std::string_view type, std::vector<ValueId> inputs,
                    std::vector<Attribute> attributes = {}) {
    try {
      return "no error: " + op(type, std::move(inputs), std::move(attributes));
    } catch (const Error& error) {
      return error.what();
    }
  }

 private:
  Graph graph_;
  Builder build_{graph_};
};

const Type kNoRank = Type::tensor(DataType::Float);
const Type kSomeInts = Type::tensor(DataType::Int64, {kUnknown});
const Type kThreeInts = Type::tensor(DataType::Int64, {3});

TEST(ReshapeInfers, UnknownDimensionsThatAreCopiedCancelOut) {
  Inferred y;
  EXPECT_EQ(y.op("Reshape", {y.of({kUnknown, 4, 6}), y.list({0, -1})}), "float[?,24]");
  EXPECT_EQ(y.op("Reshape", {y.of({kUnknown, 4, 6}), y.list({-1, 6})}), "float[?,6]");
  EXPECT_EQ(y.op("Reshape", {y.of({0, 3}), y.list({0, -1})}), "float[0,3]");
  EXPECT_EQ(y.op("Reshape", {y.of({0, 3}), y.list({3, 0})}, {{"allowzero", std::int64_t{1}}}), "float[3,0]");
}

TEST(ReshapeInfers, TheRankFromALengthAlone) {
  Inferred y;
  EXPECT_EQ(y.op("Reshape", {y.of({2, 3}), y.of(kThreeInts)}), "float[?,?,?]");
  EXPECT_EQ(y.op("Reshape", {y.of({2, 3}), y.of(kSomeInts)}), "float");
  EXPECT_EQ(y.op("Reshape", {y.of(kNoRank), y.list({0, 5, -1})}), "float[?,5,?]");
}

TEST(ReshapeInfers, RefusesWhatDoesNotFit) {
  Inferred y;
  EXPECT_THAT(y.error("Reshape", {y.of({2, 3}), y.list({4, 2})}),
              HasSubstr("[2,3] with 6 elements cannot become"));
  EXPECT_THAT(y.error("Reshape", {y.of({2, 3}), y.list({4, -1})}),
              HasSubstr("6 elements do not divide into 4"));
  EXPECT_THAT(y.error("Reshape", {y.of({2, 3}), y.list({-1, -1})}), HasSubstr("-1 twice"));
  const std::int64_t half = std::int64_t{1} << 32;
  EXPECT_THAT(y.error("Reshape", {y.of({2, 3}), y.list({half, half, -1})}), HasSubstr("63 bits"));
  EXPECT_THAT(y.error("Reshape", {y.of({6}), y.list({6, 0})}), HasSubstr("has 0 at 1"));
  EXPECT_THAT(y.error("Reshape", {y.of({0}), y.list({0, -1})}, {{"allowzero", std::int64_t{1}}}),
              HasSubstr("both 0 and -1"));
}

TEST(ConcatInfers, AddsWhatIsKnownAndMergesTheRest) {
  Inferred y;
  const std::vector<Attribute> axis{{"axis", std::int64_t{-1}}};
  EXPECT_EQ(y.op("Concat", {y.of({kUnknown, 2}), y.of({3, 4})}, axis), "float[3,6]");
  EXPECT_EQ(y.op("Concat", {y.of({3, kUnknown}), y.of({3, 4})}, axis), "float[3,?]");
  EXPECT_EQ(y.op("Concat", {y.of({3, 1}), y.of(kNoRank)}, axis), "float[3,?]");
  EXPECT_THAT(y.error("Concat", {y.of({3, 1}), y.of({2, 1})}, axis), HasSubstr("all but axis 1 must agree"));
}

TEST(SqueezeInfers, FromAxesOrFromOnes) {
  Inferred y;
  EXPECT_EQ(y.op("Squeeze", {y.of({1, 3, 1})}), "float[3]");
  EXPECT_EQ(y.op("Squeeze", {y.of({1, kUnknown})}), "float");
  EXPECT_EQ(y.op("Squeeze", {y.of({1, kUnknown, 1}), y.list({-1})}), "float[1,?]");
  EXPECT_EQ(y.op("Squeeze", {y.of({1, 3, 1, 1}), y.of(kThreeInts)}), "float[?]");
  EXPECT_THAT(y.error("Squeeze", {y.of({1, 3}), y.list({1})}), HasSubstr("axis 1 of [1,3] is 3, 1 needed"));
  EXPECT_THAT(y.error("Squeeze", {y.of({3}), y.of(kThreeInts)}), HasSubstr("3 axes found"));
}

TEST(UnsqueezeInfers, AxesOfTheResult) {
  Inferred y;
  EXPECT_EQ(y.op("Unsqueeze", {y.of({3, 4}), y.list({-1, 0})}), "float[1,3,4,1]");
  EXPECT_EQ(y.op("Unsqueeze", {y.of({3}), y.of(kThreeInts)}), "float[?,?,?,?]");
  EXPECT_THAT(y.error("Unsqueeze", {y.of({3}), y.list({0, -3})}), HasSubstr("axis 0 is given twice"));
  EXPECT_THAT(y.error("Unsqueeze", {y.of({3}), y.list({2})}), HasSubstr("axis 2 is outside"));
}

TEST(ExpandInfers, WhatCannotStretchEvenWithoutTheShape) {
  Inferred y;
  EXPECT_EQ(y.op("Expand", {y.of({5, 1}), y.of(kThreeInts)}), "float[?,5,?]");
  EXPECT_EQ(y.op("Expand", {y.of({3, 1}), y.list({2, 1, 6})}), "float[2,3,6]");
  EXPECT_THAT(y.error("Expand", {y.of({3}), y.list({2})}), HasSubstr("do not broadcast"));
}

TEST(ShapeInfers, APartThatIsKnownAsAConstant) {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", Type::tensor(DataType::Float, {kUnknown, 4, 5}));
  const ValueId part = build.op("Shape", {x}, {{"start", std::int64_t{1}}});
  const ValueId whole = build.op("Shape", {x});
  EXPECT_EQ(to_string(graph[part].type), "int64[2]");
  EXPECT_EQ(to_string(graph[whole].type), "int64[3]");
  EXPECT_EQ(to_string(build.type(build.op("Shape", {x}, {{"start", std::int64_t{9}}}))), "int64[0]");
}

TEST(FlattenInfers, ProductsThatAreKnown) {
  Inferred y;
  EXPECT_EQ(y.op("Flatten", {y.of({kUnknown, 3, 4})}), "float[?,12]");
  EXPECT_EQ(y.op("Flatten", {y.of({2, 3})}, {{"axis", std::int64_t{2}}}), "float[6,1]");
  EXPECT_THAT(y.error("Flatten", {y.of({2})}, {{"axis", std::int64_t{2}}}),
              HasSubstr("axis 2 is outside [-1, 1]"));
}

TEST(TransposeInfers, ARankFromPerm) {
  Inferred y;
  EXPECT_EQ(y.op("Transpose", {y.of(kNoRank)}, {{"perm", IntList{1, 0}}}), "float[?,?]");
  EXPECT_EQ(y.op("Transpose", {y.of({2, 3, 4})}), "float[4,3,2]");
  for (const IntList& perm : {IntList{0, 0}, IntList{-1, 0}, IntList{1, 2}}) {
    for (const Type& type : {Type::tensor(DataType::Float, {2, 3}), kNoRank}) {
      EXPECT_THAT(y.error("Transpose", {y.of(type)}, {{"perm", perm}}),
                  HasSubstr("each axis from 0 to 1 once needed"));
    }
  }
}

TEST(RangeInfers, ItsLengthFromNumbers) {
  Inferred y;
  const auto ints = [&](std::int64_t from, std::int64_t to, std::int64_t by) {
    Graph graph;
    Builder build(graph);
    const auto number = [&](std::int64_t value) { return build.constant(Tensor::scalar(value)); };
    return to_string(build.type(build.op("Range", {number(from), number(to), number(by)})));
  };
  EXPECT_EQ(ints(0, 10, 3), "int64[4]");
  EXPECT_EQ(ints(0, 10, -3), "int64[0]");
  EXPECT_EQ(ints(INT64_MAX, INT64_MIN, INT64_MIN), "int64[2]");
  EXPECT_EQ(y.op("Range", {y.of(Dims{}), y.of(Dims{}), y.of(Dims{})}), "float[?]");
  EXPECT_THROW(ints(0, 1, 0), Error);
}

}  // namespace
}  // namespace podium::ir
