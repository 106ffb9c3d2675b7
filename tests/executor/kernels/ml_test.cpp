#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/error.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Attribute;
using ir::AttributeName;
using ir::DataType;
using ir::Datum;
using ir::Dims;
using ir::FloatList;
using ir::IntList;
using ir::StringList;
using ir::Tensor;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using testing::list;
using testing::tensor;
using testing::values;

std::vector<Datum> run_ml(std::string_view name, const std::vector<Datum>& inputs,
                          std::vector<Attribute> attributes, std::size_t outputs = 1) {
  return testing::run_op_outputs("ai.onnx.ml", name, inputs, std::move(attributes), outputs);
}

Tensor run_one(std::string_view name, const Tensor& x, std::vector<Attribute> attributes) {
  return run_ml(name, {x}, std::move(attributes))[0].tensor;
}

Attribute text(AttributeName name, const char* value) { return {name, std::string(value)}; }
Attribute integer(AttributeName name, std::int64_t value) { return {name, value}; }

TEST(ArrayFeatureExtractor, PicksFromTheLastDimension) {
  const Tensor words = tensor<std::string>({2, 3}, {"a", "b", "c", "d", "e", "f"});
  const auto picked = run_ml("ArrayFeatureExtractor", {words, list<std::int64_t>({2, 0})}, {});
  EXPECT_THAT(values<std::string>(picked[0]), ElementsAre("c", "a", "f", "d"));
  const auto row = run_ml("ArrayFeatureExtractor", {list<float>({1, 2, 3}), list<std::int64_t>({1})}, {});
  EXPECT_EQ(row[0].tensor.dims(), (Dims{1, 1}));
  EXPECT_THROW(run_ml("ArrayFeatureExtractor", {words, list<std::int64_t>({3})}, {}), Error);
}

TEST(Binarizer, ComparesWithTheThreshold) {
  EXPECT_THAT(
      values<std::int32_t>(run_one("Binarizer", list<std::int32_t>({0, 1, 2}), {{"threshold", 1.0F}})),
      ElementsAre(0, 0, 1));
}

TEST(Imputer, ReplacesNanOrANumberByColumn) {
  const Tensor x = tensor<float>({2, 2}, {NAN, 1, 2, NAN});
  const std::vector<Attribute> nan{{"imputed_value_floats", FloatList{10, 20}},
                                   {"replaced_value_float", NAN}};
  EXPECT_THAT(values<float>(run_one("Imputer", x, nan)), ElementsAre(10, 1, 2, 20));
  const std::vector<Attribute> seven{{"imputed_value_int64s", IntList{0}},
                                     integer("replaced_value_int64", 7)};
  EXPECT_THAT(values<std::int64_t>(run_one("Imputer", tensor<std::int64_t>({1, 2}, {7, 8}), seven)),
              ElementsAre(0, 8));
  EXPECT_THROW(run_one("Imputer", x, {}), Error);
}

TEST(Normalizer, DividesByTheNormAndLeavesZeros) {
  const Tensor x = tensor<std::int32_t>({2, 2}, {3, -4, 0, 0});
  const auto with = [&](const char* norm) {
    return values<float>(run_one("Normalizer", x, {text("norm", norm)}));
  };
  EXPECT_THAT(with("MAX"), ElementsAre(1, -4 / 3.0F, 0, 0));
  EXPECT_THAT(with("L1"), ElementsAre(3 / 7.0F, -4 / 7.0F, 0, 0));
  EXPECT_THAT(with("L2"), ElementsAre(0.6F, -0.8F, 0, 0));
}

TEST(Normalizer, DividesByALargestNumberThatIsNegativeOrZero) {
  const Tensor x = tensor<float>({2, 2}, {-1, -2, 0, -3});
  EXPECT_THAT(values<float>(run_one("Normalizer", x, {text("norm", "MAX")})), ElementsAre(1, 2, 0, -3));
}

