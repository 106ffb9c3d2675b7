// A depthwise convolution with the convolution that it reads and the pointwise one that reads it (an inverted
// residual, a stem), a strip of rows after the other: what the first one makes stays in the second-level
// cache until it is read. The windows of neighbouring strips share rows of it: those that the strip before
// has computed move to the front of the buffer. Threads take ranges of strips, with buffers of their own.
//
// oneDNN's clamps make a number of NaN and raise the processor's flag (packed_call.h): all strips are
// computed again then, by primitives without clamps that are made when the first NaN comes, and clamped
// behind.
#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/tools/invalid_flag.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {
namespace {

using dnnl::memory;

// Of the depthwise convolution's input. Between 280 and 700 KiB make no difference where the cache has 1 MiB.
constexpr std::int64_t kStripBytes = 384 << 10;

struct Rows {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const { return end - begin; }
};

// What the primitive of a member depends on: so many rows of its output are computed.
struct Slice {
  std::int64_t x_rows = 0;
  std::int64_t y_rows = 0;
  std::int64_t above = 0;  // rows of padding
  std::int64_t below = 0;
  auto operator<=>(const Slice&) const = default;
};

// The windows of a member, which move from row to row.
struct Windows {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t height = 0;

  explicit Windows(const ConvolutionPlan& plan)
      : kernel(*(plan.weights.end() - 2)),
        stride(plan.window.strides[0]),
        pad(plan.window.pads_begin[0]),
        height(plan.x[2]) {}

  Rows with_padding(const Rows& out) const {
    return {out.begin * stride - pad, (out.end - 1) * stride - pad + kernel};
  }
  // The rows of X that the windows of `out` see.
  Rows seen(const Rows& out) const {
    const Rows all = with_padding(out);
    return {std::max(all.begin, std::int64_t{0}), std::min(all.end, height)};
  }
  Slice slice(const Rows& out) const {
    const Rows all = with_padding(out);
    const Rows in = seen(out);
    return {in.count(), out.count(), in.begin - all.begin, all.end - in.end};
  }
};

enum class Clamping : std::uint8_t { Within, Behind };

class Member {
 public:
  Member(const PrepareContext& context, const ir::Graph& body, const ir::Op& op)
      : plan_(plan_of(ir::TypedOp(body, op))), windows_(plan_), weights_(place(body, op.inputs[1])) {
    if (!plan_.bias.is_zero()) bias_ = place(body, op.inputs[2]);
    if (plan_.has_residual) residual_ = place(body, op.inputs[3]);
    IR_CHECK(context.constant(weights_) != nullptr, "the weights of a fused convolution are not constant");
  }

  const ConvolutionPlan& plan() const { return plan_; }
  const Windows& windows() const { return windows_; }
  std::size_t scratch() const { return scratch_; }
  // Elements of a row.
  std::int64_t x_row() const { return plan_.x[1] * plan_.x[3]; }
  std::int64_t y_row() const { return plan_.y[1] * plan_.y[3]; }

  // To be called for all rows of an image that will be computed at once.
  void prepare(const PrepareContext& context, const Rows& out) {
    const Slice slice = windows_.slice(out);
    if (out.count() == 0 || prepared_.contains(slice)) return;
    const ConvolutionPlan plan = of(slice);
    const auto primitive = direct_primitive(plan, onednn::any(plan.weights), plan.with_clamp);
    const auto exact = direct_primitive(plan, primitive.weights_desc(), plan.post_ops);
    scratch_ =
        std::max({scratch_, primitive.scratchpad_desc().get_size(), exact.scratchpad_desc().get_size()});
    prepared_[slice] = {.weights = packed(context, primitive.weights_desc()),
                        .calls = calls(plan, primitive)};
  }

  // The same slices without the clamp.
  void prepare_exact() {
    for (auto& [slice, prepared] : prepared_) {
      const ConvolutionPlan plan = of(slice);
      prepared.exact = calls(plan, direct_primitive(plan, packed_[prepared.weights].layout, plan.post_ops));
    }
  }

  // Computes rows of an image of the output: `x` is the first row that their windows see.
  void run(const RunContext& run, const Rows& out, std::int64_t image, std::int64_t thread, const float* x,
           float* y, std::byte* scratch, Clamping clamping) const {
    const std::int64_t elements = out.count() * y_row();
    if (residual_) {
      const std::int64_t first = (image * plan_.y[2] + out.begin) * y_row();
      std::memcpy(y, run.input(*residual_).data<float>() + first, elements * sizeof(float));
    }
    const Prepared& prepared = prepared_.at(windows_.slice(out));
    const void* weights = packed_[prepared.weights].numbers.raw();
    const void* bias = bias_ ? run.input(*bias_).raw() : nullptr;
    const std::array<const void*, 5> arguments{x, weights, bias, y, scratch};
    const std::span made(y, static_cast<std::size_t>(elements));
    (*(clamping == Clamping::Within ? prepared.calls : prepared.exact)[thread])(arguments);
    if (plan_.behind) apply(*plan_.behind, made);
    if (clamping == Clamping::Behind && plan_.clamp) plan_.clamp->apply_to_finite(made);
  }

