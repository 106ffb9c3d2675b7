// Float convolutions by oneDNN.
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "executor/kernels/conv.h"
#include "executor/kernels/strides.h"

namespace podium::kernels {
namespace {

using dnnl::memory;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

struct Descriptions {
  memory::desc x;
  memory::desc y;
  memory::desc bias;
  memory::desc weights;      // as ONNX has them
  memory::desc any_weights;  // the same dimensions as oneDNN likes them
};

memory::desc plain(const memory::dims& dims, const memory::dims& strides) {
  return {dims, memory::data_type::f32, strides};
}

// oneDNN's weights are [group, out, in, kernel...]; ONNX's transposed ones lie as [group, in, out,
// kernel...].
void describe_weights(const ConvShape& shape, bool transposed, Descriptions& result) {
  memory::dims dims{shape.group, shape.out_channels, shape.in_channels};
  dims.insert(dims.end(), shape.window.kernel.begin(), shape.window.kernel.end());
  memory::dims strides = strides_of(dims);
  if (transposed) {
    strides[1] = shape.kernel_size;
    strides[2] = shape.out_channels * shape.kernel_size;
  }
  if (shape.group == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  result.weights = plain(dims, strides);
  result.any_weights = memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
}

Descriptions describe(const ConvShape& shape, bool transposed, bool has_bias) {
  Descriptions result;
  const memory::dims x = ir::windowed_dims(shape.batch, shape.group * shape.in_channels,
                                           {.kernel = {}, .output = shape.window.input});
  const memory::dims y = ir::windowed_dims(shape.batch, shape.group * shape.out_channels, shape.window);
  result.x = plain(x, strides_of(x));
  result.y = plain(y, strides_of(y));
  if (has_bias) result.bias = plain({y[1]}, {1});
  describe_weights(shape, transposed, result);
  return result;
}

memory::dims less_one(memory::dims dims) {
  for (auto& dim : dims) --dim;
  return dims;
}

// oneDNN wants the padding at the end that gives exactly the output asked for.
memory::dims end_padding(const ir::Window& window, bool transposed) {
  memory::dims pads;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    const std::int64_t small = transposed ? window.input[i] : window.output[i];
    const std::int64_t large = transposed ? window.output[i] : window.input[i];
    pads.push_back((small - 1) * window.strides[i] + window.extent(i) - large - window.pads_begin[i]);
  }
  return pads;
}

struct Library {
  dnnl::primitive primitive;
  Descriptions descriptions;
  memory::desc weights;
  memory::desc scratch;
  std::size_t weights_bytes = 0;  // of scratch memory for weights in oneDNN's layout
  std::optional<dnnl::reorder> reorder;
  Tensor packed;  // constant weights in oneDNN's layout

  memory packed_weights(dnnl::stream& stream, const float* w, std::byte* scratch_memory) const {
    memory given(descriptions.weights, cpu(), const_cast<float*>(w));
    if (packed.defined()) return {weights, cpu(), const_cast<void*>(packed.raw())};
    if (!reorder) return given;
    memory result(weights, cpu(), scratch_memory);
    reorder->execute(stream, given, result);
    return result;
  }

  void run(const float* x, const float* w, const float* bias, float* y, std::byte* scratch_memory) const {
    dnnl::stream stream(cpu());
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, memory(descriptions.x, cpu(), const_cast<float*>(x))},
        {DNNL_ARG_WEIGHTS, packed_weights(stream, w, scratch_memory)},
        {DNNL_ARG_DST, memory(descriptions.y, cpu(), y)},
        {DNNL_ARG_SCRATCHPAD, memory(scratch, cpu(), scratch_memory + weights_bytes)}};
    if (bias != nullptr) {
      arguments.emplace(DNNL_ARG_BIAS, memory(descriptions.bias, cpu(), const_cast<float*>(bias)));
    }
    primitive.execute(stream, arguments);
    stream.wait();
  }
};

std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

template <class Primitive>
void choose(const ConvShape& shape, bool transposed, Library& library) {
  const Descriptions& d = library.descriptions;
  const bool has_bias = !d.bias.is_zero();
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm =
      transposed ? dnnl::algorithm::deconvolution_direct : dnnl::algorithm::convolution_direct;
  const memory::dims dilations = less_one(shape.window.dilations);
  const memory::dims end = end_padding(shape.window, transposed);
  const memory::dims& begin = shape.window.pads_begin;
  using Description = typename Primitive::desc;
  const Description description = has_bias ? Description(kind, algorithm, d.x, d.any_weights, d.bias, d.y,
                                                         shape.window.strides, dilations, begin, end)
                                           : Description(kind, algorithm, d.x, d.any_weights, d.y,
                                                         shape.window.strides, dilations, begin, end);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const typename Primitive::primitive_desc chosen(description, attributes, cpu());
  library.primitive = Primitive(chosen);
  library.weights = chosen.weights_desc();
  library.scratch = chosen.scratchpad_desc();
}

void pack_weights(const Tensor* weights, Library& library) {
  const memory::desc& given = library.descriptions.weights;
  if (library.weights == given) return;
  library.reorder.emplace(dnnl::reorder::primitive_desc(cpu(), given, cpu(), library.weights));
  const std::size_t bytes = round_up(library.weights.get_size());
  if (weights == nullptr) {
    library.weights_bytes = bytes;
    return;
  }
  library.packed = Tensor(DataType::Uint8, {static_cast<std::int64_t>(bytes)});
  dnnl::stream stream(cpu());
  memory from(given, cpu(), const_cast<void*>(weights->raw()));
  memory to(library.weights, cpu(), library.packed.raw());
  library.reorder->execute(stream, from, to);
  stream.wait();
}

}  // namespace

std::optional<LibraryConv> make_library_conv(const ConvShape& shape, bool transposed, bool has_bias,
                                             const Tensor* weights) {
  const std::int64_t numbers = shape.batch * shape.group * shape.in_channels * shape.out_channels *
                               shape.kernel_size * shape.in_size * shape.out_size;
  if (numbers == 0 || shape.window.rank() < 1 || shape.window.rank() > 3) return std::nullopt;
  auto library = std::make_shared<Library>();
  try {
    library->descriptions = describe(shape, transposed, has_bias);
    if (transposed) {
      choose<dnnl::deconvolution_forward>(shape, transposed, *library);
    } else {
      choose<dnnl::convolution_forward>(shape, transposed, *library);
    }
    pack_weights(weights, *library);
  } catch (const dnnl::error&) {
    return std::nullopt;  // the caller has a way that takes every shape
  }
  const std::size_t bytes = library->weights_bytes + round_up(library->scratch.get_size());
  return LibraryConv{bytes, [library](const float* x, const float* w, const float* bias, float* y,
                                      std::byte* scratch) { library->run(x, w, bias, y, scratch); }};
}

}  // namespace podium::kernels
