// Small references in double for ops of other domains, worked out element by element.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/gradients.h"
#include "tests/support/near.h"
#include "tests/support/run_text.h"

namespace podium::testing {

using Doubles = std::vector<double>;

inline Doubles doubles(const ir::Datum& datum) { return values<double>(datum); }

inline Doubles each(const Doubles& x, const std::function<double(double)>& f) {
  Doubles y = x;
  std::transform(y.begin(), y.end(), y.begin(), f);
  return y;
}

/// f of the elements of both; those of the shorter one come again and again.
inline Doubles both(const Doubles& a, const Doubles& b, const std::function<double(double, double)>& f) {
  Doubles y;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    y.push_back(f(a[i % a.size()], b[i % b.size()]));
  return y;
}
inline Doubles sum_of(const Doubles& a, const Doubles& b) { return both(a, b, std::plus<>()); }

inline double gelu_by_hand(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
inline double tanh_gelu_by_hand(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
inline double sigmoid_by_hand(double x) { return 1 / (1 + std::exp(-x)); }

/// [rows, inner] times [inner, columns].
inline Doubles product_by_hand(const Doubles& a, const Doubles& b, std::size_t inner) {
  const std::size_t rows = a.size() / inner;
  const std::size_t columns = b.size() / inner;
  Doubles y(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < inner; ++k) {
      for (std::size_t j = 0; j < columns; ++j) y[i * columns + j] += a[i * inner + k] * b[k * columns + j];
    }
  }
  return y;
}

/// [rows, columns] with both changed.
inline Doubles transposed_by_hand(const Doubles& x, std::size_t columns) {
  Doubles y;
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = j; i < x.size(); i += columns) y.push_back(x[i]);
  }
  return y;
}

/// Rows of `width` elements, each less its mean and divided by its deviation, scaled and shifted.
inline Doubles layer_norm_by_hand(const Doubles& x, const Doubles& scale, const Doubles& bias,
                                  double epsilon) {
  const std::size_t width = scale.size();
  Doubles y;
  for (std::size_t row = 0; row < x.size(); row += width) {
    double mean = 0;
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) squares += std::pow(x[row + i] - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) {
      y.push_back((x[row + i] - mean) / deviation * scale[i] + (bias.empty() ? 0 : bias[i]));
    }
  }
  return y;
}

/// Rows divided by the root of the mean of their squares.
inline Doubles rms_norm_by_hand(const Doubles& x, const Doubles& scale, double epsilon) {
  const std::size_t width = scale.size();
  Doubles y;
  for (std::size_t row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += x[row + i] * x[row + i];
    const double root = std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) y.push_back(x[row + i] / root * scale[i]);
  }
  return y;
}

/// [batch, length, heads, size].
struct HeadsByHand {
  std::size_t batch = 0;
  std::size_t length = 0;
  std::size_t heads = 0;
  std::size_t size = 0;
  Doubles data = {};

  double& at(std::size_t b, std::size_t i, std::size_t h, std::size_t d) {
    return data[((b * length + i) * heads + h) * size + d];
  }
  double at(std::size_t b, std::size_t i, std::size_t h, std::size_t d) const {
    return data[((b * length + i) * heads + h) * size + d];
  }
  /// The same as [batch, heads, length, size].
  Doubles heads_first() const {
    Doubles y;
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t i = 0; i < length; ++i) {
          for (std::size_t d = 0; d < size; ++d) y.push_back(at(b, i, h, d));
        }
      }
    }
    return y;
  }
  static HeadsByHand from_heads_first(std::size_t batch, std::size_t length, std::size_t heads,
                                      std::size_t size, const Doubles& data) {
    HeadsByHand y{batch, length, heads, size, Doubles(data.size())};
    std::size_t next = 0;
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t i = 0; i < length; ++i) {
          for (std::size_t d = 0; d < size; ++d) y.at(b, i, h, d) = data[next++];
        }
      }
    }
    return y;
  }
};

/// `first` and then `second` along the positions.
inline HeadsByHand followed_by(const HeadsByHand& first, const HeadsByHand& second) {
  HeadsByHand y{first.batch, first.length + second.length, first.heads, first.size, {}};
  y.data.resize(y.batch * y.length * y.heads * y.size);
  for (std::size_t b = 0; b < y.batch; ++b) {
    for (std::size_t i = 0; i < y.length; ++i) {
      for (std::size_t h = 0; h < y.heads; ++h) {
        for (std::size_t d = 0; d < y.size; ++d) {
          y.at(b, i, h, d) = i < first.length ? first.at(b, i, h, d) : second.at(b, i - first.length, h, d);
        }
      }
    }
  }
  return y;
}

inline constexpr double kHidden = -std::numeric_limits<double>::infinity();
/// What is added to the score of row i of Q with position j.
using BiasByHand = std::function<double(std::size_t b, std::size_t h, std::size_t i, std::size_t j)>;

struct AttentionByHand {
  double scale = 0;  ///< 0: one over the root of the size
  double softcap = 0;
  BiasByHand bias = [](auto...) { return 0.0; };
  std::function<double(std::size_t h)> sink = [](auto...) { return kHidden; };
};

/// softmax(Q K' scale + bias) V, head by head; heads of Q share those of K in groups. [batch, rows, heads *
/// size].
inline Doubles attention_by_hand(const HeadsByHand& q, const HeadsByHand& k, const HeadsByHand& v,
                                 const AttentionByHand& how = {}) {
  HeadsByHand y{q.batch, q.length, q.heads, v.size, Doubles(q.batch * q.length * q.heads * v.size)};
  const double scale = how.scale == 0 ? 1 / std::sqrt(static_cast<double>(q.size)) : how.scale;
  for (std::size_t b = 0; b < q.batch; ++b) {
    for (std::size_t h = 0; h < q.heads; ++h) {
      const std::size_t shared = h / (q.heads / k.heads);
      for (std::size_t i = 0; i < q.length; ++i) {
        Doubles weights;
        double total = std::exp(how.sink(h));
        for (std::size_t j = 0; j < k.length; ++j) {
          double score = 0;
          for (std::size_t d = 0; d < q.size; ++d) score += q.at(b, i, h, d) * k.at(b, j, shared, d);
          score *= scale;
          if (how.softcap > 0) score = how.softcap * std::tanh(score / how.softcap);
          weights.push_back(std::exp(score + how.bias(b, h, i, j)));
          total += weights.back();
        }
        for (std::size_t j = 0; j < k.length; ++j) {
          for (std::size_t d = 0; d < v.size; ++d)
            y.at(b, i, h, d) += weights[j] / total * v.at(b, j, shared, d);
        }
      }
    }
  }
  return y.data;
}

/// Columns [from, to) of rows of `width` elements.
inline Doubles columns_by_hand(const Doubles& x, std::size_t width, std::size_t from, std::size_t to) {
  Doubles y;
  for (std::size_t row = 0; row < x.size(); row += width) {
    for (std::size_t i = from; i < to; ++i) y.push_back(x[row + i]);
  }
  return y;
}

}  // namespace podium::testing
