// Where kernels keep what they pack from numbers that they know beforehand.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

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

/// What kernels of one block have packed of its constants. Ops with the same weights, as of steps that are
/// written out, have one packing of them. It lives while the block is prepared.
class PackedBefore {
 public:
  /// The tensor of an earlier call for the same memory, seen alike and packed alike, or what `make` gives.
  Tensor get(const Packing& packing, const std::function<Tensor()>& make);

 private:
  using Key = std::tuple<const void*, DataType, Dims, std::string, std::string>;
  std::map<Key, Tensor> packed_;
};

/// What `make` packs of the numbers, a tensor of this type, or what it packed before, for an op of the same
/// block or, where the context has a store, in other runs; small ones are packed anew. Numbers that come late
/// are made for `make` alone.
Tensor kept(const PrepareContext& context, const Packing& packing, const ir::Type& type,
            const std::function<Tensor(const Tensor& numbers)>& make);

}  // namespace podium::kernels
