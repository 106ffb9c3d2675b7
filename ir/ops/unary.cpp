#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {

std::span<const OpSpec> unary_ops() {
  static const std::vector<OpSpec> kRows{
      {.name = "Relu",
       .since = 14,
       .inputs = {{"X"}},
       .outputs = {{"Y"}},
       .types = {{'T', kFloats | kSignedInts}},
       .infer = same_as_input,
       .work = work_per_element<1>},
  };
  return kRows;
}

}  // namespace podium::ir
