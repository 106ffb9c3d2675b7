#include "executor/session/tensor_cuts.h"

#include <gtest/gtest.h>

#include "models/catalog.h"

namespace podium {
namespace {

importer::Model catalog_model(std::string_view name, const models::Parameters& parameters) {
  importer::Model model;
  model.graph = models::build(name, parameters).graph;
  return model;
}

TEST(TensorCuts, AreAsManyDevicesAsHeadsCanBeSharedOutAmong) {
  const TensorCuts cuts = tensor_cuts_of(
      catalog_model("gpt2", {{"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"vocabulary", "50"}}), 8);
  EXPECT_EQ(cuts.degrees, (std::vector<int>{2, 4}));
  EXPECT_TRUE(cuts.tokens);
}

TEST(TensorCuts, OfProductsWithoutAttentionLeaveTokensWhole) {
  const TensorCuts cuts = tensor_cuts_of(catalog_model("mnist-mlp", {}), 8);
  EXPECT_EQ(cuts.degrees, (std::vector<int>{2, 4, 8}));
  EXPECT_FALSE(cuts.tokens);
}

TEST(TensorCuts, AreNoneWhereNothingIsFoundOrThereIsOneDevice) {
  EXPECT_TRUE(tensor_cuts_of(catalog_model("rowwise", {}), 8).degrees.empty());
  EXPECT_TRUE(tensor_cuts_of(catalog_model("mnist-mlp", {}), 1).degrees.empty());
}

}  // namespace
}  // namespace podium