TEST(Scaler, ShiftsThenScales) {
  const Tensor x = tensor<std::int64_t>({2, 2}, {1, 2, 3, 4});
  const std::vector<Attribute> attributes{{"offset", FloatList{1}}, {"scale", FloatList{2, 10}}};
  EXPECT_THAT(values<float>(run_one("Scaler", x, attributes)), ElementsAre(0, 10, 4, 30));
  EXPECT_THROW(run_one("Scaler", x, {{"scale", FloatList{1, 2, 3}}}), Error);
}

TEST(FeatureVectorizer, CutsAndFillsToTheDimensionsGiven) {
  const Tensor wide = tensor<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor narrow = tensor<float>({2, 1}, {7, 8});
  const auto y = run_ml("FeatureVectorizer", {wide, narrow}, {{"inputdimensions", IntList{2, 2}}});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(1, 2, 7, 0, 4, 5, 8, 0));
}

TEST(OneHotEncoder, MarksTheCategory) {
  const std::vector<Attribute> ints{{"cats_int64s", IntList{5, 7}}};
  const Tensor y = run_one("OneHotEncoder", list<float>({7, 5, 6}), ints);
  EXPECT_EQ(y.dims(), (Dims{3, 2}));
  EXPECT_THAT(values<float>(y), ElementsAre(0, 1, 1, 0, 0, 0));
  const std::vector<Attribute> strict{{"cats_strings", StringList{"a"}}, integer("zeros", 0)};
  EXPECT_THROW(run_one("OneHotEncoder", list<std::string>({"b"}), strict), Error);
}

TEST(LabelEncoder, MapsEveryTypeWithItsDefault) {
  const std::vector<Attribute> names{{"keys_int64s", IntList{1, 2}},
                                     {"values_strings", StringList{"one", "two"}}};
  EXPECT_THAT(values<std::string>(run_one("LabelEncoder", list<std::int64_t>({2, 3}), names)),
              ElementsAre("two", "_Unused"));
  const std::vector<Attribute> tensors{{"keys_tensor", list<double>({1.5, NAN})},
                                       {"values_tensor", list<std::int16_t>({7, 8})},
                                       {"default_tensor", list<std::int16_t>({9})}};
  EXPECT_THAT(values<std::int16_t>(run_one("LabelEncoder", list<double>({NAN, 1.5, 2}), tensors)),
              ElementsAre(8, 7, 9));
  const std::vector<Attribute> uneven{{"keys_int64s", IntList{1}}, {"values_int64s", IntList{1, 2}}};
  EXPECT_THROW(run_one("LabelEncoder", list<std::int64_t>({2}), uneven), Error);
}

TEST(CategoryMapper, WorksBothWays) {
  const std::vector<Attribute> attributes{{"cats_int64s", IntList{3, 4}},
                                          {"cats_strings", StringList{"x", "y"}}};
  EXPECT_THAT(values<std::int64_t>(run_one("CategoryMapper", list<std::string>({"y", "z"}), attributes)),
              ElementsAre(4, -1));
  EXPECT_THAT(values<std::string>(run_one("CategoryMapper", list<std::int64_t>({3, 9}), attributes)),
              ElementsAre("x", "_Unused"));
}

TEST(Maps, BecomeTensors) {
  const Datum map = Datum::map(list<std::int64_t>({4, 1}), list<std::string>({"40", "10"}));
  EXPECT_THAT(values<float>(run_ml("CastMap", {map}, {})[0]), ElementsAre(10, 40));
  const std::vector<Attribute> sparse{text("map_form", "SPARSE"), integer("max_map", 5),
                                      text("cast_to", "TO_INT64")};
  EXPECT_THAT(values<std::int64_t>(run_ml("CastMap", {map}, sparse)[0]), ElementsAre(0, 10, 0, 0, 40));
  const Datum counts = Datum::map(list<std::string>({"b", "z"}), list<double>({2, 9}));
  EXPECT_THAT(
      values<double>(run_ml("DictVectorizer", {counts}, {{"string_vocabulary", StringList{"a", "b"}}})[0]),
      ElementsAre(0, 2));
}

