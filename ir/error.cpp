#include "ir/error.h"

#include "ir/id_map.h"

namespace podium {

Error Error::at(const std::string& where) const {
  Error error(where + ": " + what());
  error.places_ = places_;
  error.places_.push_back(where);
  return error;
}

void fail_check(const char* file, int line, const char* condition, const std::string& text) {
  throw InternalError(
      fmt::format("{}:{}: '{}' does not hold{}{}", file, line, condition, text.empty() ? "" : ": ", text));
}

namespace ir {

void fail_id(std::int64_t index, std::size_t size) {
  throw InternalError(fmt::format("there is no id {} among {}", index, size));
}

}  // namespace ir
}  // namespace podium
