#include "executor/cli/errata.h"

#include <algorithm>
#include <array>

namespace podium::cli {
namespace {

constexpr std::string_view kCut = "the expected bfloat16 numbers were cut off instead of rounded";

// Of zeros between sums of size 50: the same case of opset 17 expects 1e-15 from the same input.
constexpr std::string_view kNoise = "the expected values carry the rounding errors of a transform in float";

constexpr std::array kErrata{
    Erratum{.case_name = "test_adam_multiple",
            .opset = 1,
            .fault = "the expected values were computed with epsilon 0.01, which the model leaves out",
            .op = "Adam",
            .attribute = "epsilon",
            .value = 1e-2F},
    Erratum{
        .case_name = "test_cast_FLOAT_to_BFLOAT16", .opset = 13, .fault = kCut, .truncated_bfloat16 = true},
    Erratum{.case_name = "test_castlike_FLOAT_to_BFLOAT16",
            .opset = 15,
            .fault = kCut,
            .truncated_bfloat16 = true},
    Erratum{.case_name = "test_castlike_FLOAT_to_BFLOAT16_expanded",
            .opset = 15,
            .fault = kCut,
            .truncated_bfloat16 = true},
    Erratum{.case_name = "test_dft_inverse_opset19", .opset = 19, .fault = kNoise, .noise = 1e-6},
    Erratum{.case_name = "test_dft_inverse", .opset = 20, .fault = kNoise, .noise = 1e-6},
};

}  // namespace

const Erratum* find_erratum(std::string_view case_name, std::int64_t opset) {
  const auto found = std::find_if(kErrata.begin(), kErrata.end(), [&](const Erratum& erratum) {
    return erratum.case_name == case_name && erratum.opset == opset;
  });
  return found == kErrata.end() ? nullptr : &*found;
}

void correct(const Erratum& erratum, ir::Graph& graph) {
  for (ir::Op& op : graph.ops) {
    if (!erratum.op.empty() && op.spec->name == erratum.op)
      set_attribute(op, erratum.attribute, erratum.value);
  }
}

}  // namespace podium::cli
