#include "tests/fuzz/target.h"

namespace podium::fuzz {

std::vector<Target> all_targets() { return file_targets(); }

}  // namespace podium::fuzz
