// Depthwise convolutions, plane by plane, with vectors along rows.
// A plane, one channel of one image, has slices of rows of columns. One of X is brought into a core's cache
// with its padding, and cut into phases: of strides 2 and 2 the even and the odd rows, and of each the even
// and the odd columns. What a tap of the window sees at places beside each other lies beside each other in
// one phase, so that a vector of results adds, tap by tap, a weight times eight numbers in a row, whatever
// the strides are. The transposed convolution has phases of its results instead: those of a phase see the
// same taps, and a plane of Y is put together from its phases. The gradient of the weights keeps a vector of
// sums a tap, to which each eight places of a plane add what flows there times what the tap sees; rows of
// what flows end with zeros in the lanes that no place has. While a plane is computed the next one is
// prefetched, since to bring a plane and to compute with it take turns.
#include "executor/kernels/conv_planes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "executor/kernels/row_vectors.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/winograd.h"

namespace podium::kernels {
namespace {

using ir::kRowLanes;

constexpr int kMostPlacesAtOnce = 8;

std::int64_t whole_vectors(std::int64_t numbers) { return (numbers + kRowLanes - 1) / kRowLanes * kRowLanes; }

// Slices of rows of columns; what the window lacks has one element.
template <class T>
struct OfAxes {
  T slices;
  T rows;
  T columns;
};

OfAxes<RowAxis> plane_axes(const ir::Window& window) {
  return {row_axis(window, 2), row_axis(window, 1), row_axis(window, 0)};
}

// A tap along one axis.
struct AxisTap {
  std::int64_t number = 0;  // in the kernel
  std::int64_t phase = 0;   // of what is read
  std::int64_t place = 0;   // in the phase, of what result 0 sees
};

// Results along one axis that see the same taps: `first`, then each a step further.
struct AxisResults {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<AxisTap> taps = {};
};

// What is read and what comes of it along one axis.
struct AxisPlan {
  std::int64_t input = 1;
  std::int64_t pad = 0;     // at the begin of what is read
  std::int64_t phases = 1;  // of what is read
  std::int64_t output = 1;
  std::vector<AxisResults> results = {};

  // Of a phase, so that `rounded(count)` results see no end of it.
  template <class Rounded>
  std::int64_t size(const Rounded& rounded) const {
    std::int64_t most = 0;
    for (const AxisResults& some : results) {
      for (const AxisTap& tap : some.taps) most = std::max(most, tap.place + rounded(some.count));
    }
    return most;
  }
};

AxisPlan forward_plan(const RowAxis& axis) {
  AxisPlan plan{.input = axis.input, .pad = axis.pad, .phases = axis.stride, .output = axis.output};
  AxisResults all{.count = axis.output};
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t at = k * axis.dilation;
    all.taps.push_back({.number = k, .phase = at % axis.stride, .place = at / axis.stride});
  }
  plan.results.push_back(std::move(all));
  return plan;
}

// Result o of a transposed window sees, with tap k, what is at (o + pad - k x dilation) / stride, where this
// is a whole number.
AxisPlan transposed_plan(const RowAxis& axis) {
  AxisPlan plan{.input = axis.input, .output = axis.output};
  std::int64_t earliest = 0;
  for (std::int64_t first = 0; first < std::min(axis.stride, axis.output); ++first) {
    AxisResults some{.first = first, .count = (axis.output - first + axis.stride - 1) / axis.stride};
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t at = first + axis.pad - k * axis.dilation;
      if (at % axis.stride != 0) continue;
      some.taps.push_back({.number = k, .place = at / axis.stride});
      earliest = std::min(earliest, at / axis.stride);
    }
    plan.results.push_back(std::move(some));
  }
  plan.pad = -earliest;
  for (AxisResults& some : plan.results) {
    for (AxisTap& tap : some.taps) tap.place += plan.pad;
  }
  return plan;
}

// A plane as kernels read it: phases of slices, of rows and of columns, with padding.
struct PlaneInput {
  OfAxes<AxisPlan> axes;
  std::int64_t slices = 0;  // of a phase
  std::int64_t rows = 0;
  std::int64_t pitch = 0;  // from row to row

  std::int64_t slice() const { return rows * pitch; }
  std::int64_t phase() const { return slices * slice(); }
  std::int64_t size() const { return axes.slices.phases * axes.rows.phases * axes.columns.phases * phase(); }
  std::int64_t numbers() const { return axes.slices.input * axes.rows.input * axes.columns.input; }
  std::int64_t results() const { return axes.slices.output * axes.rows.output * axes.columns.output; }
  std::int64_t first_of(std::int64_t slice_phase, std::int64_t row_phase) const {
    return (slice_phase * axes.rows.phases + row_phase) * axes.columns.phases * phase();
  }

