// Two results are compared as ONNX's own runner does: types and shapes exactly, numbers in double by an
// absolute and a relative tolerance, items of sequences one by one, up to the first that differs; of a
// tensor all elements, to say how many differ and where the most.
#include "executor/compare/results.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "executor/session/host_arrays.h"

namespace podium::compare {

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

// Calls `use` with a value of the C++ type of real elements.
template <class Use>
void with_real_type(DataType type, Use&& use) {
  switch (type) {
#define PODIUM_CASE(onnx, cpp) \
  case DataType::onnx:         \
    return use(cpp{})
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
    PODIUM_CASE(Float6E2M3, ir::Float6E2M3);
    PODIUM_CASE(Float6E3M2, ir::Float6E3M2);
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
    case DataType::Complex128:
    case DataType::String:
    case DataType::Undefined:
      throw Error("elements of type {} found, real numbers needed", name_of(type));
  }
}

// Where a difference is the largest so far: an element that is no number differs without end.
struct Worst {
  std::int64_t at = -1;
  double error = -1;

  void offer(std::int64_t place, double size) {
    if (std::isnan(size)) size = std::numeric_limits<double>::infinity();
    if (size > error) *this = {place, size};
  }
};

// "[0,3,17]"
std::string coordinates(const ir::Dims& dims, std::int64_t place) {
  ir::Dims found(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    found[axis] = place % dims[axis];
    place /= dims[axis];
  }
  return ir::to_string(found);
}

// Of numbers next to 1; 0 of whole numbers.
double unit_of(DataType type) {
  switch (type) {
    case DataType::Double:
      return 0x1p-52;
    case DataType::Float:
      return 0x1p-23;
    case DataType::Float16:
      return 0x1p-10;
    case DataType::Bfloat16:
      return 0x1p-7;
    default:
      return 0;
  }
}

// Sums in another order differ by a few units in the last place of the largest numbers that go into them.
bool is_rounding(const Comparison& result, double error, DataType type) {
  constexpr double kFew = 16;
  return std::isfinite(error) && error <= kFew * unit_of(type) * result.largest_number;
}

std::string size_of(const Comparison& result, double error) {
  if (!std::isfinite(error) || result.largest_number == 0) return "";
  const double share = error / result.largest_number;
  const std::string text = fmt::format("; error {:.2g}, {:.2g} of the largest number there ({:.4g})", error,
                                       share, result.largest_number);
  if (!result.is_rounding) return text;
  return text + fmt::format(", which looks like rounding (--tolerance-of-largest {:.0e} takes it)",
                            std::pow(10.0, std::ceil(std::log10(share))));
}

template <class T>
void compare_numbers(const Tensor& found, const Tensor& expected, const Tolerance& tolerance,
                     Comparison& result) {
  const T* left = found.data<T>();
  const T* right = expected.data<T>();
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double size = std::fabs(to_double(right[i]));
    if (std::isfinite(size)) result.largest_number = std::max(result.largest_number, size);
  }
  Tolerance by_element = tolerance;
  by_element.absolute += tolerance.of_largest * result.largest_number;
  Worst worst;
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const double a = to_double(left[i]);
    const double b = to_double(right[i]);
    if (a != b && !std::isnan(b)) result.largest_error = std::fmax(result.largest_error, std::fabs(a - b));
    if (close(a, b, by_element)) continue;
    ++result.differing;
    worst.offer(i, std::fabs(a - b));
  }
  if (result.differing == 0) return;
  result.is_rounding = is_rounding(result, worst.error, found.type());
  const double a = to_double(left[worst.at]);
  const double b = to_double(right[worst.at]);
  result.reason =
      fmt::format("{} of {} elements differ, most at {}: {} found, {} expected{}", result.differing,
                  found.size(), coordinates(found.dims(), worst.at), a, b, size_of(result, worst.error));
}

template <class T>
void compare_complex(const Tensor& found, const Tensor& expected, const Tolerance& tolerance,
                     Comparison& result) {
  const auto* left = found.data<std::complex<T>>();
  const auto* right = expected.data<std::complex<T>>();
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const auto a = left[i];
    const auto b = right[i];
    const double error = std::abs(a - b);
    result.largest_error = std::fmax(result.largest_error, error);
    if (!result.agrees() || error <= tolerance.absolute + tolerance.relative * std::abs(b)) continue;
    result.reason =
        fmt::format("element {} is {}{:+}i, {}{:+}i expected", i, a.real(), a.imag(), b.real(), b.imag());
  }
}

void compare_strings(const Tensor& found, const Tensor& expected, Comparison& result) {
  for (std::int64_t i = 0; i < found.size() && result.agrees(); ++i) {
    const std::string& a = found.data<std::string>()[i];
    const std::string& b = expected.data<std::string>()[i];
    if (a != b) result.reason = fmt::format("element {} is '{}', '{}' expected", i, a, b);
  }
}

void compare_tensors(const Tensor& found, const Tensor& expected, const Tolerance& tolerance,
                     Comparison& result) {
  if (found.type() != expected.type() || found.dims() != expected.dims()) {
    result.is_of_other_type = true;
    result.reason = fmt::format("{} found, {} expected", to_string(found.type_and_dims()),
                                to_string(expected.type_and_dims()));
    return;
  }
  switch (found.type()) {
    case DataType::Complex64:
      return compare_complex<float>(found, expected, tolerance, result);
    case DataType::Complex128:
      return compare_complex<double>(found, expected, tolerance, result);
    case DataType::String:
      return compare_strings(found, expected, result);
    default:
      with_real_type(found.type(),
                     [&](auto tag) { compare_numbers<decltype(tag)>(found, expected, tolerance, result); });
  }
}

void compare_into(const ir::Datum& found, const ir::Datum& expected, const Tolerance& tolerance,
                  Comparison& result) {
  if (found.holds != expected.holds) {
    result.is_of_other_type = true;
    result.reason =
        fmt::format("{} found, {} expected", to_string(type_of(found)), to_string(type_of(expected)));
    return;
  }
  if (found.is_tensor()) return compare_tensors(found.tensor, expected.tensor, tolerance, result);
  if (found.is_nothing()) return;
  if (found.items->size() != expected.items->size()) {
    result.is_of_other_type = true;
    result.reason = fmt::format("{} items found, {} expected", found.items->size(), expected.items->size());
    return;
  }
  for (std::size_t i = 0; i < found.items->size() && result.agrees(); ++i) {
    compare_into((*found.items)[i], (*expected.items)[i], tolerance, result);
    if (!result.agrees()) result.reason = fmt::format("item {}: {}", i, result.reason);
  }
}

}  // namespace

Comparison compare_results(const ir::Datum& found, const ir::Datum& expected, const Tolerance& tolerance) {
  Comparison result;
  compare_into(found, expected, tolerance, result);
  return result;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor left = cast(a, DataType::Double);
  const Tensor right = cast(b, DataType::Double);
  IR_CHECK(left.size() == right.size(), "{} and {} elements", left.size(), right.size());
  const double* found = left.data<double>();
  const double* wanted = right.data<double>();
  double largest = 0;
  for (std::int64_t i = 0; i < left.size(); ++i) {
    if (found[i] == wanted[i] || (std::isnan(found[i]) && std::isnan(wanted[i]))) continue;
    const double difference = std::fabs(found[i] - wanted[i]) / std::fmax(1.0, std::fabs(wanted[i]));
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

double element_as_double(const Tensor& tensor, std::int64_t i) {
  double number = 0;
  with_real_type(tensor.type(), [&](auto tag) { number = to_double(tensor.data<decltype(tag)>()[i]); });
  return number;
}

}  // namespace podium::compare
