// --memory-limit: how much memory the command may ask for.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

namespace podium::cli {

/// "512MiB", "2 GB", "1000000": a count of bytes. UsageError that names `what` for other texts.
std::int64_t byte_count(const std::string& what, const std::string& text);

/// From now on what goes beyond so many bytes is out of memory. Has an effect in the program alone, which
/// counts (counted_memory.cpp).
void limit_memory(std::int64_t bytes);
/// No limit any more, so that an error can be told.
void lift_memory_limit();
/// Bytes; kNoLimit where there is none. Read for each piece of memory.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
inline constinit std::atomic<std::int64_t> memory_limit{kNoLimit};
/// Whether there is a limit; what is taken and given back without one is not counted.
inline bool is_memory_limited() { return memory_limit.load(std::memory_order_relaxed) != kNoLimit; }

/// Called for each piece of memory that is taken. False where it goes beyond the limit.
bool count_taken(std::int64_t bytes);
/// The same for what is given back.
void count_given_back(std::int64_t bytes);

/// " (--memory-limit 512MiB)" where the limit was in the way, else nothing.
std::string limit_that_was_reached();

}  // namespace podium::cli
