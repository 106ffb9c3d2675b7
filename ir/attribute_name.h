// The name of an attribute: text that lasts as long as the program, so that a copy is two words and takes no
// memory.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace podium::ir {

class AttributeName {
 public:
  constexpr AttributeName() = default;
  /// A literal lasts on its own.
  template <std::size_t N>
  consteval AttributeName(const char (&literal)[N]) : text_(literal, N - 1) {}
  /// Other text is kept, once for all names that are equal. Any thread may ask.
  AttributeName(std::string_view text);
  AttributeName(const std::string& text) : AttributeName(std::string_view(text)) {}

  constexpr std::string_view text() const { return text_; }
  constexpr operator std::string_view() const { return text_; }
  constexpr bool starts_with(std::string_view prefix) const { return text_.starts_with(prefix); }

  friend constexpr bool operator==(AttributeName a, AttributeName b) { return a.text_ == b.text_; }
  template <std::convertible_to<std::string_view> T>
  friend constexpr bool operator==(AttributeName a, const T& b) {
    return a.text_ == std::string_view(b);
  }

 private:
  std::string_view text_;
};

}  // namespace podium::ir

template <>
struct fmt::formatter<podium::ir::AttributeName> : fmt::formatter<fmt::string_view> {
  auto format(podium::ir::AttributeName name, fmt::format_context& context) const {
    return formatter<fmt::string_view>::format(fmt::string_view(name.text().data(), name.text().size()),
                                               context);
  }
};
