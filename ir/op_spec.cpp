#include "ir/op_spec.h"

#include <algorithm>
#include <utility>

namespace podium::ir {

AttributeSpec with_default(std::string_view name, AttributeValue value) {
  const AttributeKind kind = kind_of(value);
  return {name, kind, false, std::move(value)};
}

const Parameter* parameter_at(const std::vector<Parameter>& formal, std::size_t place) {
  if (formal.empty()) return nullptr;
  return place < formal.size() ? &formal[place] : &formal.back();
}

const AttributeSpec* OpSpec::find_attribute(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const AttributeSpec& spec) { return spec.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace podium::ir