  // `to` has zeros where there is padding.
  void bring(const float* from, float* to) const;
  void bring_slice(const float* from, float* to) const;
  void bring_row(const float* from, float* to) const;
  std::int64_t place_of(const OfAxes<AxisTap>& tap) const {
    return first_of(tap.slices.phase, tap.rows.phase) + tap.columns.phase * phase() +
           tap.slices.place * slice() + tap.rows.place * pitch + tap.columns.place;
  }
};

PlaneInput plane_input(OfAxes<AxisPlan> axes) {
  const auto as_it_is = [](std::int64_t count) { return count; };
  PlaneInput input{.axes = std::move(axes)};
  input.slices = input.axes.slices.size(as_it_is);
  input.rows = input.axes.rows.size(as_it_is);
  input.pitch = input.axes.columns.size(whole_vectors);
  return input;
}

void PlaneInput::bring_row(const float* from, float* to) const {
  const AxisPlan& width = axes.columns;
  if (width.phases == 1) {
    const std::int64_t count = std::min(width.input, pitch - width.pad);
    if (count > 0) std::memcpy(to + width.pad, from, count * sizeof(float));
    return;
  }
  for (std::int64_t phase = 0; phase < width.phases; ++phase) {
    // The first column of the phase that is no padding.
    const std::int64_t first = (phase + width.phases - width.pad % width.phases) % width.phases;
    const std::int64_t begin = (first + width.pad) / width.phases;
    const std::int64_t count =
        std::min((width.input - first + width.phases - 1) / width.phases, pitch - begin);
    float* const line = to + phase * this->phase() + begin;
    if (width.phases == 2) {
      for (std::int64_t i = 0; i < count; ++i) line[i] = from[first + 2 * i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) line[i] = from[first + width.phases * i];
    }
  }
}

void PlaneInput::bring_slice(const float* from, float* to) const {
  for (std::int64_t row = 0; row < axes.rows.input; ++row) {
    const std::int64_t at = row + axes.rows.pad;
    if (at / axes.rows.phases >= rows) break;
    bring_row(from + row * axes.columns.input,
              to + first_of(0, at % axes.rows.phases) + at / axes.rows.phases * pitch);
  }
}

void PlaneInput::bring(const float* from, float* to) const {
  const std::int64_t slice_of_x = axes.rows.input * axes.columns.input;
  for (std::int64_t number = 0; number < axes.slices.input; ++number) {
    const std::int64_t at = number + axes.slices.pad;
    if (at / axes.slices.phases >= slices) break;
    bring_slice(from + number * slice_of_x,
                to + first_of(at % axes.slices.phases, 0) + at / axes.slices.phases * slice());
  }
}

// A tap of the window.
struct PlaneTap {
  std::int64_t from = 0;
  std::int64_t weight = 0;
};

// Results that see the same taps.
struct PlaneResults {
  OfAxes<std::int64_t> first = {};
  OfAxes<std::int64_t> count = {};
  std::vector<PlaneTap> taps = {};
  std::vector<RowPlace> places = {};
};

// Brings a plane towards the core while another one is computed, a piece at a time.
class Ahead {
 public:
  // Numbers from `begin` on, in so many pieces.
  Ahead(const float* begin, std::int64_t numbers, std::int64_t pieces)
      : next_(begin),
        end_(begin + numbers),
        step_((numbers + pieces - 1) / std::max<std::int64_t>(pieces, 1)) {}

  void bring_piece() {
    constexpr std::int64_t kLine = 16;  // of a cache
    const float* const end = std::min(next_ + step_, end_);
    for (; next_ < end; next_ += kLine) __builtin_prefetch(next_, 0, 2);
  }

 private:
  const float* next_;
  const float* end_;
  std::int64_t step_;
};

struct PlaneConv {
  PlaneInput input;
  std::int64_t planes = 1;
  std::int64_t channels = 1;
  std::int64_t kernel_size = 1;
  OfAxes<std::int64_t> step = {1, 1, 1};  // from result to result, in Y
  std::vector<PlaneResults> results = {};

