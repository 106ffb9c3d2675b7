// Products by three ways, all of which give the same bits on any number of threads:
// - float: oneDNN's sgemm, one call per part of C. Parts are cut by the threads that the machine has, not by
//   those of the run, and each call has one thread, since oneDNN's order of sums depends on the number.
//   Without AVX-512, where sgemm takes twice the time for some lengths of rows, such products go block by
//   block through strips: of B, and of A where that lies transposed.
// - double and integers: Eigen, in blocks of 128 rows.
// - bytes: oneDNN's int8 products where the processor has VNNI (elsewhere they saturate in 16 bits), with an
//   unsigned B shifted by 128 and corrected by the sums of A's rows; else products of words.
#include "executor/kernels/tools/gemm.h"

#include <oneapi/dnnl/dnnl.h>
#include <Eigen/Core>
#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strip_products.h"
#include "executor/kernels/tools/thread_limit.h"
#include "executor/kernels/tools/word_products.h"
#include "ir/error.h"

namespace podium::kernels {
namespace {

// With every row length given.
Product completed(Product product) {
  if (product.row_a == 0) product.row_a = product.transpose_a ? product.m : product.k;
  if (product.row_b == 0) product.row_b = product.transpose_b ? product.k : product.n;
  if (product.row_c == 0) product.row_c = product.n;
  return product;
}

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using View = Eigen::Map<const RowMajor<T>, 0, Eigen::OuterStride<>>;
template <class T>
using MutableView = Eigen::Map<RowMajor<T>, 0, Eigen::OuterStride<>>;

// Rows [first, first + count) of C.
template <class T>
void multiply_rows(const Product& p, const T* a, const T* b, T* c, T alpha, std::int64_t first,
                   std::int64_t count) {
  const View<T> right(b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, Eigen::OuterStride<>(p.row_b));
  MutableView<T> out(c + first * p.row_c, count, p.n, Eigen::OuterStride<>(p.row_c));
  const auto add = [&](const auto& left) {
    if (p.transpose_b) {
      out.noalias() += alpha * (left * right.transpose());
    } else {
      out.noalias() += alpha * (left * right);
    }
  };
  if (p.transpose_a) {
    add(View<T>(a + first, p.k, count, Eigen::OuterStride<>(p.row_a)).transpose());
  } else {
    add(View<T>(a + first * p.row_a, count, p.k, Eigen::OuterStride<>(p.row_a)));
  }
}

template <class T>
void scale(const Product& p, T* c, T beta) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    T* row = c + i * p.row_c;
    if (beta == T{0}) {
      std::fill_n(row, p.n, T{0});
    } else if (beta != T{1}) {
      for (std::int64_t j = 0; j < p.n; ++j) row[j] *= beta;
    }
  }
}

// Eigen's own threads would choose blocks by their number; blocks of rows of a fixed size keep the sums the
// same.
template <class T>
void multiply_by_eigen(const Product& given, const T* a, const T* b, T* c, T alpha, T beta) {
  constexpr std::int64_t kRows = 128;
  const Product p = completed(given);
  scale(p, c, beta);
  if (p.m == 0 || p.n == 0 || p.k == 0) return;
  const std::int64_t blocks = (p.m + kRows - 1) / kRows;
#pragma omp parallel for if (blocks > 1 && p.flop() > 1e6) schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * kRows;
    multiply_rows(p, a, b, c, alpha, first, std::min(kRows, p.m - first));
  }
}