TEST(ZipMap, NamesTheColumnsOfEachRow) {
  const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  const auto maps = run_ml("ZipMap", {x}, {{"classlabels_strings", StringList{"a", "b"}}});
  const auto& second = (*maps[0].items)[1];
  EXPECT_THAT(values<std::string>((*second.items)[0]), ElementsAre("a", "b"));
  EXPECT_THAT(values<float>((*second.items)[1]), ElementsAre(3, 4));
  EXPECT_THROW(run_ml("ZipMap", {x}, {{"classlabels_int64s", IntList{1}}}), Error);
}

TEST(LinearRegressor, AddsInterceptsToProducts) {
  const Tensor x = tensor<std::int32_t>({2, 2}, {1, 2, 3, 4});
  const std::vector<Attribute> attributes{
      {"coefficients", FloatList{1, 1, 2, 0}}, {"intercepts", FloatList{0.5F, 0}}, integer("targets", 2)};
  EXPECT_THAT(values<float>(run_one("LinearRegressor", x, attributes)), ElementsAre(3.5F, 2, 7.5F, 6));
  EXPECT_THROW(run_one("LinearRegressor", x, {{"coefficients", FloatList{1}}}), Error);
}

TEST(LinearRegressor, OfNoFeaturesGivesIntercepts) {
  const Tensor x = tensor<float>({2, 0}, {});
  const std::vector<Attribute> attributes{{"intercepts", FloatList{0.5F, 2}}, integer("targets", 2)};
  EXPECT_THAT(values<float>(run_one("LinearRegressor", x, attributes)), ElementsAre(0.5F, 2, 0.5F, 2));
}

TEST(LinearRegressor, RefusesMoreTargetsThanCoefficients) {
  const Tensor x = tensor<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THROW(run_one("LinearRegressor", x, {integer("targets", std::int64_t{1} << 62)}), Error);
}

TEST(LinearClassifier, GivesStringsAndTransformedScores) {
  const Tensor x = tensor<float>({2, 1}, {1, -1});
  const auto outputs = run_ml("LinearClassifier", {x},
                              {{"coefficients", FloatList{1, -1, 0}},
                               {"classlabels_strings", StringList{"up", "down", "none"}},
                               text("post_transform", "SOFTMAX")},
                              2);
  EXPECT_THAT(values<std::string>(outputs[0]), ElementsAre("up", "down"));
  const float sum = std::exp(1.0F) + std::exp(-1.0F) + 1;
  EXPECT_THAT(values<float>(outputs[1])[0], FloatNear(std::exp(1.0F) / sum, 1e-6F));
}

TEST(LinearClassifier, TellsTwoClassesByOneScore) {
  const auto outputs = run_ml("LinearClassifier", {tensor<float>({2, 1}, {2, -3})},
                              {{"coefficients", FloatList{1}}, {"classlabels_ints", IntList{10, 20}}}, 2);
  EXPECT_THAT(values<std::int64_t>(outputs[0]), ElementsAre(20, 10));
  EXPECT_THAT(values<float>(outputs[1]), ElementsAre(-2, 2, 3, -3));
}

TEST(SvmRegressor, SumsWeightedLikeness) {
  const Tensor x = tensor<float>({1, 2}, {1, 2});
  const std::vector<Attribute> rbf{{"coefficients", FloatList{2, -1}},
                                   {"support_vectors", FloatList{1, 2, 0, 0}},
                                   {"kernel_params", FloatList{0.5F, 0, 3}},
                                   {"rho", FloatList{0.25F}},
                                   text("kernel_type", "RBF"),
                                   integer("n_supports", 2)};
  EXPECT_THAT(values<float>(run_one("SVMRegressor", x, rbf))[0], FloatNear(2.25F - std::exp(-2.5F), 1e-6F));
  std::vector<Attribute> poly = rbf;
  poly[4] = text("kernel_type", "POLY");
  EXPECT_THAT(values<float>(run_one("SVMRegressor", x, poly))[0], FloatNear(2 * 15.625F + 0.25F, 1e-4F));
}

