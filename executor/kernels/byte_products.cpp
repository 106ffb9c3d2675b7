// Bytes are multiplied as they are, into int32, and zero points are taken off afterwards by the sums of rows
// and columns:  (A - a)(B - b) = AB - a (columns of B) - (rows of A) b + k a b  modulo 2^32.
// Constant weights are packed once for oneDNN, which takes a signed B: of unsigned ones 128 is taken off, and
// off their zero points too. The sums of their columns are kept with them. Without VNNI instructions oneDNN's
// byte products saturate: there they are packed for products of words.
#include "executor/kernels/byte_products.h"

#include <algorithm>
#include <array>
#include <optional>

#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/word_products.h"

namespace podium::kernels {
namespace {

using dnnl::memory;

template <class B>
std::vector<std::uint32_t> column_sums(const Product& p, const B* b) {
  std::vector<std::uint32_t> sums(p.n, 0);
  std::uint32_t* to = sums.data();
  for (std::int64_t l = 0; l < p.k; ++l) {
    const B* row = b + l * p.n;
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) to[j] += static_cast<std::uint32_t>(row[j]);
  }
  return sums;
}

template <class A>
std::uint32_t row_sum(const A* row, std::int64_t count) {
  std::uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t l = 0; l < count; ++l) sum += static_cast<std::uint32_t>(row[l]);
  return sum;
}

// Zero points of the rows and columns of one matrix.
struct ZeroPoints {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> columns;
  bool is_zero_in_columns = false;
};

// `columns`: sums of the columns of B.
template <class A>
void subtract_zero_points(const Product& p, const A* a, const std::uint32_t* columns, const ZeroPoints& zero,
                          std::int32_t* c) {
  for (std::int64_t r = 0; r < p.m; ++r) {
    const auto at_row = static_cast<std::uint32_t>(zero.rows[r]);
    const std::uint32_t row =
        zero.is_zero_in_columns ? 0 : row_sum(a + r * p.k, p.k) - static_cast<std::uint32_t>(p.k) * at_row;
    std::int32_t* out = c + r * p.n;
    const std::int32_t* at_column = zero.columns.data();
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) {
      const std::uint32_t taken = at_row * columns[j] + row * static_cast<std::uint32_t>(at_column[j]);
      out[j] = static_cast<std::int32_t>(static_cast<std::uint32_t>(out[j]) - taken);
    }
  }
}

// A constant B is held here: the engine may let go of what kernels keep for themselves.
template <class A, class B>
IntegerProducts plain_products(BatchedProduct plan, std::optional<Tensor> known) {
  return [plan = std::move(plan), known = std::move(known)](
             const RunContext& /*run*/, const Tensor& tensor_a, const Tensor& tensor_b,
             const Repeated<std::int32_t>& zero_a, const Repeated<std::int32_t>& zero_b, std::int32_t* c) {
    const Product& p = plan.product;
    const bool is_plain = zero_a.is_zero() && zero_b.is_zero();
    const B* all_b = (known ? *known : tensor_b).template data<B>();
    for_each_product(plan.count(), p.flop(), [&](std::int64_t i) {
      const A* a = tensor_a.data<A>() + plan.a[i];
      const B* b = all_b + plan.b[i];
      std::int32_t* out = c + i * p.m * p.n;
      multiply_bytes(p, a, b, out);
      if (is_plain) return;
      const std::int64_t first_row = p.k == 0 ? 0 : plan.a[i] / p.k;
      const std::int64_t first_column = p.k == 0 ? 0 : plan.b[i] / p.k;
      const ZeroPoints zero{zero_a.stretch(first_row, p.m), zero_b.stretch(first_column, p.n),
                            zero_b.is_zero()};
      subtract_zero_points(p, a, column_sums(p, b).data(), zero, out);
    });
  };
}

// Multiplies A by a signed B that has been packed.
using PackedProduct = std::function<void(const RunContext& run, const Tensor& a, std::int32_t* c)>;

