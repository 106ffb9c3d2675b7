#include "importer/import.h"

#include <gtest/gtest.h>

#include "tests/support/run_text.h"

namespace podium::importer {
namespace {

TEST(ImportText, ReadsOpsInOrder) {
  const Model model = import_text(testing::model_text("g (float[2] x) => (float[2] y) { y = Relu(x) }"));
  EXPECT_EQ(ir::print(model.graph), "input x  # float[2]\ny = Relu(x)  # undefined\noutput y\n");
}

}  // namespace
}  // namespace podium::importer
