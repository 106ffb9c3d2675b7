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

std::string rate(double number) {
  std::string text = fmt::format("{:.1f}", number);
  const std::size_t point = text.find('.');
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t i = point; i > first + 3;) {
    i -= 3;
    text.insert(i, ",");
  }
  return text;
}

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
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string percentage(double share) {
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
