// Variables that live in streaming memory, or on the IO tiles, while nothing uses them (semantics,
// section 7.4).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "executor/program.h"
#include "ir/placement.h"

namespace podium::lower {

/// Where a variable is: at home in streaming memory or on the IO tiles, on the IO tiles where it comes over
/// those, here to be used.
struct Way {
  ir::Storage storage = ir::Storage::OffChip;  ///< of the home
  executor::BufferId home;
  std::optional<executor::BufferId> on_io_tiles;
  executor::BufferId here;

  std::vector<executor::Step> load() const;
  std::vector<executor::Step> store() const;
};

/// The contents of a variable's buffer move to a new one, its home; the old one is taken while steps use it.
Way send_home(executor::Program& program, executor::BufferId here, const ir::TensorLocation& location);

/// Takes the variables whose location is off chip, or whose storage tiles are the IO tiles, out of the memory
/// of their processors' compute tiles: a variable is a persistent buffer of `program` in a processor's
/// memory, known by its name. It is loaded before a step that reads it and stays until its processor computes
/// something without it or a list of steps ends; what has been written to it is then stored. Comes before
/// plan_memory.
void stream_variables(executor::Program& program, const std::map<std::string, ir::TensorLocation>& locations);

}  // namespace podium::lower
