#include "ir/same.h"

#include <algorithm>
#include <bit>

namespace podium::ir {

bool same(const Tensor& a, const Tensor& b) {
  if (a.memory_id() == b.memory_id()) return a.type() == b.type() && a.dims() == b.dims();
  return a.bytes() <= kLargestCompared && identical(a, b);
}

namespace {

bool same(std::int64_t a, std::int64_t b) { return a == b; }
bool same(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }
bool same(const std::string& a, const std::string& b) { return a == b; }
bool same(const Type& a, const Type& b) { return a == b; }
bool same(const Body& a, const Body& b) { return a == b; }
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

}  // namespace

bool same_attribute(const Attribute& a, const Attribute& b) {
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  return visit_value([&]<class T>(const T& value) { return same(value, *value_if<T>(b.value)); }, a.value);
}

}  // namespace podium::ir
