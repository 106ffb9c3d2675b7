#include "annotate/variable.h"

namespace podium::annotate {

std::int64_t bytes_of(const ir::Type& type) {
  if (!type.is_static()) return 0;
  return (type.element_count() * bit_width(type.element) + 7) / 8;
}

}  // namespace podium::annotate
