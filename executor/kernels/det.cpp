// Determinants by Gaussian elimination with row exchanges, and cofactors by one that exchanges columns, too.
// In double.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/matmul_parts.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"

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

// A matrix A with rows and columns exchanged is L U, where L has ones along its diagonal. The transposed
// cofactors of A are a product of the cofactors of U and L. The cofactors of U need divisions only by its
// pivots but the last, so they exist even where A has no inverse: both exchanges bring the smallest pivot to
// the end, and where another pivot is 0, all cofactors are 0.
class Cofactors {
 public:
  explicit Cofactors(std::int64_t size) : size_(size), lu_(size * size), right_(lu_.size()) {}

  // From a matrix to its cofactors.
  void compute(double* matrix) {
    std::copy_n(matrix, size_ * size_, lu_.begin());
    eliminate();
    double product = sign_;  // of all pivots but the last
    for (std::int64_t i = 0; i + 1 < size_; ++i) product *= row(i)[i];
    if (product == 0) return void(std::fill_n(matrix, size_ * size_, 0.0));
    solve_lower();
    solve_upper();
    for (std::int64_t i = 0; i < size_; ++i) {
      const auto column = columns_[i];
      for (std::int64_t j = 0; j < size_; ++j) matrix[j * size_ + column] = product * right(i)[j];
    }
  }

 private:
  double* row(std::int64_t i) { return lu_.data() + i * size_; }
  double* right(std::int64_t i) { return right_.data() + i * size_; }

  void eliminate() {
    sign_ = 1;
    rows_.resize(size_);
    std::iota(rows_.begin(), rows_.end(), std::int64_t{0});
    columns_ = rows_;
    for (std::int64_t k = 0; k < size_; ++k) {
      exchange(k);
      const double* top = row(k);
      if (top[k] == 0) return;
      for (std::int64_t i = k + 1; i < size_; ++i) {
        double* below = row(i);
        below[k] /= top[k];
        for (std::int64_t j = k + 1; j < size_; ++j) below[j] -= below[k] * top[j];
      }
    }
  }

  // Brings the largest remaining element to the diagonal.
  void exchange(std::int64_t k) {
    std::int64_t at = k;
    std::int64_t column = k;
    for (std::int64_t i = k; i < size_; ++i) {
      for (std::int64_t j = k; j < size_; ++j) {
        if (std::abs(row(i)[j]) > std::abs(row(at)[column])) {
          at = i;
          column = j;
        }
      }
    }
    if (at != k) {
      std::swap_ranges(row(k), row(k) + size_, row(at));
      std::swap(rows_[k], rows_[at]);
      sign_ = -sign_;
    }
    if (column == k) return;
    for (std::int64_t i = 0; i < size_; ++i) std::swap(row(i)[k], row(i)[column]);
    std::swap(columns_[k], columns_[column]);
    sign_ = -sign_;
  }

  // L^-1 times the exchange of rows.
  void solve_lower() {
    std::fill(right_.begin(), right_.end(), 0.0);
    for (std::int64_t i = 0; i < size_; ++i) {
      right(i)[rows_[i]] = 1;
      for (std::int64_t k = 0; k < i; ++k) subtract(i, row(i)[k], k);
    }
  }

  // The adjugate of U times that, without the product of all pivots but the last: U is (V v; 0 s), its
  // adjugate (s / V, -v / V; 0, 1) times det(V).
  void solve_upper() {
    const std::int64_t last = size_ - 1;
    const double pivot = row(last)[last];
    for (std::int64_t i = last; i-- > 0;) {
      for (std::int64_t j = 0; j < size_; ++j) right(i)[j] *= pivot;
      subtract(i, row(i)[last], last);
      for (std::int64_t k = i + 1; k < last; ++k) subtract(i, row(i)[k], k);
      for (std::int64_t j = 0; j < size_; ++j) right(i)[j] /= row(i)[i];
    }
  }

  void subtract(std::int64_t from, double factor, std::int64_t what) {
    double* to = right(from);
    const double* by = right(what);
    for (std::int64_t j = 0; j < size_; ++j) to[j] -= factor * by[j];
  }

  std::int64_t size_;
  std::vector<double> lu_;
  std::vector<double> right_;
  std::vector<std::int64_t> rows_ = {};
  std::vector<std::int64_t> columns_ = {};
  double sign_ = 1;
};

}  // namespace

PreparedKernel prepare_cofactors(PrepareContext& context) {
  const std::int64_t size = context.dims(0).back();
  return dispatch<float, double>(context.element(0), [size](auto tag) {
    using T = decltype(tag);
    return PreparedKernel([size](const RunContext& run) {
      const T* x = run.input(0).template data<T>();
      T* y = run.output(0).template data<T>();
      Cofactors cofactors(size);
      std::vector<double> matrix(size * size);
      for (std::int64_t i = 0; i < run.input(0).size(); i += size * size) {
        std::copy_n(x + i, size * size, matrix.begin());
        cofactors.compute(matrix.data());
        std::transform(matrix.begin(), matrix.end(), y + i,
                       [](double value) { return static_cast<T>(value); });
      }
    });
  });
}

PreparedKernel prepare_det(PrepareContext& context) {
  const std::int64_t rows = context.dims(0).back();
  return [rows](const RunContext& run) {
    const Tensor& x = run.input(0);
    Tensor& y = run.output(0);
    const bool is_double = x.type() == DataType::Double;
    std::vector<double> matrix(rows * rows);
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
