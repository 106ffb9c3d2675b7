// Determinants by Gaussian elimination with row exchanges, in double.
#include <algorithm>
#include <cmath>

#include "executor/kernels/convert.h"
#include "executor/kernels/matmul_parts.h"

namespace podium::kernels {
namespace {

// Takes the matrix apart. (Eigen's LU does not compile without warnings under g++ 12 for AVX-512.)
double determinant(double* matrix, std::int64_t size) {
  double result = 1;
  for (std::int64_t column = 0; column < size; ++column) {
    std::int64_t pivot = column;
    for (std::int64_t i = column + 1; i < size; ++i) {
      if (std::abs(matrix[i * size + column]) > std::abs(matrix[pivot * size + column])) pivot = i;
    }
    double* top = matrix + column * size;
    if (pivot != column) {
      std::swap_ranges(top, top + size, matrix + pivot * size);
      result = -result;
    }
    result *= top[column];
    if (top[column] == 0) return result;
    for (std::int64_t i = column + 1; i < size; ++i) {
      double* row = matrix + i * size;
      const double factor = row[column] / top[column];
      for (std::int64_t j = column + 1; j < size; ++j) row[j] -= factor * top[j];
    }
  }
  return result;
}

}  // namespace

PreparedKernel prepare_det(PrepareContext& context) {
  const std::int64_t rows = context.dims(0).back();
  return [rows](const RunContext& run) {
    const Tensor& x = run.input(0);
    Tensor& y = run.output(0);
    const bool is_double = x.type() == DataType::Double;
    std::vector<double> matrix(static_cast<std::size_t>(rows * rows));
    std::vector<float> narrow(matrix.size());
    for (std::int64_t i = 0; i < y.size(); ++i) {
      if (is_double) {
        std::copy_n(x.data<double>() + i * rows * rows, rows * rows, matrix.begin());
      } else {
        to_float(x, i * rows * rows, rows * rows, narrow.data());
        std::copy(narrow.begin(), narrow.end(), matrix.begin());
      }
      const double result = determinant(matrix.data(), rows);
      const auto rounded = static_cast<float>(result);
      if (is_double) {
        y.data<double>()[i] = result;
      } else {
        from_float(&rounded, y, i, 1);
      }
    }
  };
}

}  // namespace podium::kernels
