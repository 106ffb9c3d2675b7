// Resize's numbers: one pass along each axis, or for nearest one gather.
// The tensor is [outer, axis, inner] in each pass; axes that shrink most go first, identities are left out.
// Rows of inner elements are added up with their weights, so that memory is read in order. Mode nearest
// gathers through the product of the axes' indices by element size. Integers are computed in float or double
// and cut, with a slack for the last digits. What lies outside a crop is filled in at the end.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "executor/kernels/resize.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

// One pass: [outer, map.input, inner] to [outer, map.output, inner].
template <class T>
struct Pass {
  const AxisMap* map = nullptr;
  std::vector<T> weights = {};
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};

// The rounding of a sum of two is the same for rows and for elements.
template <class T>
T weighted(const T* weights, T a, T b) {
  return weights[0] * a + weights[1] * b;
}

template <class T>
void join_rows(const Pass<T>& pass, const T* x, T* y, std::int64_t o) {
  const std::int64_t taps = pass.map->taps;
  const std::int64_t* indices = pass.map->indices.data() + o * taps;
  const T* weights = pass.weights.data() + o * taps;
  if (taps == 2) {
    const T* a = x + indices[0] * pass.inner;
    const T* b = x + indices[1] * pass.inner;
    for (std::int64_t i = 0; i < pass.inner; ++i) y[i] = weighted(weights, a[i], b[i]);
    return;
  }
  std::fill_n(y, pass.inner, T{0});
  for (std::int64_t k = 0; k < taps; ++k) {
    if (weights[k] == T{0}) continue;
    const T* row = x + indices[k] * pass.inner;
    for (std::int64_t i = 0; i < pass.inner; ++i) y[i] += weights[k] * row[i];
  }
}

template <class T>
void join_elements(const Pass<T>& pass, const T* x, T* y) {
  const std::int64_t taps = pass.map->taps;
  const std::int64_t* indices = pass.map->indices.data();
  const T* weights = pass.weights.data();
  if (taps == 2) {
    for (std::int64_t o = 0; o < pass.map->output; ++o)
      y[o] = weighted(weights + 2 * o, x[indices[2 * o]], x[indices[2 * o + 1]]);
    return;
  }
  for (std::int64_t o = 0; o < pass.map->output; ++o, indices += taps, weights += taps) {
    T sum = 0;
    for (std::int64_t k = 0; k < taps; ++k) sum += weights[k] * x[indices[k]];
    y[o] = sum;
  }
}

// One of the outer parts.
template <class T>
void run_part(const Pass<T>& pass, const T* x, T* y) {
  if (pass.inner == 1) return join_elements(pass, x, y);
  for (std::int64_t o = 0; o < pass.map->output; ++o) join_rows(pass, x, y + o * pass.inner, o);
}

template <class T>
void run_pass(const Pass<T>& pass, const T* x, T* y) {
  const std::int64_t in = pass.map->input;
  const std::int64_t out = pass.map->output;
  if (pass.inner == 1) {
    parallel_ranges(pass.outer, out * pass.map->taps, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) join_elements(pass, x + row * in, y + row * out);
    });
    return;
  }
  parallel_ranges(pass.outer * out, pass.inner * pass.map->taps, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      join_rows(pass, x + i / out * in * pass.inner, y + i * pass.inner, i % out);
    }
  });
}

// Two passes, the first along an axis before the second's: the second takes each row that the first has made
// from the cache.
template <class T>
void run_both(const Pass<T>& first, const Pass<T>& second, const T* x, T* y) {
  const std::int64_t out = first.map->output;
  const std::int64_t part = second.map->input * second.inner;
  const std::int64_t parts = first.inner / part;
  const std::int64_t made = second.map->output * second.inner;
  const std::int64_t cost = first.inner * first.map->taps + parts * made * second.map->taps;
  parallel_ranges(first.outer * out, cost, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> row(first.inner);
    for (std::int64_t i = begin; i < end; ++i) {
      join_rows(first, x + i / out * first.map->input * first.inner, row.data(), i % out);
      for (std::int64_t k = 0; k < parts; ++k)
        run_part(second, row.data() + k * part, y + (i * parts + k) * made);
    }
  });
}

