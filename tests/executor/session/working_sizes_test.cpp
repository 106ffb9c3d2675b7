#include "executor/session/working_sizes.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"

namespace podium {
namespace {

importer::Model import(const std::string& graph, importer::ImportOptions options = {.assumed = importer::kOneForAll}) {
  return importer::import_text("<ir_version: 8, opset_import: [\"\" : 17]> " + graph, options);
}

std::string type_of_first_input(const importer::Model& model) {
  return to_string(model.graph[model.graph.inputs.at(0)].type);
}

// Halves images and joins what it has enlarged to them again.
constexpr const char* kHalves = R"(g (float[batch,1,height,width] x) => (float[batch,2,height,width] y) {
    half = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(x)
    quarter = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(half)
    large = Resize<mode = "nearest">(quarter, , scales)
    y = Concat<axis = 1>(x, large)
  })";

std::string halves() {
  std::string text = kHalves;
  text.insert(text.find(" {\n"), " <float[4] scales = {1, 1, 4, 4}>");
  return text;
}

TEST(WorkingSizes, AreOneWhereNothingSpeaksAgainstIt) {
  const SizedModel sized = with_working_sizes(import("g (float[batch,4] x) => (float[batch,4] y) { y = Relu(x) }"));
  EXPECT_EQ(sized.taken, "1 taken for batch: others by --dim batch=2");
  EXPECT_EQ(type_of_first_input(sized.model), "float[1,4]");
  EXPECT_EQ(with_working_sizes(import("g (float[4] x) => (float[4] y) { y = Relu(x) }")).taken, "");
}

TEST(WorkingSizes, AreTheSmallestWithWhichTheShapesFit) {
  const SizedModel sized = with_working_sizes(import(halves()));
  EXPECT_EQ(type_of_first_input(sized.model), "float[1,1,4,4]");
  EXPECT_TRUE(sized.taken.starts_with("1 taken for batch, 4 for height, width: others by --dim batch=2 --dim height=8 "
                                      "--dim width=8 (with 1 for all of them: "))
      << sized.taken;
  EXPECT_EQ(sized.model.info.open.assumed.at("height"), 4);
}

TEST(WorkingSizes, KeepWhatIsGiven) {
  const SizedModel sized =
      with_working_sizes(import(halves(), {.dims = {{"height", 12}}, .assumed = importer::kOneForAll}));
  EXPECT_EQ(type_of_first_input(sized.model), "float[1,1,12,4]");
}

TEST(WorkingSizes, AdviseNoOtherSizeWhereOnlyOneFits) {
  const SizedModel sized = with_working_sizes(
      import("g (float[batch,features] x) => (float[batch,2] y) <float[8,2] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}> "
             "{ y = MatMul(x, w) }"));
  EXPECT_TRUE(sized.taken.starts_with("1 taken for batch, 8 for features: others by --dim batch=2 --dim features=8 "))
      << sized.taken;
}

TEST(WorkingSizes, NoneFitsIsAnErrorThatSaysWhatDoesNotFitWithOne) {
  const importer::Model model =
      import("g (float[batch,4] x) => (float[batch,4] y) <float[3] w = {1, 2, 3}> { y = Add(x, w) }");
  const std::string found = testing::refusal([&] { with_working_sizes(model); });
  EXPECT_NE(found.find("shapes [1,4] and [3] do not broadcast"), std::string::npos) << found;
  EXPECT_TRUE(found.ends_with("(1 taken for batch, and no other size fits all of them: give them by --dim batch=SIZE)"))
      << found;
}

TEST(WorkingSizes, WhoNeedsSizesIsToldOnesThatFit) {
  EXPECT_EQ(testing::refusal([] { require_sizes(import(halves(), {})); }),
            "input 'x' is float[batch,1,height,width]: sizes needed, such as --dim batch=2 --dim height=8 --dim width=8");
  const auto simple = [] { return import("g (float[batch,4] x) => (float[batch,4] y) { y = Relu(x) }", {}); };
  EXPECT_EQ(testing::refusal([&] { require_sizes(simple()); }),
            "input 'x' is float[batch,4]: sizes needed, such as --dim batch=2, or --dim '*=1' for all");
  require_sizes(simple(), [](const std::string& name) { return name == "x"; });
}

}  // namespace
}  // namespace podium
