// Where kernels keep what they pack from numbers that they know beforehand.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "executor/kernels/tools/kernel.h"
#include "ir/digest.h"

namespace podium::kernels {

/// Keeps packed numbers from one preparation to the next, of other processes too.
class PackedStore {
 public:
  virtual ~PackedStore() = default;
  /// A tensor with the bytes that `make` gave for this key before, or what it gives now.
  virtual Tensor get(const ir::Digest& key, std::size_t bytes, const std::function<Tensor()>& make) = 0;
  virtual ir::Digests& digests() = 0;
};

/// What is packed in which way: all that it depends on but the machine and this version of Podium.
struct Packing {
  std::string_view name;  ///< of the packing
  const Tensor& from;     ///< the numbers
  std::span<const std::byte> layout = {};
};

/// What `make` packs of the numbers, a tensor of this type, or what it packed before: the context's store is
/// asked where there is one and the bytes are many. Numbers that come late are made for `make` alone.
Tensor kept(const PrepareContext& context, const Packing& packing, const ir::Type& type,
            const std::function<Tensor(const Tensor& numbers)>& make);

}  // namespace podium::kernels