 private:
  struct PackedWeights {
    memory::desc layout;
    Tensor numbers;
  };
  using Calls = std::vector<std::shared_ptr<const onednn::Call>>;  // one a thread
  struct Prepared {
    std::size_t weights = 0;  // their place among the packed ones
    Calls calls = {};
    Calls exact = {};
  };

  static Calls calls(const ConvolutionPlan& plan,
                     const dnnl::convolution_forward::primitive_desc& primitive) {
    Calls made;
    for (int thread = 0; thread < machine_threads(); ++thread) made.push_back(direct_call(plan, primitive));
    return made;
  }

  // Slices of different sizes may want their weights in different layouts: in another's one they would be
  // computed by loops that are many times slower.
  std::size_t packed(const PrepareContext& context, const memory::desc& layout) {
    const auto found = std::ranges::find(packed_, layout, &PackedWeights::layout);
    if (found == packed_.end()) {
      packed_.push_back({layout, onednn::packed(context, *context.constant(weights_),
                                                onednn::plain(plan_.weights), layout)});
      return packed_.size() - 1;
    }
    return found - packed_.begin();
  }

  static std::size_t place(const ir::Graph& body, ir::ValueId id) {
    return std::ranges::find(body.inputs, id) - body.inputs.begin();
  }

  ConvolutionPlan of(const Slice& slice) const {
    ConvolutionPlan plan = plan_;
    plan.x[0] = plan.y[0] = 1;
    plan.x[2] = slice.x_rows;
    plan.y[2] = slice.y_rows;
    plan.window.pads_begin[0] = slice.above;
    plan.window.pads_end[0] = slice.below;
    return plan;
  }

  ConvolutionPlan plan_;  // of all rows
  Windows windows_;
  std::size_t weights_;  // places among the block's inputs
  std::optional<std::size_t> bias_ = {};
  std::optional<std::size_t> residual_ = {};
  std::vector<PackedWeights> packed_ = {};
  std::size_t scratch_ = 0;
  std::map<Slice, Prepared> prepared_ = {};
};

// As many for all threads as have room for what they read in between.
std::int64_t rows_of_strip(const Member& depthwise) {
  const Windows& windows = depthwise.windows();
  const std::int64_t all = depthwise.plan().y[2];
  const std::int64_t row_bytes = depthwise.x_row() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t fitting =
      std::max((kStripBytes / row_bytes - windows.kernel) / windows.stride + 1, std::int64_t{1});
  const std::int64_t threads = machine_threads();
  const std::int64_t rounds = ((all + fitting - 1) / fitting + threads - 1) / threads;
  return (all + rounds * threads - 1) / (rounds * threads);
}

class DepthwiseBlock {
 public:
  DepthwiseBlock(PrepareContext& context, const ir::Graph& body)
      : members_(members_of(context, body)), rows_(rows_of_strip(members_.depthwise)) {
    prepare_strips(context);
    context.need_scratch(bytes_of_thread_ * machine_threads());
  }

  void operator()(const RunContext& run) {
    if (!compute(run, Clamping::Within)) return;
    std::call_once(prepares_exact_, [&] {
      const ThreadLimit as_at_preparation(machine_threads());
      if (members_.before) members_.before->prepare_exact();
      members_.depthwise.prepare_exact();
      if (members_.behind) members_.behind->prepare_exact();
    });
    compute(run, Clamping::Behind);
  }

 private:
  struct Members {
    std::optional<Member> before;
    Member depthwise;
    std::optional<Member> behind;
  };

  static Members members_of(const PrepareContext& context, const ir::Graph& body) {
    const auto is_depthwise = [](const ir::Op& op) { return ir::attribute<std::int64_t>(op, "group") > 1; };
    const auto found = std::ranges::find_if(body.ops, is_depthwise);
    IR_CHECK(found != body.ops.end(), "a DepthwiseBlock without a depthwise convolution");
    Members members{.before = {}, .depthwise = Member(context, body, *found), .behind = {}};
    if (found != body.ops.begin()) members.before.emplace(context, body, body.ops.front());
    if (found + 1 != body.ops.end()) members.behind.emplace(context, body, body.ops.back());
    return members;
  }

  void prepare_strips(const PrepareContext& context) {
    std::int64_t most_between = 0;
    for (std::int64_t strip = 0; strip < strips_of_image(); ++strip) {
      most_between = std::max(most_between, between(strip).count());
      members_.depthwise.prepare(context, out(strip));
      if (members_.behind) members_.behind->prepare(context, out(strip));
      if (!members_.before) continue;
      members_.before->prepare(context, between(strip));
      members_.before->prepare(context, fresh(strip));
    }
    const auto room = [](std::int64_t elements) { return onednn::aligned(elements * sizeof(float)); };
    std::size_t scratch = members_.depthwise.scratch();
    if (members_.before) scratch = std::max(scratch, members_.before->scratch());
    if (members_.behind) scratch = std::max(scratch, members_.behind->scratch());
    between_at_ = onednn::aligned(scratch);
    behind_at_ = between_at_ + (members_.before ? room(most_between * members_.depthwise.x_row()) : 0);
    bytes_of_thread_ = behind_at_ + (members_.behind ? room(rows_ * members_.depthwise.y_row()) : 0);
  }

