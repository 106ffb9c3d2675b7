#include "executor/kernels/tools/packed_store.h"

#include <algorithm>
#include <dnnl.hpp>
#include <fstream>
#include <memory>
#include <string>

#include "executor/kernels/tools/instructions.h"
#include "ir/late_tensor.h"

namespace podium::kernels {
namespace {

// To be raised when a packing of the same name and sizes puts numbers elsewhere.
constexpr std::int64_t kVersion = 2;

// oneDNN's layouts follow from its version and from the instructions and caches that it finds.
ir::Digest machine() {
  ir::Digester digester;
  digester.add(kVersion).add(instructions());
  const dnnl_version_t* library = dnnl_version();
  digester.add(std::string_view(library->hash));
  digester.add(static_cast<std::int64_t>(dnnl::get_effective_cpu_isa()));
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    if (!line.starts_with("model name")) continue;
    digester.add(line);
    break;
  }
  return digester.digest();
}

// What a kernel has made of constants has memory that others may have after it.
bool is_constant_of(const PrepareContext& context, const Tensor& tensor) {
  return std::ranges::any_of(context.constants, [&](const Tensor* constant) {
    return constant != nullptr && constant->memory_id() == tensor.memory_id();
  });
}

Tensor kept_in_store(PackedStore* store, const Packing& packing, const ir::Type& type,
                     const std::function<Tensor()>& make) {
  if (store == nullptr) return make();
  static const ir::Digest kMachine = machine();
  ir::Digester key;
  key.add(kMachine).add(packing.name).add(packing.layout).add(store->digests().of(packing.from));
  const std::size_t bytes = type.element_count() * storage_bytes(type.element);
  const auto memory = std::make_shared<const Tensor>(store->get(key.digest(), bytes, make));
  return Tensor::adopt(type.element, type.dims, memory->raw(), memory);
}

}  // namespace

Tensor PackedBefore::get(const Packing& packing, const std::function<Tensor()>& make) {
  const std::string_view layout(reinterpret_cast<const char*>(packing.layout.data()), packing.layout.size());
  const Key key{packing.from.memory_id(), packing.from.type(), packing.from.dims(), std::string(packing.name),
                std::string(layout)};
  const auto found = packed_.find(key);
  return found != packed_.end() ? found->second : packed_.emplace(key, make()).first->second;
}

Tensor kept(const PrepareContext& context, const Packing& packing, const ir::Type& type,
            const std::function<Tensor(const Tensor& numbers)>& make) {
  // Smaller ones are packed sooner than a file is found.
  constexpr std::size_t kFewBytes = std::size_t{128} << 10;
  const auto packed = [&] { return make(ir::made_for_one(packing.from)); };
  if (type.element_count() * storage_bytes(type.element) < kFewBytes) return packed();
  const auto stored = [&] { return kept_in_store(context.packed_store, packing, type, packed); };
  const bool is_shared = context.packed_before != nullptr && is_constant_of(context, packing.from);
  return is_shared ? context.packed_before->get(packing, stored) : stored();
}

}  // namespace podium::kernels