// How many rows and columns of C are computed by one thread.
struct Part {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// A part for each thread that the machine has, whatever the limit of the run: the longer side in halves.
Part part_of(const Product& p) {
  constexpr double kFlopWorthThreads = 2.5e5;
  constexpr std::int64_t kStep = 16;  // kernels compute so many at once
  std::int64_t down = 1;
  std::int64_t across = 1;
  const int threads = p.flop() < kFlopWorthThreads ? 1 : machine_threads();
  while (down * across < threads) (p.m / down >= p.n / across ? down : across) *= 2;
  const auto share = [](std::int64_t size, std::int64_t parts) {
    return parts == 1 ? size : ((size + parts - 1) / parts + kStep - 1) / kStep * kStep;
  };
  return {share(p.m, down), share(p.n, across)};
}

constexpr std::int64_t kBlockColumns = 512;
constexpr std::int64_t kBlockInner = 512;
constexpr std::int64_t kBlockRows = 48;  // with so many of A's numbers in a second-level cache

// Where sgemm multiplies without packing, rows that start in the same few lines of a cache drive each other
// out: those that go through B, or a transposed A, from one row to the next. Measured on a machine with AVX2:
// 34 to 67 GFLOP/s then, 85 elsewhere, and 80 to 90 by strips.
bool pays_by_strips(const Product& p, float alpha, float beta) {
  constexpr double kUnpacked = 0.0038;  // 1/m + 1/n from which oneDNN's sgemm does not pack
  constexpr std::int64_t kLeastRows = 48;
  constexpr std::int64_t kLeast = 64;
  constexpr std::int64_t kSameLines = 256;
  const bool is_packed = 1.0 / static_cast<double>(p.m) + 1.0 / static_cast<double>(p.n) < kUnpacked;
  const bool has_bad_a = p.transpose_a && p.row_a >= 2 * kSameLines && p.row_a % kSameLines == 0;
  const bool has_bad_b = !p.transpose_b && p.row_b >= 4 * kSameLines && p.row_b % kSameLines == 0;
  return !kLibraryPacksProducts && !is_packed && (has_bad_a || has_bad_b) && alpha == 1 &&
         (beta == 0 || beta == 1) && p.m >= kLeastRows && p.n >= kLeast && p.k >= kLeast;
}

// A block of B in strips, and so many columns of a transposed A as rows of C are computed at a time.
struct StripRoom {
  ir::Tensor b = ir::Tensor(ir::DataType::Float, {kBlockInner * (kBlockColumns + kStrip)});
  ir::Tensor a = ir::Tensor(ir::DataType::Float, {kBlockInner * (kBlockRows + kStrip)});
};

// Rows of a block of C, with strips of B that are there.
void multiply_rows_by_strips(const Product& p, const StripWeights& strips, const StripOperands& rows,
                             StripRoom& room) {
  if (!p.transpose_a) return multiply_strips(strips, rows, StripRange{0, strips.strips()});
  auto* const panels = room.a.data<float>();
  strips_of(
      {.at = rows.x, .inner = strips.inner, .columns = rows.rows, .row_step = p.row_a, .column_step = 1},
      panels);
  for (std::int64_t row = 0; row < rows.rows; row += kStrip) {
    StripOperands panel = rows;
    panel.x = panels + row * strips.inner;
    panel.turned_x = kStrip;
    panel.rows = std::min(kStrip, rows.rows - row);
    panel.y = rows.y + row * p.row_c;
    if (rows.addend != nullptr) panel.addend = panel.y;
    multiply_strips(strips, panel, StripRange{0, strips.strips()});
  }
}

void multiply_by_strips(const Product& p, const float* a, const float* b, float* c, float beta) {
  StripRoom room;
  for (std::int64_t column = 0; column < p.n; column += kBlockColumns) {
    const std::int64_t columns = std::min(kBlockColumns, p.n - column);
    for (std::int64_t inner = 0; inner < p.k; inner += kBlockInner) {
      const std::int64_t count = std::min(kBlockInner, p.k - inner);
      const StripWeights strips =
          strips_of({.at = p.transpose_b ? b + column * p.row_b + inner : b + inner * p.row_b + column,
                     .inner = count,
                     .columns = columns,
                     .row_step = p.transpose_b ? 1 : p.row_b,
                     .column_step = p.transpose_b ? p.row_b : 1},
                    room.b.data<float>());
      for (std::int64_t row = 0; row < p.m; row += kBlockRows) {
        float* y = c + row * p.row_c + column;
        multiply_rows_by_strips(p, strips,
                                {.x = p.transpose_a ? a + inner * p.row_a + row : a + row * p.row_a + inner,
                                 .row_x = p.row_a,
                                 .rows = std::min(kBlockRows, p.m - row),
                                 .y = y,
                                 .row_y = p.row_c,
                                 .addend = inner > 0 || beta == 1 ? y : nullptr},
                                room);
      }
    }
  }
}

// oneDNN compiles the code of its products at the first one: a static of a function says when that is.
struct RoomForProducts {
  RoomForProducts() { onednn::check_room_for_code(); }
};

}  // namespace

// oneDNN's order of sums depends on how many threads it has: always one here.
void multiply(const Product& product, const float* a, const float* b, float* c, float alpha, float beta) {
  const Product p = completed(product);
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) return scale(p, c, beta);
  static const RoomForProducts checked;
  const Part part = part_of(p);
  const std::int64_t across = (p.n + part.columns - 1) / part.columns;
  const std::int64_t count = (p.m + part.rows - 1) / part.rows * across;
  const auto cost = static_cast<std::int64_t>(p.flop()) / count;
  std::atomic<dnnl_status_t> failure = dnnl_success;
  parallel_ranges(count, cost, [&](std::int64_t begin, std::int64_t end) {
    const ThreadLimit alone(1);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / across * part.rows;
      const std::int64_t column = i % across * part.columns;
      Product one = p;
      one.m = std::min(part.rows, p.m - row);
      one.n = std::min(part.columns, p.n - column);
      const float* from_a = a + row * (p.transpose_a ? 1 : p.row_a);
      const float* from_b = b + column * (p.transpose_b ? p.row_b : 1);
      float* to = c + row * p.row_c + column;
      if (pays_by_strips(one, alpha, beta)) {
        multiply_by_strips(one, from_a, from_b, to, beta);
        continue;
      }
      const dnnl_status_t status =
          dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', one.m, one.n, p.k, alpha, from_a,
                     p.row_a, from_b, p.row_b, beta, to, p.row_c);
      if (status != dnnl_success) failure = status;
    }
  });
  if (failure == dnnl_out_of_memory) throw Error("out of memory: no room to compute a product in");
  IR_CHECK(failure == dnnl_success, "a product of {}x{}x{} with rows of {}, {} and {} failed", p.m, p.n, p.k,
           p.row_a, p.row_b, p.row_c);
}

