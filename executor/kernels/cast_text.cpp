// Numbers to text as NumPy prints them, and text to numbers.
// Printing takes the shortest digits that read back as the same number of the type and places the point as
// NumPy does: plain between 1e-4 and 1e16, else with an exponent. Parsing takes whole numbers exactly and
// everything else by way of a double; True and False, nan and inf are words in any case.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "executor/kernels/cast.h"
#include "executor/kernels/tools/dispatch.h"

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
      float back = 0;
      std::from_chars(text, end, back);
      if (digits == 9 || static_cast<float>(T(back)) == wide)
        return std::string(static_cast<const char*>(text), end);
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
  const int exponent = std::stoi(std::string(scientific.substr(e + 1)));
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
bool parse_all(std::string_view text, T& value) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && end == text.data() + text.size()) {
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
      return true;
    }
  }
  return error == std::errc() && end == text.data() + text.size();
}

template <class T>
T parsed_float(const std::string& original) {
  T value = 0;
  if (!parse_all(trimmed(original), value)) throw Error("\"{}\" is not a number", original);
  return value;
}

// Whole numbers exactly, others ("100.5", "1e3") towards zero.
template <class T>
void parse_integer(const std::string& original, T& out) {
  const std::string_view text = trimmed(original);
  if (parse_all(text, out)) return;
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
