// Any bytes either become a graph or an Error: what else escapes, or a sanitizer's report, is a fault.
#include <cstddef>
#include <cstdint>
#include <span>

#include "importer/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    podium::importer::import_bytes({reinterpret_cast<const char*>(data), size});
  } catch (const podium::Error&) {
    // The bytes were refused, in words.
  }
  return 0;
}