void multiply(const Product& product, const double* a, const double* b, double* c, double alpha,
              double beta) {
  multiply_by_eigen(product, a, b, c, alpha, beta);
}

void multiply(const Product& product, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* c,
              std::uint32_t alpha, std::uint32_t beta) {
  multiply_by_eigen(product, a, b, c, alpha, beta);
}

void multiply(const Product& product, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* c,
              std::uint64_t alpha, std::uint64_t beta) {
  multiply_by_eigen(product, a, b, c, alpha, beta);
}

// Without VNNI instructions oneDNN's byte products saturate in 16 bits.
bool has_exact_byte_products() {
  static const bool is_exact = onednn::has_instructions(dnnl::cpu_isa::avx512_core_vnni);
  return is_exact;
}

namespace {

void multiply_in_library(const Product& p, const std::uint8_t* a, const std::int8_t* b, std::int32_t* c) {
  const std::int32_t none = 0;
  dnnl_gemm_u8s8s32('N', 'N', 'F', p.m, p.n, p.k, 1, a, p.k, 0, b, p.n, 0, 0, c, p.n, &none);
}

void multiply_in_library(const Product& p, const std::int8_t* a, const std::int8_t* b, std::int32_t* c) {
  const std::int32_t none = 0;
  dnnl_gemm_s8s8s32('N', 'N', 'F', p.m, p.n, p.k, 1, a, p.k, 0, b, p.n, 0, 0, c, p.n, &none);
}

template <class A>
void multiply_signed(const Product& p, const A* a, const std::int8_t* b, std::int32_t* c) {
  if (!has_exact_byte_products()) {
    const std::span numbers(b, static_cast<std::size_t>(p.k * p.n));
    return multiply_words(a, p.m, word_weights_of(numbers, p.k, p.n), c);
  }
  static const RoomForProducts checked;
  multiply_in_library(p, a, b, c);
}

// oneDNN takes a signed B: u = s + 128, so 128 times the sum of each row of A is missing afterwards.
template <class A>
void multiply_signed(const Product& p, const A* a, const std::uint8_t* b, std::int32_t* c) {
  std::vector<std::int8_t> shifted(p.k * p.n);
  for (std::size_t i = 0; i < shifted.size(); ++i) shifted[i] = static_cast<std::int8_t>(b[i] - 128);
  multiply_signed(p, a, shifted.data(), c);
  for (std::int64_t i = 0; i < p.m; ++i) {
    std::uint32_t sum = 0;
    for (std::int64_t j = 0; j < p.k; ++j) sum += static_cast<std::uint32_t>(a[i * p.k + j]);
    for (std::int64_t j = 0; j < p.n; ++j) {
      c[i * p.n + j] = static_cast<std::int32_t>(static_cast<std::uint32_t>(c[i * p.n + j]) + 128 * sum);
    }
  }
}

}  // namespace

template <class A, class B>
void multiply_bytes(const Product& product, const A* a, const B* b, std::int32_t* c) {
  if (product.k == 0) {
    std::fill_n(c, product.m * product.n, 0);
  } else if (product.m > 0 && product.n > 0) {
    multiply_signed(product, a, b, c);
  }
}

template void multiply_bytes(const Product&, const std::uint8_t*, const std::uint8_t*, std::int32_t*);
template void multiply_bytes(const Product&, const std::uint8_t*, const std::int8_t*, std::int32_t*);
template void multiply_bytes(const Product&, const std::int8_t*, const std::uint8_t*, std::int32_t*);
template void multiply_bytes(const Product&, const std::int8_t*, const std::int8_t*, std::int32_t*);

void for_each_product(std::int64_t count, double flop, const std::function<void(std::int64_t)>& one) {
  constexpr double kFlopWorthAThread = 1e6;
  constexpr double kFlopWorthAllThreads = 5e7;
  const bool side_by_side =
      count > 1 && flop < kFlopWorthAllThreads && flop * static_cast<double>(count) > kFlopWorthAThread;
  if (!side_by_side) {  // without a team, as for_each_on
    for (std::int64_t i = 0; i < count; ++i) one(i);
    return;
  }
  FirstException thrown;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) thrown.guard([&] { one(i); });
  thrown.rethrow();
}

}  // namespace podium::kernels