TEST(SvmClassifier, LetsPairsVote) {
  // A support vector a class. At -1 the pairs' scores are 0.5 for the first class and 0 and -0.5 for the
  // last.
  const auto outputs = run_ml("SVMClassifier", {tensor<float>({1, 1}, {-1})},
                              {{"coefficients", FloatList{-1, 0, 1, -1, -1, 1}},
                               {"support_vectors", FloatList{1, 0, 1}},
                               {"vectors_per_class", IntList{1, 1, 1}},
                               {"rho", FloatList{-0.5F, 0, 0.5F}},
                               {"classlabels_ints", IntList{7, 8, 9}}},
                              2);
  EXPECT_THAT(values<float>(outputs[1]), ElementsAre(0.5F, 0, -0.5F));
  EXPECT_THAT(values<std::int64_t>(outputs[0]), ElementsAre(9));
}

TEST(SvmClassifier, TurnsPairsIntoProbabilities) {
  const auto outputs = run_ml("SVMClassifier", {tensor<float>({1, 1}, {2})},
                              {{"coefficients", FloatList{1, -1}},
                               {"support_vectors", FloatList{1, 0}},
                               {"vectors_per_class", IntList{1, 1}},
                               {"rho", FloatList{0}},
                               {"prob_a", FloatList{-1}},
                               {"prob_b", FloatList{0}},
                               {"classlabels_strings", StringList{"near", "far"}}},
                              2);
  const float near = 1 / (1 + std::exp(-2.0F));
  EXPECT_THAT(values<float>(outputs[1]), ElementsAre(FloatNear(near, 2e-3F), FloatNear(1 - near, 2e-3F)));
  EXPECT_THAT(values<std::string>(outputs[0]), ElementsAre("near"));
}

// x0 <= 1 ? (x1 == 5 ? "a" : "b") : "c"
std::vector<Attribute> tree_attributes(const std::string& leaf) {
  return {{"nodes_treeids", IntList{0, 0, 0, 0, 0}},
          {"nodes_nodeids", IntList{0, 1, 2, 3, 4}},
          {"nodes_featureids", IntList{0, 1, 0, 0, 0}},
          {"nodes_modes", StringList{"BRANCH_LEQ", "BRANCH_EQ", "LEAF", "LEAF", "LEAF"}},
          {"nodes_values", FloatList{1, 5, 0, 0, 0}},
          {"nodes_truenodeids", IntList{1, 3, 0, 0, 0}},
          {"nodes_falsenodeids", IntList{2, 4, 0, 0, 0}},
          {leaf + "_treeids", IntList{0, 0, 0}},
          {leaf + "_nodeids", IntList{3, 4, 2}},
          {leaf + "_weights", FloatList{1, 2, 4}}};
}

TEST(TreeEnsembleRegressor, AddsBaseValuesAndFollowsMissingValues) {
  std::vector<Attribute> attributes = tree_attributes("target");
  attributes.push_back({"target_ids", IntList{0, 1, 0}});
  attributes.push_back(integer("n_targets", 2));
  attributes.push_back({"base_values", FloatList{10, 20}});
  attributes.push_back({"nodes_missing_value_tracks_true", IntList{1, 0, 0, 0, 0}});
  const Tensor x = tensor<double>({4, 2}, {0, 5, 0, 6, 2, 0, NAN, 5});
  EXPECT_THAT(values<float>(run_one("TreeEnsembleRegressor", x, attributes)),
              ElementsAre(11, 20, 10, 22, 14, 20, 11, 20));
}