  std::int64_t out_row() const { return input.axes.columns.output; }
  std::int64_t out_slice() const { return input.axes.rows.output * out_row(); }
  // Whether full vectors of results lie in Y as they are computed.
  bool is_direct(const PlaneResults& some) const {
    return step.slices == 1 && step.rows == 1 && step.columns == 1 && some.count.columns >= kRowLanes;
  }
  std::int64_t pitch_of(const PlaneResults& some) const {
    return is_direct(some) ? out_row() : whole_vectors(some.count.columns);
  }
  static EvenTiles tiles_of(const PlaneResults& some) { return {std::ssize(some.places), kMostPlacesAtOnce}; }
  std::int64_t held_of(const PlaneResults& some) const {
    return some.count.slices * some.count.rows * pitch_of(some);
  }
  void give(std::span<const PlaneResults> phases, const float* held, std::int64_t apart, float* y) const;
  void run(const float* x, const float* weights, const float* bias, float* y) const;
};

// Puts results of all phases of columns, which lie so far apart, into their places of a plane of Y.
void PlaneConv::give(std::span<const PlaneResults> phases, const float* held, std::int64_t apart,
                     float* y) const {
  const PlaneResults& even = phases[0];
  for (std::int64_t slice = 0; slice < even.count.slices; ++slice) {
    float* const to_slice = y + (even.first.slices + slice * step.slices) * out_slice();
    for (std::int64_t row = 0; row < even.count.rows; ++row) {
      float* const to = to_slice + (even.first.rows + row * step.rows) * out_row();
      const std::int64_t line = slice * even.count.rows + row;
      std::int64_t done = 0;
      if (phases.size() == 2 && step.columns == 2) {
        const float* const first = held + line * pitch_of(even);
        const float* const second = held + apart + line * pitch_of(phases[1]);
        for (; done < phases[1].count.columns; ++done) {
          to[2 * done] = first[done];
          to[2 * done + 1] = second[done];
        }
      }
      for (std::size_t phase = 0; phase < phases.size(); ++phase) {
        const PlaneResults& some = phases[phase];
        const float* const from = held + phase * apart + line * pitch_of(some);
        for (std::int64_t column = done; column < some.count.columns; ++column)
          to[some.first.columns + column * step.columns] = from[column];
      }
    }
  }
}

template <int kPlaces>
void convolve_plane_places(const std::vector<PlaneTap>& taps, const float* x, const float* weights,
                           float bias, const RowPlace* places, float* to) {
  RowVector sums[kPlaces];
  const float* from[kPlaces];
#pragma GCC unroll 8
  for (int p = 0; p < kPlaces; ++p) {
    sums[p] = all_lanes(bias);
    from[p] = x + places[p].from;
  }
  for (const PlaneTap& tap : taps) {
    const RowVector weight = all_lanes(weights[tap.weight]);
#pragma GCC unroll 8
    for (int p = 0; p < kPlaces; ++p) sums[p] += weight * load_row(from[p] + tap.from);
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPlaces; ++p) std::memcpy(to + places[p].to, &sums[p], sizeof(RowVector));
}

void PlaneConv::run(const float* x, const float* weights, const float* bias, float* y) const {
  parallel_ranges(planes, input.results() * kernel_size, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> brought(input.size(), 0.0F);
    std::int64_t apart = 0;
    std::int64_t tiles_of_plane = 0;
    for (const PlaneResults& some : results) {
      apart = std::max(apart, held_of(some));
      tiles_of_plane += tiles_of(some).count();
    }
    const std::size_t phases = input.axes.columns.results.size();
    std::vector<float> held(phases * apart);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t channel = plane % channels;
      input.bring(x + plane * input.numbers(), brought.data());
      float* const to = y + plane * input.results();
      Ahead ahead(x + (plane + 1) * input.numbers(), plane + 1 < end ? input.numbers() : 0, tiles_of_plane);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const PlaneResults& some = results[i];
        float* const computed = is_direct(some) ? to : held.data() + i % phases * apart;
        const EvenTiles tiles = tiles_of(some);
        for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
          ahead.bring_piece();
          with_constant<kMostPlacesAtOnce>(tiles.size(tile), [&](auto places) {
            convolve_plane_places<places>(some.taps, brought.data(), weights + channel * kernel_size,
                                          bias == nullptr ? 0.0F : bias[channel],
                                          &some.places[tiles.first(tile)], computed);
          });
        }
        if (!is_direct(some) && i % phases + 1 == phases)
          give({&results[i + 1 - phases], phases}, held.data(), apart, to);
      }
    }
  });
}

