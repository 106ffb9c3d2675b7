// What happens to memory that the program frees.
#pragma once

namespace podium::cli {

/// From now on it stays with the program, where else it goes back to the system within a minute, part by part
/// (memory_settings.cpp): a comparison makes and throws away the graphs of one strategy after the other, and
/// would take pages that the system has to clear. A single run is better off with less memory. Has an effect
/// in programs that take memory from jemalloc.
void keep_freed_memory();

}  // namespace podium::cli