TEST(TreeEnsembleClassifier, ChoosesTheLargestScore) {
  std::vector<Attribute> attributes = tree_attributes("class");
  attributes.push_back({"class_ids", IntList{0, 1, 2}});
  attributes.push_back({"classlabels_strings", StringList{"a", "b", "c"}});
  const auto outputs =
      run_ml("TreeEnsembleClassifier", {tensor<std::int64_t>({3, 2}, {0, 5, 0, 6, 2, 0})}, attributes, 2);
  EXPECT_THAT(values<std::string>(outputs[0]), ElementsAre("a", "b", "c"));
  EXPECT_THAT(values<float>(outputs[1]), ElementsAre(1, 0, 0, 0, 2, 0, 0, 0, 4));
}

TEST(TreeEnsembleClassifier, SplitsOneScoreInTwo) {
  std::vector<Attribute> attributes = tree_attributes("class");
  attributes.push_back({"class_ids", IntList{0, 0, 0}});
  attributes.push_back({"classlabels_int64s", IntList{5, 6}});
  attributes.push_back(text("post_transform", "LOGISTIC"));
  const auto outputs = run_ml("TreeEnsembleClassifier", {tensor<float>({1, 2}, {0, 5})}, attributes, 2);
  EXPECT_THAT(values<std::int64_t>(outputs[0]), ElementsAre(6));
  const float yes = 1 / (1 + std::exp(-1.0F));
  EXPECT_THAT(values<float>(outputs[1]), ElementsAre(FloatNear(1 - yes, 1e-6F), FloatNear(yes, 1e-6F)));
}

TEST(Trees, RefuseWhatWouldNotEnd) {
  std::vector<Attribute> attributes = tree_attributes("target");
  attributes.push_back({"target_ids", IntList{0, 0, 0}});
  attributes.push_back(integer("n_targets", 1));
  const Tensor x = tensor<float>({1, 2}, {0, 5});
  std::vector<Attribute> circle = attributes;
  circle[5] = {"nodes_truenodeids", IntList{1, 0, 0, 0, 0}};
  EXPECT_THROW(run_one("TreeEnsembleRegressor", x, circle), Error);
  std::vector<Attribute> beyond = attributes;
  beyond[2] = {"nodes_featureids", IntList{0, 2, 0, 0, 0}};
  EXPECT_THROW(run_one("TreeEnsembleRegressor", x, beyond), Error);
  std::vector<Attribute> target = attributes;
  target[10] = {"target_ids", IntList{0, 1, 0}};
  EXPECT_THROW(run_one("TreeEnsembleRegressor", x, target), Error);
}

TEST(Trees, RefuseNumbersThatNothingHas) {
  constexpr std::int64_t kWraps = std::int64_t{1} << 32;  // to 0 in 32 bits
  std::vector<Attribute> attributes = tree_attributes("target");
  attributes.push_back({"target_ids", IntList{0, 0, 0}});
  attributes.push_back(integer("n_targets", 1));
  const Tensor x = tensor<float>({1, 2}, {0, 5});
  std::vector<Attribute> beyond = attributes;
  beyond[2] = {"nodes_featureids", IntList{kWraps, 0, 0, 0, 0}};
  EXPECT_THROW(run_one("TreeEnsembleRegressor", x, beyond), Error);
  std::vector<Attribute> target = attributes;
  target[10] = {"target_ids", IntList{kWraps, 0, 0}};
  EXPECT_THROW(run_one("TreeEnsembleRegressor", x, target), Error);
}

// One node, both ways from which lead to one leaf.
std::vector<Attribute> smallest_ensemble() {
  return {{"nodes_splits", tensor<float>({1}, {0})},
          {"nodes_modes", tensor<float>({1}, {0})},
          {"nodes_featureids", IntList{0}},
          {"nodes_truenodeids", IntList{0}},
          {"nodes_falsenodeids", IntList{0}},
          {"nodes_trueleafs", IntList{1}},
          {"nodes_falseleafs", IntList{1}},
          {"tree_roots", IntList{0}},
          {"leaf_weights", tensor<float>({1}, {3})},
          {"leaf_targetids", IntList{0}},
          integer("n_targets", 1)};
}

