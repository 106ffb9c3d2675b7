#include "tests/fuzz/target.h"

namespace podium::fuzz {

std::vector<Target> all_targets() {
  std::vector<Target> all = file_targets();
  for (const auto& more : {session_targets(), device_targets(), document_targets()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace podium::fuzz
