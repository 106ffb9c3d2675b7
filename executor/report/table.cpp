// Widths are counted in characters that a terminal shows. What is too wide for it is folded in three ways:
// columns go, names of the first column are cut short, or the last column is broken at blanks.
#include "executor/report/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/printable.h"

namespace podium::report {
namespace {

// Characters a terminal shows: UTF-8 continuation bytes take no place.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// "pipelined over 4, wei..."
std::string fitted(const std::string& text, std::size_t room) {
  constexpr std::string_view kDots = "...";
  if (width(text) <= room) return text;
  std::size_t bytes = 0;
  for (std::size_t shown = 0; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0) != 0x80;
    if (begins && ++shown > room - kDots.size()) break;
  }
  return text.substr(0, bytes) + std::string(kDots);
}

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.,+-e%") == std::string::npos;
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  for (auto& row : rows) {
    for (std::string& cell : row) cell = ir::printable(cell);
  }
  std::vector<std::size_t> widths;
  std::vector<bool> numeric;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    widths.resize(std::max(widths.size(), rows[r].size()), 0);
    numeric.resize(widths.size(), true);
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      widths[c] = std::max(widths[c], width(rows[r][c]));
      // The first row may be a head.
      if (r > 0 && !rows[r][c].empty() && !is_number(rows[r][c])) numeric[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += numeric[c] && rows.size() > 1 ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::vector<std::vector<std::string>> fold(std::vector<std::vector<std::string>> rows,
                                           std::vector<int> importance, std::size_t width_there) {
  if (width_there == 0) return rows;
  constexpr std::size_t kBetween = 2;
  constexpr std::size_t kColumnsToKeep = 3;
  constexpr std::size_t kLeastName = 16;
  const auto width_of = [&](std::size_t column) {
    std::size_t widest = 0;
    for (const auto& row : rows) {
      if (column < row.size()) widest = std::max(widest, width(row[column]));
    }
    return widest;
  };
  std::size_t needed = 0;
  for (std::size_t column = 0; column < importance.size(); ++column) needed += width_of(column) + kBetween;
  while (needed > width_there + kBetween && importance.size() > 1) {
    if (importance.size() <= kColumnsToKeep && width_of(0) > kLeastName) {
      const std::size_t too_wide = needed - width_there - kBetween;
      const std::size_t room = std::max(kLeastName, width_of(0) - std::min(width_of(0), too_wide));
      needed -= width_of(0) - room;
      for (auto& row : rows) {
        if (!row.empty()) row[0] = fitted(row[0], room);
      }
      continue;
    }
    // The last of the least important ones, counted from behind.
    const auto least = std::min_element(importance.rbegin(), importance.rend() - 1);
    const auto place = importance.rend() - 1 - least;
    needed -= width_of(static_cast<std::size_t>(place)) + kBetween;
    importance.erase(importance.begin() + place);
    for (auto& row : rows) {
      if (place < std::ssize(row)) row.erase(row.begin() + place);
    }
  }
  return rows;
}

namespace {

// The text in lines of at most so many characters; a word that is longer has a line of its own.
std::vector<std::string> lines_of(const std::string& text, std::size_t room) {
  std::vector<std::string> lines{""};
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!lines.back().empty() && width(lines.back()) + 1 + width(word) > room) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    start = end + 1;
  }
  return lines;
}

std::string thousands_apart(std::string text) {
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t i = std::min(text.find('.'), text.size()); i > first + 3;) {
    i -= 3;
    text.insert(i, ",");
  }
  return text;
}

}  // namespace

std::vector<std::vector<std::string>> wrap(const std::vector<std::vector<std::string>>& rows,
                                           std::size_t width_there) {
  constexpr std::size_t kBetween = 2;
  constexpr std::size_t kLeastRoom = 20;
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  std::size_t before = 0;
  for (std::size_t c = 0; c + 1 < widths.size(); ++c) before += widths[c] + kBetween;
  if (width_there < before + kLeastRoom) return rows;
  const std::size_t room = width_there - before;
  std::vector<std::vector<std::string>> wrapped;
  for (const auto& row : rows) {
    wrapped.push_back(row);
    if (row.size() < widths.size() || width(row.back()) <= room) continue;
    const std::vector<std::string> lines = lines_of(row.back(), room);
    wrapped.back().back() = lines[0];
    for (std::size_t i = 1; i < lines.size(); ++i) {
      wrapped.emplace_back(widths.size());
      wrapped.back().back() = lines[i];
    }
  }
  return wrapped;
}

std::string rate(double number) { return thousands_apart(fmt::format("{:.1f}", number)); }

std::string count(std::int64_t number) { return thousands_apart(fmt::format("{}", number)); }

std::string bytes(double count) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (count >= 1024 && unit + 1 < kUnits.size()) {
    count /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", count) : fmt::format("{:.2f} {}", count, kUnits[unit]);
}

std::string duration(double seconds) {
  if (seconds > 0 && seconds < 0.95e-7) return fmt::format("{:.1f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string percentage(double share) {
  constexpr double kLeast = 1e-6;
  if (share > 0 && share < kLeast) return fmt::format("<{:g}%", 100 * kLeast);
  return share > 0 && share < 0.01 ? fmt::format("{:.2g}%", 100 * share)
                                   : fmt::format("{:.1f}%", 100 * share);
}

std::string quantity(double count) {
  constexpr std::array<std::string_view, 5> kUnits{"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (count >= 1000 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", count) : fmt::format("{:.2f}{}", count, kUnits[unit]);
}

}  // namespace podium::report