// The last vector of a row begins so far before its end that it is full, where the row is long enough.
void place_results(const PlaneConv& conv, PlaneResults& some) {
  const std::int64_t pitch = conv.pitch_of(some);
  for (std::int64_t slice = 0; slice < some.count.slices; ++slice) {
    for (std::int64_t row = 0; row < some.count.rows; ++row) {
      const std::int64_t to = (slice * some.count.rows + row) * pitch;
      const std::int64_t from = slice * conv.input.slice() + row * conv.input.pitch;
      for (std::int64_t column = 0; column < some.count.columns; column += kRowLanes) {
        const std::int64_t begin =
            conv.is_direct(some) ? std::min(column, some.count.columns - kRowLanes) : column;
        some.places.push_back({.to = to + begin, .from = from + begin});
      }
    }
  }
}

PlaneInput input_of_planes(const ConvShape& shape) {
  const OfAxes<RowAxis> axes = plane_axes(shape.window);
  const auto plan = shape.transposed ? transposed_plan : forward_plan;
  return plane_input({plan(axes.slices), plan(axes.rows), plan(axes.columns)});
}

// Calls use(tap, its number in the kernel) for the taps that results with these along each axis see.
template <class Use>
void for_each_tap(const OfAxes<const AxisResults*>& of, const OfAxes<RowAxis>& axes, const Use& use) {
  for (const AxisTap& slice : of.slices->taps) {
    for (const AxisTap& row : of.rows->taps) {
      for (const AxisTap& column : of.columns->taps) {
        const std::int64_t line = slice.number * axes.rows.kernel + row.number;
        use(OfAxes<AxisTap>{slice, row, column}, line * axes.columns.kernel + column.number);
      }
    }
  }
}

void add_results(const OfAxes<const AxisResults*>& of, const OfAxes<RowAxis>& axes, PlaneConv& conv) {
  PlaneResults some{.first = {of.slices->first, of.rows->first, of.columns->first},
                    .count = {of.slices->count, of.rows->count, of.columns->count}};
  for_each_tap(of, axes, [&](const OfAxes<AxisTap>& tap, std::int64_t number) {
    some.taps.push_back({.from = conv.input.place_of(tap), .weight = number});
  });
  place_results(conv, some);
  conv.results.push_back(std::move(some));
}

PlaneConv plan_planes(const ConvShape& shape) {
  const OfAxes<RowAxis> axes = plane_axes(shape.window);
  PlaneConv conv{.input = input_of_planes(shape),
                 .planes = shape.batch * shape.group,
                 .channels = shape.group,
                 .kernel_size = shape.kernel_size};
  if (shape.transposed) conv.step = {axes.slices.stride, axes.rows.stride, axes.columns.stride};
  for (const AxisResults& slices : conv.input.axes.slices.results) {
    for (const AxisResults& rows : conv.input.axes.rows.results) {
      for (const AxisResults& columns : conv.input.axes.columns.results)
        add_results({&slices, &rows, &columns}, axes, conv);
    }
  }
  return conv;
}

struct PlaneGradient {
  PlaneInput input;
  std::int64_t images = 1;
  std::int64_t channels = 1;
  std::vector<std::int64_t> taps = {};  // what result 0 sees

  std::int64_t slices() const { return input.axes.slices.output; }
  std::int64_t rows() const { return input.axes.rows.output; }
  std::int64_t columns() const { return input.axes.columns.output; }
  std::int64_t flow_pitch() const { return whole_vectors(columns()); }
  void bring_flow(const float* from, float* to) const;
  void run(const float* x, const float* flow, float* weights) const;
};

void PlaneGradient::bring_flow(const float* from, float* to) const {
  for (std::int64_t row = 0; row < slices() * rows(); ++row)
    std::memcpy(to + row * flow_pitch(), from + row * columns(), columns() * sizeof(float));
}

// Which lanes of what taps see count: all, since nothing flows in those behind a row, or those of the row
// alone, where there may be numbers that make NaNs of zeros.
enum class Seen { AllLanes, LanesOfRow };

