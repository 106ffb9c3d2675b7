#include "ir/error.h"

namespace podium {

void fail_check(const char* file, int line, const char* condition, const std::string& text) {
  throw InternalError(
      fmt::format("{}:{}: '{}' does not hold{}{}", file, line, condition, text.empty() ? "" : ": ", text));
}

}  // namespace podium
