#include "executor/kernels/fused/chain_loops.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace podium::kernels {
namespace {

template <ChainOperand kFirst, ChainOperand kSecond, class F>
void loop_of_two(const float* a, const float* b, float* y, std::int64_t count) {
  const F f;
  const float first = *a;
  const float second = *b;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = f(kFirst == ChainOperand::Number ? first : a[i], kSecond == ChainOperand::Number ? second : b[i]);
}

template <class F>
void loop_of_one(const float* a, const float* /*b*/, float* y, std::int64_t count) {
  const F f;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i]);
}

struct Loops {
  std::string_view op;
  ChainLoop of_pieces = nullptr;
  ChainLoop of_number_and_piece = nullptr;
  ChainLoop of_piece_and_number = nullptr;
};

template <class F>
Loops of_two(std::string_view op, F /*f*/) {
  return {op, loop_of_two<ChainOperand::Piece, ChainOperand::Piece, F>,
          loop_of_two<ChainOperand::Number, ChainOperand::Piece, F>,
          loop_of_two<ChainOperand::Piece, ChainOperand::Number, F>};
}

}  // namespace

ChainLoop find_chain_loop(const ir::Op& op, ChainOperand a, ChainOperand b) {
  static const Loops kLoops[]{
      of_two("Add", [](float x, float y) { return x + y; }),
      of_two("Sub", [](float x, float y) { return x - y; }),
      of_two("Mul", [](float x, float y) { return x * y; }),
      of_two("Div", [](float x, float y) { return x / y; }),
      {"Sqrt", loop_of_one<decltype([](float x) { return std::sqrt(x); })>},
  };
  if (!op.spec->domain.empty()) return nullptr;
  const auto* const found = std::ranges::find(kLoops, op.spec->name, &Loops::op);
  if (found == std::end(kLoops)) return nullptr;
  if (op.inputs.size() < 2 || a == b) return a == ChainOperand::Piece ? found->of_pieces : nullptr;
  return a == ChainOperand::Number ? found->of_number_and_piece : found->of_piece_and_number;
}

}  // namespace podium::kernels