TEST(TreeEnsemble, RefusesNumbersThatNothingHas) {
  const Tensor x = tensor<float>({1, 1}, {0});
  EXPECT_THAT(values<float>(run_one("TreeEnsemble", x, smallest_ensemble())), ElementsAre(3));
  const std::vector<Attribute> others{
      {"nodes_modes", tensor<float>({1}, {NAN})},
      {"nodes_truenodeids", IntList{std::numeric_limits<std::int64_t>::max()}},
      {"nodes_falsenodeids", IntList{std::int64_t{1} << 32}},
      {"tree_roots", IntList{std::int64_t{1} << 32}}};
  for (const Attribute& other : others) {
    std::vector<Attribute> attributes = smallest_ensemble();
    for (Attribute& attribute : attributes) {
      if (attribute.name == other.name) attribute = other;
    }
    EXPECT_THROW(run_one("TreeEnsemble", x, attributes), Error) << other.name.text();
  }
}

TEST(TreeEnsembleClassifier, RefusesANegativeClassOfAnInnerNode) {
  std::vector<Attribute> attributes = tree_attributes("class");
  for (Attribute& attribute : attributes) {
    if (attribute.name == "class_nodeids") attribute.value = IntList{0, 0, 0};
  }
  attributes.push_back({"class_ids", IntList{-1, -1, -1}});
  EXPECT_THROW(run_ml("TreeEnsembleClassifier", {tensor<float>({1, 2}, {0, 5})}, attributes, 2), Error);
}

TEST(SvmClassifier, RefusesCountsOfVectorsWhoseSumWraps) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<Attribute> attributes{{"classlabels_ints", IntList{0, 1, 2}},
                                          {"coefficients", FloatList{1, 1}},
                                          {"vectors_per_class", IntList{kMost, kMost, 3}},
                                          {"support_vectors", FloatList{1}},
                                          {"rho", FloatList{0, 0, 0}}};
  EXPECT_THROW(run_ml("SVMClassifier", {tensor<float>({1, 1}, {0})}, attributes, 2), Error);
}

TEST(FeatureVectorizer, RefusesNegativeColumnsAlsoWhereTheyLookLikeAnUnknownSize) {
  const Tensor x = tensor<float>({1, 4}, {1, 2, 3, 4});
  for (const IntList& given : {IntList{1, -1, -1}, IntList{-2, 4, 4}})
    EXPECT_THROW(run_ml("FeatureVectorizer", {x, x, x}, {{"inputdimensions", given}}), Error);
}

TEST(FeatureVectorizer, RefusesColumnsWhoseSumWraps) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Tensor x = tensor<float>({1, 4}, {1, 2, 3, 4});
  EXPECT_THROW(run_ml("FeatureVectorizer", {x, x, x}, {{"inputdimensions", IntList{kMost, kMost, 4}}}),
               Error);
}

TEST(LabelEncoder, RefusesADefaultOfAnotherType) {
  EXPECT_THROW(run_one("LabelEncoder", list<float>({1}),
                       {{"keys_floats", FloatList{1}},
                        {"values_int64s", IntList{3}},
                        {"default_tensor", tensor<float>({1}, {2})}}),
               Error);
}

TEST(DictVectorizer, ReadsTheVocabularyOfItsKeys) {
  const Datum map = Datum::map(list<std::int64_t>({4, 5}), list<float>({1, 2}));
  const auto outputs =
      run_ml("DictVectorizer", {map},
             {{"int64_vocabulary", IntList{5}}, {"string_vocabulary", StringList{"a", "b"}}});
  EXPECT_THAT(values<float>(outputs[0]), ElementsAre(2));
}

TEST(CastMap, RefusesKeysThatAreNoPlaces) {
  const Datum map = Datum::map(list<std::string>({"a"}), list<float>({1}));
  EXPECT_THROW(run_ml("CastMap", {map}, {}), Error);
}

}  // namespace
}  // namespace podium::kernels
