// oneDNN's memory descriptions, weights brought into its layouts, and calls of its primitives. Its memory
// objects cannot be shared by two runs at once: a Call has one set of them, and a run that finds it busy
// makes its own.
#include "executor/kernels/tools/onednn.h"

#include <sys/mman.h>

#include <array>
#include <cstdlib>

namespace podium::kernels::onednn {

using dnnl::memory;

namespace {

dnnl::stream& stream() {
  static thread_local dnnl::stream one(cpu());
  return one;
}
}  // namespace

// Every isa that has another one in it contains its bits.
bool has_instructions(dnnl::cpu_isa isa) {
  const auto wanted = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

Dims less_one(Dims dilations) {
  for (std::int64_t& dilation : dilations) --dilation;
  return dilations;
}

Dims end_padding(const ir::Window& window) {
  Dims pads;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    pads.push_back((window.output[i] - 1) * window.strides[i] + window.extent(i) - window.input[i] -
                   window.pads_begin[i]);
  }
  return pads;
}

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

const dnnl::engine& cpu() {
  static const dnnl::engine one(dnnl::engine::kind::cpu, 0);
  return one;
}

memory::desc plain(const Dims& dims, Element element) { return strided(dims, row_major(dims), element); }

memory::desc strided(const Dims& dims, const Dims& strides, Element element) {
  return {dims, element, strides};
}

memory::desc any(const Dims& dims, Element element) { return {dims, element, memory::format_tag::any}; }

memory::desc channels_last(const Dims& dims, Element element) {
  Dims strides(dims.size(), 1);
  const std::int64_t channels = dims[1];
  std::int64_t step = channels;
  for (std::size_t i = dims.size(); i-- > 2;) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[0] = step;
  return strided(dims, strides, element);
}

// A map that is given back untouched costs two calls of the system. Code of a primitive takes a quarter to
// half a MiB, that of the products of matrices, compiled at once, about two; between this look and the code,
// the allocator may take a step of several MiB more from the system.
void check_room_for_code() {
  constexpr std::size_t kRoom = std::size_t{12} << 20;
  void* room = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw Error("out of memory: {} bytes for compiled code", kRoom);
  munmap(room, kRoom);
}

dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops) {
  check_room_for_code();
  dnnl::primitive_attr result;
  result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  result.set_post_ops(post_ops);
  return result;
}

namespace {

// Large weights are streamed through once a run: in huge pages the hardware's look-ahead never stops at a
// page's end and addresses are translated without misses.
Tensor streamed_bytes(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const Dims dims{static_cast<std::int64_t>(bytes)};
  if (bytes < kHugePage / 2) return {DataType::Uint8, dims};
  const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  std::shared_ptr<void> memory;
  try {
    memory.reset(::operator new(rounded, std::align_val_t(kHugePage)),
                 [](void* unused) { ::operator delete(unused, std::align_val_t(kHugePage)); });
  } catch (const std::bad_alloc&) {
    throw Error("out of memory: {} bytes for packed weights", bytes);
  }
  madvise(memory.get(), rounded, MADV_HUGEPAGE);  // advice: nothing depends on it
  return Tensor::adopt(DataType::Uint8, dims, memory.get(), memory);
}

}  // namespace

Tensor packed(const void* numbers, const memory::desc& from, const memory::desc& to) {
  Tensor result = streamed_bytes(to.get_size());
  check_room_for_code();
  memory source(from, cpu(), const_cast<void*>(numbers));
  memory target(to, cpu(), result.raw());
  dnnl::reorder(source, target).execute(stream(), source, target);
  stream().wait();
  check_room_for_code();  // the first run of a primitive starts threads, whose stacks take memory too
  return result;
}

Tensor packed(const PrepareContext& context, const Tensor& weights, const memory::desc& from,
              const memory::desc& to) {
  const std::array layouts{from.data, to.data};  // descriptions are known again by their bytes
  return kept(context, {.name = "oneDNN", .from = weights, .layout = std::as_bytes(std::span(layouts))},
              ir::Type::tensor(DataType::Uint8, {static_cast<std::int64_t>(to.get_size())}),
              [&](const Tensor& numbers) { return packed(numbers.raw(), from, to); });
}

Call::Call(dnnl::primitive primitive, std::vector<std::pair<int, memory::desc>> arguments)
    : primitive_(std::move(primitive)), arguments_(std::move(arguments)), set_(make_set()) {}

Call::Set Call::make_set() const {
  Set set;
  for (const auto& [number, description] : arguments_) {
    set.memories.emplace_back(description, cpu(), nullptr);
    // An omitted argument (a bias, scratch memory of no bytes) has a place only among the pointers.
    if (!description.is_zero()) set.arguments.push_back({number, set.memories.back().get()});
  }
  return set;
}

void Call::execute(Set& set, std::span<const void* const> pointers) const {
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    set.memories[i].set_data_handle(const_cast<void*>(pointers[i]));
  }
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream().get(), set.arguments.size(), set.arguments.data());
  IR_CHECK(status == dnnl_success, "oneDNN gave status {}", static_cast<int>(status));
}

void Call::operator()(std::span<const void* const> pointers) const {
  IR_CHECK(pointers.size() == arguments_.size());
  if (busy_.test_and_set(std::memory_order_acquire)) {
    Set own = make_set();
    execute(own, pointers);
    return;
  }
  execute(set_, pointers);
  busy_.clear(std::memory_order_release);
}

std::shared_ptr<const Call> reorder(const memory::desc& from, const memory::desc& to) {
  check_room_for_code();
  // Asked for without scratch memory of its own: these reorders use none.
  const dnnl::reorder::primitive_desc primitive(cpu(), from, cpu(), to);
  return std::make_shared<const Call>(
      dnnl::reorder(primitive),
      std::vector<std::pair<int, memory::desc>>{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

}  // namespace podium::kernels::onednn
