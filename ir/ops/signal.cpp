// Fourier transforms, windows, mel filters.
// The points of a DFT are its length input, else the axis (2 (n - 1) back from one side); a one-sided
// spectrum has n / 2 + 1 of them. An STFT has 1 + (samples - frame) / step frames. Work of a transform is the
// usual 5 n log2 n.
#include <algorithm>
#include <cmath>

#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {
namespace {

// The number in a scalar input; nullopt when it is not known yet. A tensor of one element is taken too.
std::optional<std::int64_t> known_int(const InferContext& context, std::size_t i) {
  const Type& type = context.input(i);
  if (type.is_static() && type.element_count() != 1)
    throw Error("{} is {}, one number needed", context.op.spec->inputs[i].name, to_string(type));
  const Tensor* tensor = context.constant(i);
  return tensor == nullptr ? std::nullopt : std::optional(tensor->to_ints()[0]);
}

std::int64_t at_least_one(std::int64_t value, std::string_view what) {
  if (value < 1) throw Error("{} is {}, at least 1 needed", what, value);
  return value;
}

// Points of the transform on a dimension of `size`; kUnknown when a length is given but not known.
std::int64_t dft_points(const InferContext& context, std::int64_t size, bool to_real) {
  if (context.has_input(1)) {
    const auto length = known_int(context, 1);
    return length ? at_least_one(*length, "dft_length") : kUnknown;
  }
  if (size == kUnknown) return kUnknown;
  return at_least_one(to_real ? 2 * (size - 1) : size, "the number of points to transform");
}

void infer_dft(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  const auto rank = std::ssize(dims);
  if (rank < 2) throw Error("input has shape {}, rank 2 or more needed", to_string(dims));
  if (dims.back() != 1 && dims.back() != 2 && dims.back() != kUnknown) {
    throw Error("the last dimension is {}, 1 (real) or 2 (complex) needed", dims.back());
  }
  const bool onesided = context.get_int("onesided") != 0;
  const bool to_real = onesided && context.get_int("inverse") != 0;
  dims.back() = to_real ? 1 : 2;
  const auto axis = context.has_input(2) ? known_int(context, 2) : std::optional<std::int64_t>(-2);
  if (!axis) {
    std::fill(dims.begin(), dims.end() - 1, kUnknown);
  } else {
    std::int64_t& size = dims[normalized_axis(*axis, rank)];
    if (&size == &dims.back()) throw Error("axis {} holds the real and imaginary parts", *axis);
    const std::int64_t points = dft_points(context, size, to_real);
    size = onesided && !to_real && points != kUnknown ? points / 2 + 1 : points;
  }
  context.set_output(0, context.element(0), std::move(dims));
}

// Length of one frame of an STFT; kUnknown when not known yet.
std::int64_t frame_length(const InferContext& context) {
  std::int64_t length = kUnknown;
  if (context.has_input(2) && context.has_rank(2)) {
    if (context.dims(2).size() != 1)
      throw Error("window has shape {}, rank 1 needed", to_string(context.dims(2)));
    length = context.dims(2)[0];
    if (length != kUnknown) at_least_one(length, "the size of window");
  }
  if (!context.has_input(3)) {
    if (!context.has_input(2)) throw Error("neither window nor frame_length is there, one needed");
    return length;
  }
  const auto given = known_int(context, 3);
  if (!given) return length;
  if (length != kUnknown && length != *given) {
    throw Error("window has {} elements and frame_length is {}: they must be the same", length, *given);
  }
  return at_least_one(*given, "frame_length");
}

void infer_stft(InferContext& context) {
  const std::int64_t length = frame_length(context);
  const auto step = known_int(context, 1);
  if (step) at_least_one(*step, "frame_step");
  Dims dims{kUnknown, kUnknown, kUnknown, 2};
  if (length != kUnknown) dims[2] = context.get_int("onesided") != 0 ? length / 2 + 1 : length;
  if (context.has_rank(0)) {
    const Dims& signal = context.dims(0);
    const bool fits = signal.size() == 2 || (signal.size() == 3 && signal[2] <= 2 && signal[2] != 0);
    if (!fits)
      throw Error("signal has shape {}, [batch, length] or [batch, length, 1 or 2] needed",
                  to_string(signal));
    dims[0] = signal[0];
    if (signal[1] != kUnknown && length != kUnknown && length > signal[1]) {
      throw Error("signal has {} samples, at least one frame of {} needed", signal[1], length);
    }
    if (signal[1] != kUnknown && length != kUnknown && step) dims[1] = 1 + (signal[1] - length) / *step;
  }
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_window(InferContext& context) {
  const auto size = known_int(context, 0);
  if (size && *size < 0) throw Error("size is {}, 0 or more needed", *size);
  context.set_output(0, *named_type(context, "output_datatype", kNumeric), {size ? *size : kUnknown});
}

void infer_mel(InferContext& context) {
  const auto bins = known_int(context, 0);
  const auto length = known_int(context, 1);
  known_int(context, 2);  // the rate: a kernel reads its only number
  context.set_output(0, *named_type(context, "output_datatype", kNumeric),
                     {length ? at_least_one(*length, "dft_length") / 2 + 1 : kUnknown,
                      bins ? at_least_one(*bins, "num_mel_bins") : kUnknown});
}

// 5 n log2 n operations for each transform of n complex points, as is usual to count.
Work work_of_transforms(const TypedOp& op, std::size_t axis) {
  const Type& output = op.output(0);
  if (!output.is_static() || output.element_count() == 0) return {};
  const auto points = static_cast<double>(output.dims[axis]);
  return {.flop = 2.5 * static_cast<double>(output.element_count()) * std::log2(std::max(points, 2.0)),
          .bytes = io_bytes(op)};
}

Work work_of_dft(const TypedOp& op) {
  const Tensor* axis = op.constant(2);
  const std::int64_t rank = op.output(0).rank();
  const std::int64_t where = axis != nullptr ? axis->to_ints()[0] : -2;
  return work_of_transforms(op, where < 0 ? where + rank : where);
}

Work work_of_stft(const TypedOp& op) { return work_of_transforms(op, 2); }

OpSpec window(std::string_view name) {
  return {.name = name,
          .since = 17,
          .gained = 17,
          .inputs = {{"size", 'I'}},
          .outputs = {{"output", 'T'}},
          .types = {{'I', kIndices}, {'T', kNumeric}},
          .attributes = {with_default("output_datatype", std::int64_t{1}),
                         with_default("periodic", std::int64_t{1})},
          .infer = infer_window,
          .work = work_per_element<4>,
          .no_gradient = "its only input is a size"};
}

OpSpec dft() {
  return {.name = "DFT",
          .since = 20,
          .gained = 17,
          .inputs = {{"input", 'T'}, {"dft_length", 'I', Formal::Optional}, {"axis", 'A', Formal::Optional}},
          .outputs = {{"output", 'T'}},
          .types = {{'T', kFloats}, {'I', kIndices}, {'A', kIndices}},
          .attributes = {with_default("inverse", std::int64_t{0}), with_default("onesided", std::int64_t{0})},
          .infer = infer_dft,
          .work = work_of_dft,
          .no_samples = kNotWorkedOut};
}

OpSpec stft() {
  return {.name = "STFT",
          .since = 17,
          .gained = 17,
          .inputs = {{"signal", 'T'},
                     {"frame_step", 'I'},
                     {"window", 'T', Formal::Optional},
                     {"frame_length", 'I', Formal::Optional}},
          .outputs = {{"output", 'T'}},
          .types = {{'T', kFloats}, {'I', kIndices}},
          .attributes = {with_default("onesided", std::int64_t{1})},
          .infer = infer_stft,
          .work = work_of_stft,
          .no_samples = kNotWorkedOut};
}

OpSpec mel_weight_matrix() {
  return {.name = "MelWeightMatrix",
          .since = 17,
          .gained = 17,
          .inputs = {{"num_mel_bins", 'I'},
                     {"dft_length", 'I'},
                     {"sample_rate", 'I'},
                     {"lower_edge_hertz", 'F'},
                     {"upper_edge_hertz", 'F'}},
          .outputs = {{"output", 'T'}},
          .types = {{'I', kIndices}, {'F', kFloats}, {'T', kNumeric}},
          .attributes = {with_default("output_datatype", std::int64_t{1})},
          .infer = infer_mel,
          .work = work_per_element<2>,
          .no_gradient = "ONNX says that none of its inputs has one"};
}

}  // namespace

std::span<const OpSpec> signal_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .no_samples = kNoSamplesIn},
             {dft(), stft(), window("HannWindow"), window("HammingWindow"), window("BlackmanWindow"),
              mel_weight_matrix()});
  return kRows;
}

}  // namespace podium::ir
