// Parts that the kernels which call oneDNN share: the engine, descriptions of memory, and calls that are made
// once and run many times. Only sources of executor/kernels include it.
#pragma once

#include <dnnl.hpp>

#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "executor/kernels/tools/packed_store.h"
#include "ir/ops/window.h"

namespace podium::kernels::onednn {

const dnnl::engine& cpu();

/// Whether oneDNN uses these instructions here.
bool has_instructions(dnnl::cpu_isa isa);

/// Scratch memory is handed out in multiples of so many bytes as an address is aligned to.
inline std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// oneDNN counts dilations from 0.
Dims less_one(Dims dilations);
/// The padding at the end of each axis that gives exactly the output of a convolution's window; may be
/// negative.
Dims end_padding(const ir::Window& window);

/// The strides of row-major memory, in elements.
Dims row_major(const Dims& dims);
using Element = dnnl::memory::data_type;

/// Row-major memory of these dimensions; `strides` in elements when it is not.
dnnl::memory::desc plain(const Dims& dims, Element element = Element::f32);
dnnl::memory::desc strided(const Dims& dims, const Dims& strides, Element element = Element::f32);
/// Memory in the layout that the primitive likes best.
dnnl::memory::desc any(const Dims& dims, Element element = Element::f32);
/// Logical dims [N, C, spatial...] of memory that holds [N, spatial..., C].
dnnl::memory::desc channels_last(const Dims& dims, Element element = Element::f32);

/// Error where the system has no room for the code that oneDNN compiles for a primitive: oneDNN itself does
/// not look whether it was given any. To be called before a primitive is made.
void check_room_for_code();

/// Attributes of a primitive that takes its scratch memory from its caller. Error where there is no room for
/// the primitive's code.
dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops = {});

/// A copy of numbers, which `from` describes, in the layout `to`. Error where no room for code is left.
Tensor packed(const void* numbers, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

/// The same of weights that are known beforehand, once on a machine where the context has a store.
Tensor packed(const PrepareContext& context, const Tensor& weights, const dnnl::memory::desc& from,
              const dnnl::memory::desc& to);

/// A primitive with its memory objects. May be called from several threads at once.
class Call {
 public:
  /// `arguments`: number (DNNL_ARG_SRC...) and description, in the order in which pointers are given.
  Call(dnnl::primitive primitive, std::vector<std::pair<int, dnnl::memory::desc>> arguments);
  void operator()(std::span<const void* const> pointers) const;

 private:
  struct Set {
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  Set make_set() const;
  void execute(Set& set, std::span<const void* const> pointers) const;

  dnnl::primitive primitive_;
  std::vector<std::pair<int, dnnl::memory::desc>> arguments_;
  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  mutable Set set_;  // whoever holds busy_ uses it; a second caller at the same time makes its own
};

template <class Description>
std::shared_ptr<const Call> make_call(const dnnl::primitive& primitive, const Description& description,
                                      std::vector<std::pair<int, dnnl::memory::desc>> arguments) {
  arguments.emplace_back(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
  return std::make_shared<const Call>(primitive, std::move(arguments));
}

/// From one layout to another. Pointers: from, to.
std::shared_ptr<const Call> reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);

}  // namespace podium::kernels::onednn