// In oneDNN's layout. Scratch memory lies behind `scratch` bytes.
template <class A>
PackedProduct library_product(PrepareContext& context, const Product& p, const Tensor& b,
                              std::size_t scratch) {
  const auto type_a = std::is_signed_v<A> ? memory::data_type::s8 : memory::data_type::u8;
  const memory::desc a({p.m, p.k}, type_a, memory::dims{p.k, 1});
  const memory::desc given({p.k, p.n}, memory::data_type::s8, memory::dims{p.n, 1});
  const memory::desc any({p.k, p.n}, memory::data_type::s8, memory::format_tag::any);
  const memory::desc c({p.m, p.n}, memory::data_type::s32, memory::dims{p.n, 1});
  const dnnl::matmul::desc description(a, any, c);
  const dnnl::matmul::primitive_desc primitive(description, onednn::attributes(), onednn::cpu());
  const auto call =
      onednn::make_call(dnnl::matmul(primitive), primitive,
                        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, primitive.weights_desc()}, {DNNL_ARG_DST, c}});
  const std::size_t own = onednn::aligned(scratch);
  context.need_scratch(own + primitive.scratchpad_desc().get_size());
  return [call, own, weights = onednn::packed(context, b, given, primitive.weights_desc())](
             const RunContext& run, const Tensor& left, std::int32_t* to) {
    (*call)(std::array<const void*, 4>{left.raw(), weights.raw(), to, run.scratch_memory + own});
  };
}

template <class A>
PackedProduct word_product(const PrepareContext& context, const Product& p, const Tensor& b) {
  WordWeights weights{.inner = p.k, .columns = p.n};
  weights.numbers = kept(context, {.name = "pairs of bytes", .from = b}, word_weights_type(p.k, p.n),
                         [&](const Tensor& numbers) {
                           return word_weights_of(numbers.values<std::int8_t>(), p.k, p.n).numbers;
                         });
  return [rows = p.m, weights = std::move(weights)](const RunContext& /*run*/, const Tensor& left,
                                                    std::int32_t* to) {
    multiply_words(left.data<A>(), rows, weights, to);
  };
}

template <class A, class B>
IntegerProducts packed_products(PrepareContext& context, const Product& p, const Tensor& b,
                                std::size_t scratch) {
  constexpr std::int32_t kTakenOff = std::is_signed_v<B> ? 0 : 128;  // so that B is signed
  Tensor shifted = b;
  if (kTakenOff != 0) {
    shifted = Tensor(DataType::Int8, b.dims());
    std::transform(b.data<B>(), b.data<B>() + b.size(), shifted.data<std::int8_t>(),
                   [](B value) { return static_cast<std::int8_t>(value - kTakenOff); });
  }
  return [p, sums = column_sums(p, std::as_const(shifted).data<std::int8_t>()),
          multiply_packed = has_exact_byte_products() ? library_product<A>(context, p, shifted, scratch)
                                                      : word_product<A>(context, p, shifted)](
             const RunContext& run, const Tensor& left, const Tensor& /*b*/,
             const Repeated<std::int32_t>& zero_a, const Repeated<std::int32_t>& zero_b, std::int32_t* to) {
    multiply_packed(run, left, to);
    ZeroPoints zero{zero_a.stretch(0, p.m), zero_b.stretch(0, p.n), false};
    for (std::int32_t& point : zero.columns) point -= kTakenOff;
    zero.is_zero_in_columns =
        std::all_of(zero.columns.begin(), zero.columns.end(), [](std::int32_t point) { return point == 0; });
    if (zero.is_zero_in_columns && zero_a.is_zero()) return;
    subtract_zero_points(p, left.data<A>(), sums.data(), zero, to);
  };
}

}  // namespace

IntegerProducts prepare_integer_products(PrepareContext& context, BatchedProduct plan, std::size_t a,
                                         std::size_t b, std::size_t scratch) {
  const Product p = plan.product;
  const Tensor* weights = context.constant(b);
  const bool is_packed = weights != nullptr && plan.count() == 1 && p.m > 0 && p.n > 0 && p.k > 0;
  context.need_scratch(scratch);
  return dispatch<std::int8_t, std::uint8_t>(context.element(a), [&](auto tag_a) {
    return dispatch<std::int8_t, std::uint8_t>(context.element(b), [&](auto tag_b) -> IntegerProducts {
      using A = decltype(tag_a);
      using B = decltype(tag_b);
      return is_packed
                 ? packed_products<A, B>(context, p, *weights, scratch)
                 : plain_products<A, B>(std::move(plan), weights ? std::optional(*weights) : std::nullopt);
    });
  });
}

}  // namespace podium::kernels
