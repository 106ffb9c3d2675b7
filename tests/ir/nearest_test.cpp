#include "ir/nearest.h"

#include <gtest/gtest.h>

namespace podium::ir {
namespace {

TEST(Nearest, CountsEditsWhateverTheCase) {
  EXPECT_EQ(nearest("relu", {"Elu", "Relu", "PRelu"}), "Relu");
  EXPECT_EQ(nearest("--inputz", {"--help", "--input", "--inputs"}), "--input");
}

TEST(Nearest, IsNothingAmongNothing) { EXPECT_EQ(nearest("a", {}), ""); }

TEST(Nearest, MayAskForOneThatIsNear) {
  EXPECT_EQ(nearest_if_near("MatMull", {"MatMul", "Conv"}), "MatMul");
  EXPECT_EQ(nearest_if_near("FrobnicateTensor", {"MatMul", "Conv"}), "");
}

}  // namespace
}  // namespace podium::ir
