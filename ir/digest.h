// Digests by which the same numbers are known again. They tell numbers apart that differ by accident, not
// those that somebody makes collide.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace podium::ir {

class Tensor;

/// 128 bits.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// 32 hexadecimal digits.
std::string to_string(const Digest& digest);

/// A digest of what is added, in its order: two texts after each other differ from one that is both. XXH3 of
/// libxxhash.
class Digester {
 public:
  Digester();
  ~Digester();
  Digester(const Digester&) = delete;
  Digester& operator=(const Digester&) = delete;

  Digester& add(std::span<const std::byte> bytes);
  Digester& add(std::string_view text);
  Digester& add(std::int64_t number);
  Digester& add(const Digest& digest);
  /// Of all that has been added so far.
  Digest digest() const;

 private:
  struct State;
  State* state_;
};

/// A file as the system tells it from others and from itself before a change.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds since 1970; so is `changed`
  std::int64_t changed = 0;   ///< of the contents, the name, the owner or the mode
  Digest digest() const;
};

/// Digests of tensors. Numbers that come late (NumberSource) have one by where they come from, so that nobody
/// has to make them for it.
class Digests {
 public:
  virtual ~Digests() = default;
  /// Of type, dimensions and numbers.
  Digest of(const Tensor& tensor);
  /// Of the contents of a file, which `read` finds out: it is asked where they are not known yet.
  virtual Digest of_file(const FileIdentity& file, const std::function<Digest()>& read) = 0;
};

}  // namespace podium::ir
