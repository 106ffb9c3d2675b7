#include "ir/gradients/gradient.h"

#include <algorithm>
#include <array>

namespace podium::ir {

std::span<const GivenInput> inputs_taken_as_given() {
  static constexpr std::array<GivenInput, 5> kGiven{
      {{"Dropout", 1}, {"MaxRoiPool", 1}, {"Resize", 1}, {"Resize", 2}, {"RoiAlign", 1}}};
  return kGiven;
}

bool is_taken_as_given(const OpSpec& spec, std::size_t input) {
  const auto given = inputs_taken_as_given();
  return spec.domain.empty() && std::any_of(given.begin(), given.end(), [&](const GivenInput& one) {
           return one.op == spec.name && one.input == input;
         });
}

const Tensor& GradientContext::known(std::size_t i) const {
  const std::optional<Tensor>& tensor = builder.graph()[input(i)].constant;
  if (!tensor) throw NeedsRun("the gradient needs the numbers of '{}'", builder.graph()[input(i)].name);
  return *tensor;
}

}  // namespace podium::ir
