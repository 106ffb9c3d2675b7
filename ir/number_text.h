// The way from text to numbers. Every room takes this one.
#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace podium::ir {

/// The number that a text begins with, which is taken off; nullopt, and the text as it was, where there is
/// none that T holds. Neither blanks nor a plus sign are skipped.
template <class T>
std::optional<T> take_number(std::string_view& text) {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// The whole text as a number; nullopt for any other text, and for a number that T does not hold.
template <class T>
std::optional<T> number_of(std::string_view text) {
  const std::optional<T> value = take_number<T>(text);
  return text.empty() ? value : std::nullopt;
}

/// The same between two bounds, which are allowed.
template <class T>
std::optional<T> number_of(std::string_view text, T least, T most) {
  const std::optional<T> value = number_of<T>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

/// Whether a text begins with a number beyond those that T holds.
template <class T>
bool is_beyond(std::string_view text) {
  T value{};
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range;
}

/// The whole text as a number; beyond the type's numbers it is infinite, or zero.
template <class T>
std::optional<T> rounded_number_of(std::string_view text) {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || failure == std::errc::invalid_argument) return std::nullopt;
  if (failure == std::errc()) return value;
  // from_chars does not say on which side the number is.
  return static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
}

}  // namespace podium::ir
