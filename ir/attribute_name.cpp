#include "ir/attribute_name.h"

#include <mutex>
#include <unordered_set>

namespace podium::ir {
namespace {

// The text of names that no literal holds: those of models and of rows that are put together. A set's elements
// stay where they are.
struct Kept {
  std::mutex lock;
  std::unordered_set<std::string> names;
};

Kept& kept_names() {
  static Kept kept;
  return kept;
}

}  // namespace

AttributeName::AttributeName(std::string_view text) {
  Kept& kept = kept_names();
  const std::lock_guard hold(kept.lock);
  text_ = *kept.names.emplace(text).first;
}

}  // namespace podium::ir
