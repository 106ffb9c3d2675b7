#include "ir/nesting.h"

#include "ir/error.h"

namespace podium::ir {

void check_nesting(std::string_view text, int deepest) {
  int depth = 0;
  int line = 1;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (is_quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && c == '#') {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (!is_quoted && (c == '(' || c == '[' || c == '{')) {
      if (++depth > deepest) throw Error("line {}: brackets nest deeper than {} levels", line, deepest);
    } else if (!is_quoted && depth > 0 && (c == ')' || c == ']' || c == '}')) {
      --depth;
    }
  }
}

}  // namespace podium::ir