// Axes that shrink most go first, so that the later passes have less to do; unchanged axes are left out.
template <class T>
std::vector<Pass<T>> plan_passes(const std::vector<AxisMap>& maps) {
  std::vector<std::size_t> order;
  Dims sizes;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    sizes.push_back(maps[i].input);
    if (!maps[i].is_identity()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return maps[a].output * maps[b].input < maps[b].output * maps[a].input;
  });
  std::vector<Pass<T>> passes;
  for (std::size_t axis : order) {
    Pass<T> pass{.map = &maps[axis]};
    pass.weights.assign(maps[axis].weights.begin(), maps[axis].weights.end());
    pass.outer = count_of(sizes, 0, axis);
    pass.inner = count_of(sizes, axis + 1, sizes.size());
    sizes[axis] = maps[axis].output;
    passes.push_back(std::move(pass));
  }
  return passes;
}

// The last pass writes y, the others buffers of their own.
template <class T>
void run_passes(const std::vector<AxisMap>& maps, const T* x, T* y, std::int64_t size) {
  const std::vector<Pass<T>> passes = plan_passes<T>(maps);
  if (passes.empty()) std::copy_n(x, size, y);
  if (passes.size() == 2 && passes[0].inner > passes[1].inner) return run_both(passes[0], passes[1], x, y);
  std::vector<T> current;
  std::vector<T> next;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const Pass<T>& pass = passes[i];
    const bool is_last = i + 1 == passes.size();
    if (!is_last) next.resize(pass.outer * pass.map->output * pass.inner);
    run_pass(pass, i == 0 ? x : current.data(), is_last ? y : next.data());
    std::swap(current, next);
  }
}

// Cut to a whole number, but not for the last digits of the arithmetic: 2.9999999 is 3.
template <class Integer, class T>
Integer cut(T number) {
  constexpr T kSlack = std::is_same_v<T, float> ? T(1.0 / 4096) : T(1e-6);
  const T whole = std::trunc(number + std::copysign(kSlack, number));
  // The largest long integers are no doubles: compared with the power of two above.
  constexpr T kAbove = T(std::numeric_limits<Integer>::max() / 2 + 1) * 2;
  if (whole >= kAbove) return std::numeric_limits<Integer>::max();
  if (whole <= T(std::numeric_limits<Integer>::lowest())) return std::numeric_limits<Integer>::lowest();
  return static_cast<Integer>(whole);
}

template <class Integer>
void resize_integers(const std::vector<AxisMap>& maps, const Tensor& x, Tensor& y) {
  using Wide = std::conditional_t<sizeof(Integer) == 1, float, double>;
  const auto given = x.values<Integer>();
  const std::vector<Wide> wide(given.begin(), given.end());
  std::vector<Wide> result(y.size());
  run_passes(maps, wide.data(), result.data(), y.size());
  std::transform(result.begin(), result.end(), y.data<Integer>(), cut<Integer, Wide>);
}

// The sizes of memory that elements take; 16 bytes: complex128.
struct Bytes16 {
  std::uint64_t parts[2];
};

