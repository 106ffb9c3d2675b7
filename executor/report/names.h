// The words for what a timeline counts, the same in tables, reports and traces.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "executor/sim/timeline.h"

namespace podium::report {

/// A key of the JSON report, and what a person reads.
struct Words {
  std::string_view key;
  std::string_view text;
};

Words words_of(sim::Activity activity);
Words words_of(sim::Idle idle);
std::string_view name_of(sim::Lane lane);
/// "gpu 3"
std::string name_of(device::ProcessorKind kind, std::size_t processor);

struct MemoryPart {
  Words words;
  std::int64_t bytes = 0;
};

/// What the peak of a processor is made of.
std::array<MemoryPart, 9> memory_parts(const sim::MemoryUse& memory);

}  // namespace podium::report
