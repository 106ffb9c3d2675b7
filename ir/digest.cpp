#include "ir/digest.h"

#define XXH_INLINE_ALL
#if defined(__SSE2__)
// As fast as memory. For wider vectors the compiler warns of its own headers.
#define XXH_VECTOR XXH_SSE2
#endif
#include <xxhash.h>

#include <fmt/format.h>

#include "ir/tensor.h"

namespace podium::ir {

struct Digester::State {
  XXH3_state_t hash;
};

std::string to_string(const Digest& digest) { return fmt::format("{:016x}{:016x}", digest.high, digest.low); }

Digester::Digester() : state_(new State) { XXH3_128bits_reset(&state_->hash); }
Digester::~Digester() { delete state_; }

Digester& Digester::add(std::span<const std::byte> bytes) {
  add(static_cast<std::int64_t>(bytes.size()));
  XXH3_128bits_update(&state_->hash, bytes.data(), bytes.size());
  return *this;
}

Digester& Digester::add(std::string_view text) { return add(std::as_bytes(std::span(text))); }

Digester& Digester::add(std::int64_t number) {
  XXH3_128bits_update(&state_->hash, &number, sizeof number);
  return *this;
}

Digester& Digester::add(const Digest& digest) {
  return add(static_cast<std::int64_t>(digest.high)).add(static_cast<std::int64_t>(digest.low));
}

Digest Digester::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->hash);
  return {hash.high64, hash.low64};
}

Digest FileIdentity::digest() const {
  return Digester()
      .add(static_cast<std::int64_t>(device))
      .add(static_cast<std::int64_t>(inode))
      .add(bytes)
      .add(modified)
      .add(changed)
      .digest();
}

Digest Digests::of(const Tensor& tensor) {
  Digester digester;
  digester.add(name_of(tensor.type())).add(std::int64_t{tensor.rank()});
  for (std::int64_t dim : tensor.dims()) digester.add(dim);
  const NumberSource* source = tensor.source();
  const auto from = source == nullptr ? std::nullopt : source->digest(*this);
  if (from) return digester.add(*from).digest();
  if (tensor.type() == DataType::String) {
    for (const std::string& text : tensor.values<std::string>()) digester.add(text);
    return digester.digest();
  }
  return digester.add({static_cast<const std::byte*>(tensor.raw()), tensor.bytes()}).digest();
}

}  // namespace podium::ir
