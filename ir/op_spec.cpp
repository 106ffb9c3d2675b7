#include "ir/op_spec.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/error.h"
#include "ir/ops/families.h"

namespace podium::ir {

AttributeSpec with_default(std::string_view name, AttributeValue value) {
  const AttributeKind kind = kind_of(value);
  return {name, kind, false, std::move(value)};
}

const AttributeSpec* OpSpec::find_attribute(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const AttributeSpec& spec) { return spec.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::span<const OpSpec* const> all_ops() {
  static const std::vector<const OpSpec*> rows = [] {
    std::vector<const OpSpec*> all;
    for (const auto& family : op_families()) {
      for (const OpSpec& spec : family()) all.push_back(&spec);
    }
    return all;
  }();
  return rows;
}

const OpSpec* find_op(std::string_view domain, std::string_view name) {
  static const auto by_name = [] {
    std::map<std::pair<std::string_view, std::string_view>, const OpSpec*> index;
    for (const OpSpec* spec : all_ops()) {
      const bool is_new = index.emplace(std::pair{spec->domain, spec->name}, spec).second;
      IR_CHECK(is_new, "two rows for {} {}", spec->domain, spec->name);
    }
    return index;
  }();
  const auto found = by_name.find({domain == "ai.onnx" ? "" : domain, name});
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace podium::ir
