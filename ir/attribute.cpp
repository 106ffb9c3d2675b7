#include "ir/attribute.h"

#include <array>

namespace podium::ir {
namespace {

constexpr std::size_t kMostShown = 8;

template <class T, class Show>
std::string list(const T& values, Show show) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size() && i < kMostShown; ++i)
    text += (i == 0 ? "" : ",") + show(values[i]);
  if (values.size() > kMostShown) text += fmt::format(",... {} in all", values.size());
  return text + "]";
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

struct Show {
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const Tensor& value) const { return to_string(value.type_and_dims()); }
  std::string operator()(const Type& value) const { return to_string(value); }
  std::string operator()(const Body& /*body*/) const { return "graph"; }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return list(values, [](const T& value) { return Show{}(value); });
  }
};

}  // namespace

std::string_view name_of(AttributeKind kind) {
  constexpr std::array<std::string_view, 12> kNames{"int",     "float",   "string", "tensor",
                                                    "type",    "graph",   "ints",   "floats",
                                                    "strings", "tensors", "types",  "graphs"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_string(const AttributeValue& value) { return visit_value(Show{}, value); }

}  // namespace podium::ir
