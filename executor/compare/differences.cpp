#include "executor/compare/differences.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "executor/session/host_arrays.h"

namespace podium::compare {
namespace {

double distance(double a, double b) {
  const double size = std::fabs(a - b);
  return std::isnan(size) ? std::numeric_limits<double>::infinity() : size;
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

Differences differences(const ir::Tensor& found, const ir::Tensor& expected) {
  IR_CHECK(found.type() == expected.type() && found.dims() == expected.dims(), "{} beside {}",
           to_string(found.type_and_dims()), to_string(expected.type_and_dims()));
  Differences result;
  if (identical(found, expected)) return result;
  const ir::Tensor left = cast(found, ir::DataType::Double);
  const ir::Tensor right = cast(expected, ir::DataType::Double);
  const std::size_t bytes = found.bytes() / static_cast<std::size_t>(found.size());
  const auto at = [&](const ir::Tensor& tensor, std::int64_t i) {
    return static_cast<const char*>(tensor.raw()) + static_cast<std::size_t>(i) * bytes;
  };
  for (std::int64_t i = 0; i < found.size(); ++i) {
    if (std::memcmp(at(found, i), at(expected, i), bytes) == 0) continue;
    const double a = left.data<double>()[i];
    const double b = right.data<double>()[i];
    if (same_number(a, b)) {
      ++(std::isnan(a) ? result.nans : result.zeros);
      if (result.worst < 0 && !std::isnan(a)) result.worst = i;
      continue;
    }
    const double size = distance(a, b);
    if (result.numbers++ == 0 || size > result.largest) {
      result.worst = i;
      result.largest = size;
    }
  }
  return result;
}

std::int64_t first_beyond(const ir::Tensor& found, const ir::Tensor& expected, const ir::Tensor& bounds) {
  const ir::Tensor left = cast(found, ir::DataType::Double);
  const ir::Tensor right = cast(expected, ir::DataType::Double);
  std::int64_t worst = -1;
  double most = 1;
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const double a = left.data<double>()[i];
    const double b = right.data<double>()[i];
    if (same_number(a, b)) continue;
    const double bound = bounds.data<double>()[i];
    // Where the magnitudes overflow, so may their sum in one order and not in another.
    if (std::isinf(bound) || (std::isnan(bound) && !std::isfinite(b))) continue;
    const bool is_finite = std::isfinite(a) && std::isfinite(b) && std::isfinite(bound);
    const double times =
        !is_finite || bound == 0 ? std::numeric_limits<double>::infinity() : distance(a, b) / bound;
    if (times <= most) continue;
    most = times;
    worst = i;
  }
  return worst;
}

}  // namespace podium::compare
