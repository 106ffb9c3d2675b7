#include "executor/kernels/text_case.h"

#include <locale.h>
#include <wctype.h>

#include <cstdint>

#include "ir/error.h"

namespace podium::kernels {
namespace {

struct Letter {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

Letter letter_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80) return {};
    code = code << 6 | (next & 0x3FU);
  }
  return {code, bytes};
}

void append(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xE0 | code >> 12);
    } else {
      put(0xF0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3F));
    }
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

locale_t find_locale(const std::string& name) {
  for (const std::string& candidate : {name + ".UTF-8", name, std::string("C.UTF-8")}) {
    if (locale_t found = newlocale(LC_CTYPE_MASK, candidate.c_str(), nullptr)) return found;
  }
  throw Error("the system has no UTF-8 locale");
}

}  // namespace

CaseRules::CaseRules(const std::string& locale)
    : locale_(find_locale(locale), [](void* held) { freelocale(static_cast<locale_t>(held)); }) {}

std::string CaseRules::changed(std::string_view text, Case to) const {
  const auto rules = static_cast<locale_t>(locale_.get());
  std::string result;
  while (!text.empty()) {
    const Letter letter = letter_at(text);
    if (letter.bytes == 0) {
      result += text[0];
      text.remove_prefix(1);
      continue;
    }
    const auto code = static_cast<wint_t>(letter.code);
    append(result, to == Case::Upper ? towupper_l(code, rules) : towlower_l(code, rules));
    text.remove_prefix(letter.bytes);
  }
  return result;
}

}  // namespace podium::kernels