// Elements of one size, gathered through the product of the axes' indices. The last axes that stay as they
// are make runs; a row that looks where the one before did is a copy of it.
template <class Element>
void gather_nearest(const std::vector<AxisMap>& maps, const Element* x, Element* y) {
  Dims in;
  Dims out;
  for (const AxisMap& map : maps) {
    in.push_back(map.input);
    out.push_back(map.output);
  }
  std::size_t rank = maps.size();
  while (rank > 0 && maps[rank - 1].is_identity()) --rank;
  const std::int64_t run = count_of(out, rank, maps.size());
  if (rank == 0) {
    std::copy_n(x, run, y);
    return;
  }
  const Dims strides = strides_of(in);
  const AxisMap& last = maps[rank - 1];
  const std::int64_t rows = count_of(out, 0, rank - 1);
  const std::int64_t row_size = last.output * run;
  parallel_ranges(rows, row_size, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t before = -1;
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row;
      std::int64_t start = 0;
      for (std::size_t axis = rank - 1; axis-- > 0;) {
        start += maps[axis].indices[rest % out[axis]] * strides[axis];
        rest /= out[axis];
      }
      Element* to = y + row * row_size;
      if (std::exchange(before, start) == start) {
        std::copy_n(to - row_size, row_size, to);
        continue;
      }
      const Element* from = x + start;
      if (run == 1) {
        for (std::int64_t o = 0; o < last.output; ++o) to[o] = from[last.indices[o]];
      } else {
        for (std::int64_t o = 0; o < last.output; ++o, to += run)
          std::copy_n(from + last.indices[o] * run, run, to);
      }
    }
  });
}

template <class Element>
void gather_raw(const std::vector<AxisMap>& maps, const Tensor& x, Tensor& y) {
  gather_nearest(maps, static_cast<const Element*>(x.raw()), static_cast<Element*>(y.raw()));
}

// One number as an element of y's type.
Tensor element_of(double value, const Tensor& y) {
  Tensor element(y.type(), {1});
  const bool is_integer = ir::is_integer(y.type());
  if (y.type() == DataType::Double) {
    element.data<double>()[0] = value;
  } else if (y.type() == DataType::Bool) {
    element.data<bool>()[0] = value != 0;
  } else if (ir::is_float(y.type())) {
    const auto number = static_cast<float>(value);
    from_float(&number, element, 0, 1);
  } else if (is_integer) {
    dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
             std::uint32_t, std::uint64_t>(y.type(), [&](auto tag) {
      using T = decltype(tag);
      element.data<T>()[0] = cut<T>(value);
      return true;
    });
  } else {
    throw Error("tf_crop_and_resize is not defined for elements of type {}", ir::name_of(y.type()));
  }
  return element;
}

}  // namespace

void resize_nearest(const std::vector<AxisMap>& maps, const Tensor& x, Tensor& y) {
  if (y.size() == 0) return;
  if (x.type() == DataType::String) return gather_nearest(maps, x.data<std::string>(), y.data<std::string>());
  switch (ir::storage_bytes(x.type())) {
    case 1:
      return gather_raw<std::uint8_t>(maps, x, y);
    case 2:
      return gather_raw<std::uint16_t>(maps, x, y);
    case 4:
      return gather_raw<std::uint32_t>(maps, x, y);
    case 8:
      return gather_raw<std::uint64_t>(maps, x, y);
    default:
      return gather_raw<Bytes16>(maps, x, y);
  }
}

void resize_weighted(const std::vector<AxisMap>& maps, const Tensor& x, Tensor& y) {
  if (y.size() == 0) return;
  if (x.type() == DataType::Float) return run_passes(maps, x.data<float>(), y.data<float>(), y.size());
  if (x.type() == DataType::Double) return run_passes(maps, x.data<double>(), y.data<double>(), y.size());
  dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
           std::uint64_t>(x.type(), [&](auto tag) {
    resize_integers<decltype(tag)>(maps, x, y);
    return true;
  });
}

void fill_outside(const std::vector<AxisMap>& maps, double value, Tensor& y) {
  for (std::size_t axis = 0; axis < maps.size(); ++axis) {
    if (maps[axis].outside.empty() || y.size() == 0) continue;
    const Tensor element = element_of(value, y);
    const std::int64_t inner = count_of(y.dims(), axis + 1, y.dims().size());
    for (std::int64_t outer = 0; outer < count_of(y.dims(), 0, axis); ++outer) {
      for (std::int64_t o : maps[axis].outside) {
        const std::int64_t first = (outer * maps[axis].output + o) * inner;
        fill_elements(y.type(), element.raw(), element_at(y.raw(), y.type(), first), inner);
      }
    }
  }
}

}  // namespace podium::kernels
