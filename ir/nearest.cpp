#include "ir/nearest.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>

namespace podium::ir {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Insertions, removals and replacements of letters that turn a into b (Wagner and Fischer, one row at a
// time).
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (char letter : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (same_letter(letter, b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string_view nearest_below(std::string_view word, const std::vector<std::string_view>& candidates,
                               std::size_t fewest) {
  // A name of any length may come from a file; nobody mistypes one as long as this.
  constexpr std::size_t kLongestWord = 100;
  std::string_view best;
  if (word.size() > kLongestWord) return best;
  for (std::string_view candidate : candidates) {
    const std::size_t edits = edits_between(word, candidate);
    if (edits >= fewest) continue;
    fewest = edits;
    best = candidate;
  }
  return best;
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  return nearest_below(word, candidates, std::numeric_limits<std::size_t>::max());
}

std::string_view nearest_if_near(std::string_view word, const std::vector<std::string_view>& candidates) {
  return nearest_below(word, candidates, word.size() / 3 + 1);
}

}  // namespace podium::ir
