// Which run of a block the current thread computes: random ops draw other numbers in each.
#pragma once

#include <cstdint>
#include <utility>

namespace podium::kernels {

struct Moment {
  std::uint64_t run = 0;  ///< how often the block has run before, once for each micro-batch or slice
  std::uint64_t replica = 0;
  std::uint64_t replicas = 1;
  std::uint64_t repeat = 0;  ///< in a body: which of the body's runs for that run and replica

  bool operator==(const Moment&) const = default;
};

/// Says which moment it is on this thread while it lives. Outside of all it is the first one.
class MomentScope {
 public:
  explicit MomentScope(const Moment& moment) : before_(std::exchange(innermost_, moment)) {}
  ~MomentScope() { innermost_ = before_; }
  MomentScope(const MomentScope&) = delete;
  MomentScope& operator=(const MomentScope&) = delete;

  static const Moment& current() { return innermost_; }

 private:
  static inline thread_local Moment innermost_ = {};
  Moment before_;
};

}  // namespace podium::kernels
