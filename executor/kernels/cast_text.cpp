// Numbers to text as NumPy prints them, and text to numbers.
// Printing takes the shortest digits that read back as the same number of the type and places the point as
// NumPy does: plain between 1e-4 and 1e16, else with an exponent. Parsing takes whole numbers exactly and
// everything else by way of a double; True and False, nan and inf are words in any case.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "executor/kernels/cast.h"
#include "executor/kernels/tools/dispatch.h"
#include "ir/number_text.h"

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::Tensor;

// "d.ddd" and an exponent, as few digits as tell the number from its neighbours in T.
template <class T>
std::string shortest_scientific(T value) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) {
    return {text, std::to_chars(text, std::end(text), value, std::chars_format::scientific).ptr};
  } else {
    const auto wide = static_cast<float>(value);
    for (int digits = 0;; ++digits) {
      const char* end = std::to_chars(text, std::end(text), wide, std::chars_format::scientific, digits).ptr;
      const std::string_view found(static_cast<const char*>(text), end);
      if (digits == 9 || static_cast<float>(T(ir::number_of<float>(found).value_or(0))) == wide)
        return std::string(found);
    }
  }
}

// "12.0", "0.001", and "1.5e-05" where the number is below 1e-4 or from 1e16 on.
std::string as_numpy(std::string_view scientific) {
  std::string sign;
  if (scientific.front() == '-') {
    sign = "-";
    scientific.remove_prefix(1);
  }
  const std::size_t e = scientific.find('e');
  const std::size_t first = scientific[e + 1] == '+' ? e + 2 : e + 1;
  const int exponent = ir::number_of<int>(scientific.substr(first)).value();
  std::string digits(scientific.substr(0, e));
  std::erase(digits, '.');
  const int count = digits.size();
  if (exponent < -4 || exponent >= 16) {
    if (count > 1) digits.insert(1, ".");
    return sign + digits + std::string(scientific.substr(e));
  }
  if (exponent < 0) return sign + "0." + std::string(-exponent - 1, '0') + digits;
  if (count <= exponent + 1) {
    return sign + digits + std::string(exponent + 1 - count, '0') + ".0";
  }
  digits.insert(exponent + 1, ".");
  return sign + digits;
}

template <class T>
std::string printed(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (requires { static_cast<int>(value); } && !std::is_floating_point_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else {
    const double number = static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value);
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
    return as_numpy(shortest_scientific(value));
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

bool same_letters(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// All of the text, which may begin with a plus sign, as a number of type T.
template <class T>
std::optional<T> all_of(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  if constexpr (std::is_floating_point_v<T>) {
    return ir::rounded_number_of<T>(text);
  } else {
    return ir::number_of<T>(text);
  }
}

template <class T>
T parsed_float(const std::string& original) {
  if (const auto value = all_of<T>(trimmed(original))) return *value;
  throw Error("\"{}\" is not a number", original);
}

// Whole numbers exactly, others ("100.5", "1e3") towards zero.
template <class T>
void parse_integer(const std::string& original, T& out) {
  if (const auto value = all_of<T>(trimmed(original))) {
    out = *value;
    return;
  }
  Tensor number = Tensor::scalar(parsed_float<double>(original));
  Tensor whole(ir::data_type_of<T>, {});
  convert_numbers(number, whole, 0, 1, {});
  out = *whole.data<T>();
}

bool parsed_bool(const std::string& original) {
  const std::string_view text = trimmed(original);
  if (same_letters(text, "true")) return true;
  return !same_letters(text, "false") && parsed_float<double>(original) != 0;
}

}  // namespace

void print_numbers(const Tensor& from, Tensor& to) {
  using namespace ir;  // NOLINT: every type of numbers
  const auto out = to.values<std::string>();
  dispatch<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ,
           Float8E5M2, Float8E5M2FNUZ, Float8E8M0, Float4E2M1, Float6E2M3, Float6E3M2, Int4, Uint4, Int2,
           Uint2>(from.type(), [&](auto tag) {
    const auto values = from.values<decltype(tag)>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = printed(values[i]);
    return true;
  });
}

void parse_numbers(const Tensor& from, Tensor& to, const CastOptions& options) {
  const auto texts = from.values<std::string>();
  const auto each = [&](auto* out, const auto& parse) {
    for (std::size_t i = 0; i < texts.size(); ++i) parse(texts[i], out[i]);
  };
  if (to.type() == DataType::Bool) {
    each(to.data<bool>(), [](const std::string& text, bool& out) { out = parsed_bool(text); });
  } else if (to.type() == DataType::Float) {
    each(to.data<float>(), [](const std::string& text, float& out) { out = parsed_float<float>(text); });
  } else if (to.type() == DataType::Uint64) {
    each(to.data<std::uint64_t>(),
         [](const std::string& text, std::uint64_t& out) { parse_integer(text, out); });
  } else if (ir::is_integer(to.type())) {
    Tensor wide(DataType::Int64, to.dims());
    each(wide.data<std::int64_t>(),
         [](const std::string& text, std::int64_t& out) { parse_integer(text, out); });
    convert_numbers(wide, to, 0, to.size(), options);
  } else {
    Tensor wide(DataType::Double, to.dims());
    each(wide.data<double>(), [](const std::string& text, double& out) { out = parsed_float<double>(text); });
    convert_numbers(wide, to, 0, to.size(), options);
  }
}

}  // namespace podium::kernels