// Adds what a plane gives to the sums of some taps.
template <int kTaps, Seen kSeen>
void add_plane(const PlaneGradient& op, const float* x, const float* flow, const std::int64_t* taps,
               RowVector* kept, Ahead& ahead) {
  RowVector sums[kTaps];
#pragma GCC unroll 20
  for (int t = 0; t < kTaps; ++t) sums[t] = kept[t];
  for (std::int64_t slice = 0; slice < op.slices(); ++slice, x += op.input.slice()) {
    const float* seen = x;
    for (std::int64_t row = 0; row < op.rows(); ++row, seen += op.input.pitch, flow += op.flow_pitch()) {
      ahead.bring_piece();
      for (std::int64_t column = 0; column < op.flow_pitch(); column += kRowLanes) {
        const RowVector flowing = load_row(flow + column);
        const RowMask of_row = lanes_before(op.columns() - column);
#pragma GCC unroll 20
        for (int t = 0; t < kTaps; ++t) {
          const RowVector loaded = load_row(seen + column + taps[t]);
          sums[t] += flowing * (kSeen == Seen::AllLanes ? loaded : only(of_row, loaded));
        }
      }
    }
  }
#pragma GCC unroll 20
  for (int t = 0; t < kTaps; ++t) kept[t] = sums[t];
}

// The plane of a channel in each image, brought and added up.
struct ChannelSums {
  std::vector<float> brought;
  std::vector<float> flowing;
  std::vector<RowVector> sums;
};

template <Seen kSeen>
void sum_channel(const PlaneGradient& op, const float* x, const float* flow, std::int64_t channel,
                 float* weights, ChannelSums& room) {
  const std::int64_t kernel_size = std::ssize(op.taps);
  const EvenTiles tiles{kernel_size, kRowAccumulators};
  std::fill(room.sums.begin(), room.sums.end(), RowVector{});
  for (std::int64_t image = 0; image < op.images; ++image) {
    const std::int64_t plane = image * op.channels + channel;
    op.input.bring(x + plane * op.input.numbers(), room.brought.data());
    op.bring_flow(flow + plane * op.input.results(), room.flowing.data());
    const bool has_next = image + 1 < op.images;
    Ahead ahead(has_next ? x + (plane + op.channels) * op.input.numbers() : x,
                has_next ? op.input.numbers() : 0, tiles.count() * op.slices() * op.rows());
    for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
      const std::int64_t first = tiles.first(tile);
      with_constant<kRowAccumulators>(tiles.size(tile), [&](auto some) {
        add_plane<some, kSeen>(op, room.brought.data(), room.flowing.data(), &op.taps[first],
                               &room.sums[first], ahead);
      });
    }
  }
  for (std::int64_t t = 0; t < kernel_size; ++t) weights[t] = sum_of_lanes(room.sums[t]);
}

void PlaneGradient::run(const float* x, const float* flow, float* weights) const {
  const auto kernel_size = taps.size();
  parallel_ranges(channels, images * input.results() * std::ssize(taps),
                  [&](std::int64_t begin, std::int64_t end) {
                    ChannelSums room{.brought = std::vector<float>(input.size(), 0.0F),
                                     .flowing = std::vector<float>(slices() * rows() * flow_pitch(), 0.0F),
                                     .sums = std::vector<RowVector>(kernel_size)};
                    for (std::int64_t channel = begin; channel < end; ++channel) {
                      float* const to = weights + channel * std::ssize(taps);
                      sum_channel<Seen::AllLanes>(*this, x, flow, channel, to, room);
                      if (!are_finite({to, kernel_size}))
                        sum_channel<Seen::LanesOfRow>(*this, x, flow, channel, to, room);
                    }
                  });
}

PlaneGradient plan_plane_gradient(const ConvShape& shape) {
  PlaneGradient op{.input = input_of_planes(shape), .images = shape.batch, .channels = shape.group};
  const OfAxes<AxisPlan>& plans = op.input.axes;
  for_each_tap({&plans.slices.results[0], &plans.rows.results[0], &plans.columns.results[0]},
               plane_axes(shape.window),
               [&](const OfAxes<AxisTap>& tap, std::int64_t) { op.taps.push_back(op.input.place_of(tap)); });
  return op;
}

}  // namespace

FloatConv make_plane_conv(const ConvShape& shape) {
  const auto conv = std::make_shared<const PlaneConv>(plan_planes(shape));
  return {0, [conv](const float* x, const float* weights, const float* bias, float* y,
                    std::byte* /*scratch*/) { conv->run(x, weights, bias, y); }};
}

FloatWeightGradient make_plane_weight_gradient(const ConvShape& shape) {
  const auto op = std::make_shared<const PlaneGradient>(plan_plane_gradient(shape));
  return {0, [op](const float* x, const float* flow, float* weights, std::byte* /*scratch*/) {
            op->run(x, flow, weights);
          }};
}

}  // namespace podium::kernels
