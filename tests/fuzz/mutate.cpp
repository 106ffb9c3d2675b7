// Mutation of bytes, texts and JSON documents.
//   bytes: a place of the input is overwritten, cut out, repeated or filled with a part of another input.
//   text:  the same of its words, where a word is a name, a number, or one character of anything else.
//   JSON:  the document is a tree; one of its nodes is replaced (by an extreme value, or a node of another
//   document),
//          renamed, removed, repeated or wrapped.
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>

namespace podium::fuzz {
namespace {

using nlohmann::json;

constexpr std::size_t kMostText = std::size_t{1} << 20;

const std::string& another(const std::string& input, const Corpus& corpus, Dice& dice) {
  return corpus.empty() ? input : dice.pick(corpus);
}

void overwrite_number(std::string& bytes, Dice& dice) {
  static constexpr std::array<std::size_t, 4> kWidths{1, 2, 4, 8};
  const std::size_t width = dice.pick(kWidths);
  if (bytes.size() < width) return;
  const std::int64_t number = dice.whole_number();
  std::array<char, 8> little{};
  std::memcpy(little.data(), &number, little.size());
  if (dice.one_in(2)) std::reverse(little.begin(), little.begin() + static_cast<std::ptrdiff_t>(width));
  bytes.replace(dice.below(bytes.size() - width + 1), width, little.data(), width);
}

void mutate_bytes_once(std::string& bytes, const std::string& other, Dice& dice) {
  const std::size_t at = dice.below(bytes.size() + 1);
  const std::size_t length = dice.below(std::min<std::size_t>(bytes.size() - at, 64) + 1);
  switch (dice.below(8)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << dice.below(8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(dice.below(256));
      break;
    case 2:
    case 3:
      overwrite_number(bytes, dice);
      break;
    case 4:
      bytes.erase(at, dice.one_in(8) ? std::string::npos : length);
      break;
    case 5:
      bytes.insert(at, bytes.substr(at, length));
      break;
    case 6:
      bytes.insert(at, dice.below(64) + 1, static_cast<char>(dice.below(256)));
      break;
    default: {
      const std::size_t from = dice.below(other.size() + 1);
      bytes.replace(at, length, other, from, dice.below(64));
    }
  }
}

using Words = std::vector<std::string>;

bool belongs_to_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

Words words_of(const std::string& text) {
  Words words;
  bool inside = false;
  for (char c : text) {
    const bool belongs = belongs_to_word(c);
    if (!(inside && belongs)) words.emplace_back();
    words.back() += c;
    inside = belongs;
  }
  return words;
}

std::string odd_word(Dice& dice) {
  static const std::vector<std::string> kOdd{
      "",     "-",  "1e999", "-0",     "nan",      "inf", "99999999999999999999",
      "0x10", "\"", "\xff",  "\x1b[m", "\xc2\x9b", "{",   "[",
      "]",    "<",  "=",     ",",      "*",        "\n"};
  if (dice.one_in(3)) return std::to_string(dice.whole_number());
  if (dice.one_in(8)) return std::string(dice.below(20000), dice.pick(kOdd).empty() ? 'x' : '(');
  return dice.pick(kOdd);
}

void mutate_words_once(Words& words, const Words& others, Dice& dice) {
  if (words.empty()) words.emplace_back();
  const auto at = static_cast<std::ptrdiff_t>(dice.below(words.size()));
  const auto end =
      at + static_cast<std::ptrdiff_t>(dice.below(std::min<std::size_t>(words.size() - at, 32)) + 1);
  switch (dice.below(6)) {
    case 0:
      words[at] = odd_word(dice);
      break;
    case 1:
      if (!others.empty()) words[at] = dice.pick(others);
      break;
    case 2:
      words.erase(words.begin() + at, words.begin() + end);
      break;
    case 3: {
      const Words piece(words.begin() + at, words.begin() + end);
      const std::size_t times = dice.one_in(16) ? dice.below(400) : 1;
      for (std::size_t i = 0; i < times; ++i) words.insert(words.begin() + at, piece.begin(), piece.end());
      break;
    }
    case 4:
      std::swap(words[at], dice.pick(words));
      break;
    default:
      if (!others.empty()) {
        const std::size_t from = dice.below(others.size());
        const std::size_t to = from + dice.below(std::min<std::size_t>(others.size() - from, 32)) + 1;
        words.insert(words.begin() + at, others.begin() + static_cast<std::ptrdiff_t>(from),
                     others.begin() + static_cast<std::ptrdiff_t>(to));
      }
  }
}

// The nodes of a tree, the root first.
void collect(json& node, std::vector<json*>& nodes) {
  nodes.push_back(&node);
  if (!node.is_structured()) return;
  for (json& child : node) collect(child, nodes);
}

json any_node(json& document, Dice& dice) {
  std::vector<json*> nodes;
  collect(document, nodes);
  return *dice.pick(nodes);
}

std::vector<std::string> names_in(json& document) {
  std::vector<json*> nodes;
  collect(document, nodes);
  std::vector<std::string> names;
  for (const json* node : nodes) {
    if (!node->is_object()) continue;
    for (const auto& [name, value] : node->items()) names.push_back(name);
  }
  return names;
}

json odd_value(const json& value, Dice& dice) {
  switch (dice.below(9)) {
    case 0:
      return nullptr;
    case 1:
      return dice.one_in(2);
    case 2:
      return json::array();
    case 3:
      return json::object();
    case 4:
      return dice.real_number();
    case 5:
      return odd_word(dice);
    case 6:
      return json::array({value});
    case 7:
      return json{{"", value}};
    default:
      return dice.whole_number();
  }
}

void change_members(json& node, const std::vector<std::string>& names, json value, Dice& dice) {
  auto member = node.begin();
  std::advance(member, static_cast<std::ptrdiff_t>(dice.below(node.size())));
  if (node.is_array()) {
    if (dice.one_in(2)) {
      node.erase(member);
    } else {
      node.push_back(std::move(value));
    }
    return;
  }
  const std::string name = names.empty() || dice.one_in(8) ? odd_word(dice) : names[dice.below(names.size())];
  switch (dice.below(3)) {
    case 0:
      node.erase(member);
      break;
    case 1:
      node[name] = std::move(value);
      break;
    default:
      json kept = *member;
      node.erase(member);
      node[name] = std::move(kept);
  }
}

void mutate_json_once(json& document, json& other, Dice& dice) {
  std::vector<json*> nodes;
  collect(document, nodes);
  json& node = *dice.pick(nodes);
  if (node.is_structured() && !node.empty() && !dice.one_in(4)) {
    change_members(node, names_in(dice.one_in(2) ? other : document), any_node(other, dice), dice);
  } else if (dice.one_in(3)) {
    node = any_node(other, dice);
  } else {
    node = odd_value(json(node), dice);
  }
}

}  // namespace

std::string mutate_bytes(const std::string& input, const Corpus& corpus, Dice& dice) {
  std::string bytes = input;
  for (std::size_t i = dice.below(4) + 1; i > 0; --i)
    mutate_bytes_once(bytes, another(input, corpus, dice), dice);
  return bytes;
}

std::string mutate_text(const std::string& input, const Corpus& corpus, Dice& dice) {
  if (dice.one_in(16)) return mutate_bytes(input, corpus, dice);
  Words words = words_of(input);
  const Words others = words_of(another(input, corpus, dice));
  for (std::size_t i = dice.below(4) + 1; i > 0; --i) mutate_words_once(words, others, dice);
  std::string text;
  for (const std::string& word : words) {
    if (text.size() + word.size() <= kMostText) text += word;
  }
  return text;
}

std::string mutate_json(const std::string& input, const Corpus& corpus, Dice& dice) {
  json document = json::parse(input, nullptr, false);
  json other = json::parse(another(input, corpus, dice), nullptr, false);
  if (document.is_discarded() || other.is_discarded() || dice.one_in(16))
    return mutate_text(input, corpus, dice);
  for (std::size_t i = dice.below(4) + 1; i > 0; --i) mutate_json_once(document, other, dice);
  return document.dump(-1, ' ', false, json::error_handler_t::ignore);
}

}  // namespace podium::fuzz
