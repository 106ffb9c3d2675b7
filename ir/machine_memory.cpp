#include "ir/machine_memory.h"

#include <unistd.h>

namespace podium::ir {

std::int64_t machine_memory() {
  static const std::int64_t kBytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  return kBytes;
}

}  // namespace podium::ir
