#include "executor/cli/memory_limit.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

#include "executor/cli/usage_error.h"
#include "ir/number_text.h"

namespace podium::cli {
namespace {

// Errors are put together from small pieces, so these are given out a little beyond the limit.
constexpr std::int64_t kSmall = 1 << 12;
constexpr std::int64_t kReserve = 1 << 20;

std::atomic<std::int64_t> taken{0};
std::atomic<std::int64_t> limit_reached{kNoLimit};

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Unit, 9> kUnits{{{"KiB", std::int64_t{1} << 10},
                                      {"MiB", std::int64_t{1} << 20},
                                      {"GiB", std::int64_t{1} << 30},
                                      {"TiB", std::int64_t{1} << 40},
                                      {"KB", 1'000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"TB", 1'000'000'000'000},
                                      {"B", 1}}};

}  // namespace

std::int64_t byte_count(const std::string& what, const std::string& text) {
  std::string_view rest = text;
  const auto count = ir::take_number<std::int64_t>(rest);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  std::int64_t unit = rest.empty() ? 1 : 0;
  for (const Unit& known : kUnits) {
    if (rest == known.name) unit = known.bytes;
  }
  std::int64_t bytes = 0;
  if (!count || *count <= 0 || unit == 0 || __builtin_mul_overflow(*count, unit, &bytes))
    throw UsageError("{}: '{}' found, a size such as 512MiB or 2GB needed", what, text);
  return bytes;
}

void limit_memory(std::int64_t bytes) { memory_limit = bytes; }

void lift_memory_limit() { memory_limit = kNoLimit; }

bool count_taken(std::int64_t bytes) {
  const std::int64_t now = taken.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const std::int64_t most = memory_limit.load(std::memory_order_relaxed);
  const bool fits = most == kNoLimit || now <= most || (bytes <= kSmall && now <= most + kReserve);
  if (fits) return true;
  taken.fetch_sub(bytes, std::memory_order_relaxed);
  limit_reached = most;
  return false;
}

void count_given_back(std::int64_t bytes) { taken.fetch_sub(bytes, std::memory_order_relaxed); }

std::string limit_that_was_reached() {
  const std::int64_t bytes = limit_reached;
  if (bytes == kNoLimit) return "";
  const Unit* largest = &kUnits.back();
  for (const Unit& unit : kUnits) {
    if (bytes % unit.bytes == 0 && unit.bytes > largest->bytes) largest = &unit;
  }
  return fmt::format(" (--memory-limit {}{})", bytes / largest->bytes, largest->name);
}

}  // namespace podium::cli
