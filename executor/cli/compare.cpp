#include "executor/cli/compare.h"

#include <cmath>
#include <complex>

namespace podium::cli {

using ir::DataType;
using ir::Tensor;

namespace {

template <class T>
double to_double(const T& value) {
  if constexpr (requires { static_cast<double>(value); }) {
    return static_cast<double>(value);
  } else if constexpr (requires { static_cast<float>(value); }) {
    return static_cast<float>(value);
  } else {
    return static_cast<int>(value);
  }
}

bool close(double found, double expected, const Tolerance& tolerance) {
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) && std::isnan(expected);
  if (found == expected) return true;
  return std::fabs(found - expected) <= tolerance.absolute + tolerance.relative * std::fabs(expected);
}

template <class T>
std::string compare_numbers(const Tensor& found, const Tensor& expected, const Tolerance& tolerance) {
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const double a = to_double(found.data<T>()[i]);
    const double b = to_double(expected.data<T>()[i]);
    if (!close(a, b, tolerance)) return fmt::format("element {} is {}, {} expected", i, a, b);
  }
  return "";
}

template <class T>
std::string compare_complex(const Tensor& found, const Tensor& expected, const Tolerance& tolerance) {
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const std::complex<T> a = found.data<std::complex<T>>()[i];
    const std::complex<T> b = expected.data<std::complex<T>>()[i];
    if (std::abs(a - b) > tolerance.absolute + tolerance.relative * std::abs(b)) {
      return fmt::format("element {} is {}+{}i, {}+{}i expected", i, a.real(), a.imag(), b.real(), b.imag());
    }
  }
  return "";
}

std::string compare_strings(const Tensor& found, const Tensor& expected) {
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const std::string& a = found.data<std::string>()[i];
    const std::string& b = expected.data<std::string>()[i];
    if (a != b) return fmt::format("element {} is '{}', '{}' expected", i, a, b);
  }
  return "";
}

std::string compare_tensors(const Tensor& found, const Tensor& expected, const Tolerance& tolerance) {
  if (found.type() != expected.type() || found.dims() != expected.dims()) {
    return fmt::format("{} found, {} expected", to_string(found.type_and_dims()), to_string(expected.type_and_dims()));
  }
  switch (found.type()) {
#define PODIUM_CASE(onnx, cpp) \
  case DataType::onnx:         \
    return compare_numbers<cpp>(found, expected, tolerance)
    PODIUM_CASE(Float, float);
    PODIUM_CASE(Double, double);
    PODIUM_CASE(Float16, ir::Float16);
    PODIUM_CASE(Bfloat16, ir::Bfloat16);
    PODIUM_CASE(Float8E4M3FN, ir::Float8E4M3FN);
    PODIUM_CASE(Float8E4M3FNUZ, ir::Float8E4M3FNUZ);
    PODIUM_CASE(Float8E5M2, ir::Float8E5M2);
    PODIUM_CASE(Float8E5M2FNUZ, ir::Float8E5M2FNUZ);
    PODIUM_CASE(Float8E8M0, ir::Float8E8M0);
    PODIUM_CASE(Float4E2M1, ir::Float4E2M1);
    PODIUM_CASE(Int8, std::int8_t);
    PODIUM_CASE(Int16, std::int16_t);
    PODIUM_CASE(Int32, std::int32_t);
    PODIUM_CASE(Int64, std::int64_t);
    PODIUM_CASE(Uint8, std::uint8_t);
    PODIUM_CASE(Uint16, std::uint16_t);
    PODIUM_CASE(Uint32, std::uint32_t);
    PODIUM_CASE(Uint64, std::uint64_t);
    PODIUM_CASE(Bool, bool);
    PODIUM_CASE(Int4, ir::Int4);
    PODIUM_CASE(Uint4, ir::Uint4);
    PODIUM_CASE(Int2, ir::Int2);
    PODIUM_CASE(Uint2, ir::Uint2);
#undef PODIUM_CASE
    case DataType::Complex64:
      return compare_complex<float>(found, expected, tolerance);
    case DataType::Complex128:
      return compare_complex<double>(found, expected, tolerance);
    case DataType::String:
      return compare_strings(found, expected);
    case DataType::Undefined:
      break;
  }
  return "no type";
}

}  // namespace

std::string difference(const ir::Datum& found, const ir::Datum& expected, const Tolerance& tolerance) {
  if (found.holds != expected.holds) {
    return fmt::format("{} found, {} expected", to_string(type_of(found)), to_string(type_of(expected)));
  }
  if (found.is_tensor()) return compare_tensors(found.tensor, expected.tensor, tolerance);
  if (found.is_nothing()) return "";
  if (found.items->size() != expected.items->size()) {
    return fmt::format("{} items found, {} expected", found.items->size(), expected.items->size());
  }
  for (std::size_t i = 0; i < found.items->size(); ++i) {
    const std::string text = difference((*found.items)[i], (*expected.items)[i], tolerance);
    if (!text.empty()) return fmt::format("item {}: {}", i, text);
  }
  return "";
}

}  // namespace podium::cli
