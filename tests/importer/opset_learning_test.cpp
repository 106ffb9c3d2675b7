// Each test runs a node as an older version of ai.onnx.ml meant it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/session.h"
#include "importer/import.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using ::testing::ElementsAre;
using testing::tensor;
using testing::values;

ir::Datum run_first_version(const std::string& graph, const ir::Tensor& x) {
  InferenceSession session(
      importer::import_text("<ir_version: 8, opset_import: [\"\" : 13, \"ai.onnx.ml\" : 1]>\n" + graph));
  return session.run(std::vector<ir::Datum>{x})[0];
}

TEST(OpsetLearning, LabelsWereStringsInPlacesOfAList) {
  const std::string node = "ai.onnx.ml.LabelEncoder<classes_strings = [\"b\", \"a\"]>(x) }";
  const auto x = tensor<std::string>({3}, {"a", "none", "b"});
  EXPECT_THAT(values<std::int64_t>(run_first_version("g (string[3] x) => (int64[3] y) { y = " + node, x)),
              ElementsAre(1, -1, 0));
}

TEST(OpsetLearning, PlacesInAListWereReadBackAsStrings) {
  const std::string node =
      "ai.onnx.ml.LabelEncoder<classes_strings = [\"b\", \"a\"], default_string = \"none\">(x) }";
  const auto x = tensor<std::int64_t>({3}, {1, 2, 0});
  EXPECT_THAT(values<std::string>(run_first_version("g (int64[3] x) => (string[3] y) { y = " + node, x)),
              ElementsAre("a", "none", "b"));
}

TEST(OpsetLearning, WhichWayAComputedLabelGoesItsTypeTells) {
  const auto x = tensor<std::int64_t>({2}, {1, 0});
  const auto y = run_first_version(
      "g (int64[2] x) => (string[2] y) { z = Add(x, x) "
      "y = ai.onnx.ml.LabelEncoder<classes_strings = [\"a\", \"b\", \"c\"]>(z) }",
      x);
  EXPECT_THAT(values<std::string>(y), ElementsAre("c", "a"));
}

TEST(OpsetLearning, RefusesLabelsThatAreNeitherStringsNorPlaces) {
  try {
    run_first_version(
        "g (float[1] x) => (int64[1] y) { y = ai.onnx.ml.LabelEncoder<classes_strings = [\"a\"]>(x) }",
        tensor<float>({1}, {0}));
    FAIL() << "labels of float accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("input is float, string or int64 needed"));
  }
}

}  // namespace
}  // namespace podium
