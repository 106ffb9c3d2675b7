#include "executor/kernels/tools/packed_store.h"

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

}  // namespace

Tensor kept(const PrepareContext& context, const Packing& packing, const ir::Type& type,
            const std::function<Tensor(const Tensor& numbers)>& make) {
  // Smaller ones are packed sooner than a file is found.
  constexpr std::size_t kFewBytes = std::size_t{128} << 10;
  PackedStore* store = context.packed_store;
  const std::size_t bytes = type.element_count() * storage_bytes(type.element);
  const auto packed = [&] { return make(ir::made_for_one(packing.from)); };
  if (store == nullptr || bytes < kFewBytes) return packed();
  static const ir::Digest kMachine = machine();
  ir::Digester key;
  key.add(kMachine).add(packing.name).add(packing.layout).add(store->digests().of(packing.from));
  const auto memory = std::make_shared<const Tensor>(store->get(key.digest(), bytes, packed));
  return Tensor::adopt(type.element, type.dims, memory->raw(), memory);
}

}  // namespace podium::kernels