  std::int64_t height() const { return members_.depthwise.plan().y[2]; }
  std::int64_t strips_of_image() const { return (height() + rows_ - 1) / rows_; }
  Rows out(std::int64_t strip) const { return {strip * rows_, std::min((strip + 1) * rows_, height())}; }
  // What the depthwise convolution sees.
  Rows between(std::int64_t strip) const { return members_.depthwise.windows().seen(out(strip)); }
  // Of these, what it has not seen in the strip before.
  Rows fresh(std::int64_t strip) const {
    const Rows all = between(strip);
    return {strip == 0 ? all.begin : std::max(all.begin, between(strip - 1).end), all.end};
  }

  // Whether a flag has been raised.
  bool compute(const RunContext& run, Clamping clamping) const {
    const std::int64_t strips = members_.depthwise.plan().x[0] * strips_of_image();
    const std::int64_t teams = std::min<std::int64_t>({strips, machine_threads(), omp_get_max_threads()});
    constexpr std::int64_t kWorthThreads = 1 << 16;  // this op is there for large images alone
    std::atomic<bool> is_flag_set = false;
    parallel_ranges(teams, kWorthThreads, [&](std::int64_t begin, std::int64_t end) {
      clear_own_invalid_flag();
      for (std::int64_t thread = begin; thread < end; ++thread)
        compute_strips(run, thread, strips * thread / teams, strips * (thread + 1) / teams, clamping);
      if (is_own_invalid_flag_set()) is_flag_set = true;
    });
    return is_flag_set;
  }

  // Strips are counted through all images.
  void compute_strips(const RunContext& run, std::int64_t thread, std::int64_t begin, std::int64_t end,
                      Clamping clamping) const {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t image = i / strips_of_image();
      const std::int64_t strip = i % strips_of_image();
      const bool goes_on = i > begin && strip > 0;
      if (goes_on && members_.before) keep_rows(run, thread, strip);
      compute_strip(run, thread, image, strip, goes_on, clamping);
    }
  }

  std::byte* memory(const RunContext& run, std::int64_t thread) const {
    return run.scratch_memory + thread * bytes_of_thread_;
  }
  float* rows_between(const RunContext& run, std::int64_t thread) const {
    return reinterpret_cast<float*>(memory(run, thread) + between_at_);
  }

  // Moves the rows that are not fresh from where the strip before has them.
  void keep_rows(const RunContext& run, std::int64_t thread, std::int64_t strip) const {
    float* const rows = rows_between(run, thread);
    const std::int64_t row = members_.depthwise.x_row();
    const std::int64_t first = between(strip).begin;
    std::memmove(rows, rows + (first - between(strip - 1).begin) * row,
                 (fresh(strip).begin - first) * row * sizeof(float));
  }

  void compute_strip(const RunContext& run, std::int64_t thread, std::int64_t image, std::int64_t strip,
                     bool goes_on, Clamping clamping) const {
    const Member& depthwise = members_.depthwise;
    std::byte* const scratch = memory(run, thread);
    const auto rows_of_x = [&](const Member& first, const Rows& made) {
      return run.input(0).data<float>() +
             (image * first.plan().x[2] + first.windows().seen(made).begin) * first.x_row();
    };
    const Rows wanted = out(strip);
    const float* seen = nullptr;
    if (members_.before) {
      const Rows made = goes_on ? fresh(strip) : between(strip);
      float* const rows = rows_between(run, thread);
      seen = rows;
      if (made.count() > 0)
        members_.before->run(run, made, image, thread, rows_of_x(*members_.before, made),
                             rows + (made.begin - between(strip).begin) * depthwise.x_row(), scratch,
                             clamping);
    } else {
      seen = rows_of_x(depthwise, wanted);
    }
    const std::int64_t y_row = (members_.behind ? *members_.behind : depthwise).y_row();
    float* const y = run.output(0).data<float>() + (image * height() + wanted.begin) * y_row;
    float* const made = members_.behind ? reinterpret_cast<float*>(scratch + behind_at_) : y;
    depthwise.run(run, wanted, image, thread, seen, made, scratch, clamping);
    if (members_.behind) members_.behind->run(run, wanted, image, thread, made, y, scratch, clamping);
  }

  Members members_;
  std::once_flag prepares_exact_;
  std::int64_t rows_;  // of the output in a strip
  // A thread's scratch memory: oneDNN's, the depthwise convolution's input, its output.
  std::size_t between_at_ = 0;
  std::size_t behind_at_ = 0;
  std::size_t bytes_of_thread_ = 0;
};

}  // namespace

PreparedKernel prepare_depthwise_block(PrepareContext& context) {
  const auto block = std::make_shared<DepthwiseBlock>(context, *context.get<ir::Body>("body"));
  return [block](const RunContext& run) { (*block)(run); };
}

}  // namespace podium::kernels
