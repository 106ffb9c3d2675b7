#include "ir/printable.h"

#include <cstdint>

namespace podium::ir {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// A character and the bytes that it takes; 0 bytes where there is no valid UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    code = code << 6 | (byte & 0x3F);
  }
  const bool is_too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return is_too_long || is_surrogate || code > 0x10FFFF ? Character{} : Character{code, bytes};
}

bool is_harmless(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;       // C0, DEL, C1
  if (code == 0x2028 || code == 0x2029) return false;                   // separators of lines
  if (code == 0x200E || code == 0x200F || code == 0x61C) return false;  // marks of a direction
  return !(code >= 0x202A && code <= 0x202E) && !(code >= 0x2066 && code <= 0x2069);
}

bool is_blank(std::uint32_t code) { return code == '\n' || code == '\r' || code == '\t'; }

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.bytes > 0 && is_harmless(next.code)) {
      result += text.substr(0, next.bytes);
    } else if (lines == Lines::Kept && next.code == '\n') {
      result += '\n';
    } else {
      result += next.bytes > 0 && is_blank(next.code) ? " " : kReplacement;
    }
    text.remove_prefix(next.bytes > 0 ? next.bytes : 1);
  }
  return result;
}

std::string one_line(std::string_view text) {
  constexpr std::size_t kLongest = 2000;
  constexpr std::string_view kGap = " ... ";
  const auto half = [](std::string_view part) { return printable(part); };
  // A control byte grows to three, so that halves are cut after the rest of the text was.
  constexpr std::size_t kHalf = (kLongest - kGap.size()) / 2;
  if (text.size() > 2 * kLongest) {
    return one_line(half(text.substr(0, kHalf)) + std::string(kGap) + half(text.substr(text.size() - kHalf)));
  }
  const std::string whole = printable(text);
  if (whole.size() <= kLongest) return whole;
  const auto begins_character = [&](std::size_t at) {
    return (static_cast<unsigned char>(whole[at]) & 0xC0) != 0x80;
  };
  std::size_t end = kHalf;
  while (!begins_character(end)) --end;
  std::size_t begin = whole.size() - kHalf;
  while (!begins_character(begin)) ++begin;
  return whole.substr(0, end) + std::string(kGap) + whole.substr(begin);
}

}  // namespace podium::ir
