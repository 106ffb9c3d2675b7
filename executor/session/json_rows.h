// Reads JSON objects by tables: a row a name, with what takes its value.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/session/option_words.h"
#include "ir/error.h"

namespace podium {

/// Error names the line, a name that an object has twice, or a number that is too large.
nlohmann::json parse_json(const std::string& text, const std::string& file);

/// A value of a document and where it stands.
struct Place {
  const nlohmann::json& value;
  std::string file;
  std::string path;                   ///< "executionPhaseSettings.phases", "" of the whole document
  std::vector<std::string>& ignored;  ///< paths that have no effect

  std::string where() const { return path.empty() ? file : file + ": " + path; }
  Place at(const std::string& name, const nlohmann::json& inner) const {
    return {inner, file, path.empty() ? name : path + "." + name, ignored};
  }
  /// Error: WHERE: the value found, `needed` needed, and what is nearest to it, if anything is.
  [[noreturn]] void refuse(const std::string& needed, std::string_view nearest = {}) const;
};

template <class T>
struct Row {
  std::string_view name;
  void (*read)(T&, const Place&);
};

[[noreturn]] void refuse_name(const Place& object, const std::string& name,
                              std::vector<std::string_view> known);
/// Error when the value is no object.
const nlohmann::json& object_of(const Place& place);
std::int64_t whole_number_of(const Place& place, std::int64_t least, std::int64_t most);
double number_of(const Place& place);
/// The place of the word among `words`, upper and lower case being equal.
std::size_t word_index_of(const Place& place, const std::vector<std::string_view>& words);

template <class T>
void read_object(T& target, const Place& place, std::span<const Row<T>> rows) {
  for (const auto& [name, value] : object_of(place).items()) {
    const Row<T>* found = nullptr;
    for (const Row<T>& row : rows) {
      if (row.name == name) found = &row;
    }
    if (found == nullptr) {
      std::vector<std::string_view> known;
      for (const Row<T>& row : rows) known.push_back(row.name);
      refuse_name(place, name, std::move(known));
    }
    found->read(target, place.at(name, value));
  }
}

template <class Enum>
void read_word(Enum& target, const Place& place) {
  std::vector<std::string_view> words;
  for (const Word<Enum>& word : kWords<Enum>) words.push_back(word.text);
  target = kWords<Enum>[word_index_of(place, words)].value;
}

template <class Enum>
void read_word(std::optional<Enum>& target, const Place& place) {
  read_word(target.emplace(), place);
}

template <class Member>
struct MemberOf;
template <class T, class M>
struct MemberOf<M T::*> {
  using Object = T;
  using Value = M;
};
template <auto member>
using ObjectOf = typename MemberOf<decltype(member)>::Object;

/// Readers of a row for a member of the object.
template <auto member>
void word(ObjectOf<member>& target, const Place& place) {
  read_word(target.*member, place);
}
template <auto member, int least = 0>
void whole(ObjectOf<member>& target, const Place& place) {
  using Value = typename MemberOf<decltype(member)>::Value;
  target.*member = static_cast<Value>(whole_number_of(place, least, std::numeric_limits<Value>::max()));
}
template <auto member>
void number(ObjectOf<member>& target, const Place& place) {
  target.*member = number_of(place);
}
template <auto member>
void truth(ObjectOf<member>& target, const Place& place) {
  if (!place.value.is_boolean()) place.refuse("true or false");
  target.*member = place.value.get<bool>();
}

}  // namespace podium
