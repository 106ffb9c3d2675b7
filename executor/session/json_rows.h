// Reads and writes JSON objects by tables: a row a name, with how its value gets into the object and out of
// it.
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

/// For a file: characters beyond ASCII are escaped, bytes that are no UTF-8 replaced.
std::string json_text(const nlohmann::json& json);

struct Place;

/// Names that a document may have beside those of rows: their values are checked and have no effect.
struct NamesWithoutEffect {
  bool (*check)(const Place&);                                       ///< false: this is none
  std::vector<std::string_view> (*names_in)(std::string_view path);  ///< of the object there
};

/// A value of a document and where it stands.
struct Place {
  const nlohmann::json& value;
  std::string file;
  std::string path;                   ///< "executionPhaseSettings.phases", "" of the whole document
  std::vector<std::string>& ignored;  ///< paths that have no effect
  const NamesWithoutEffect* others = nullptr;

  std::string where() const { return path.empty() ? file : file + ": " + path; }
  Place at(const std::string& name, const nlohmann::json& inner) const {
    return {inner, file, path.empty() ? name : path + "." + name, ignored, others};
  }
  /// Whether the value has no effect; then it is among those that are ignored.
  bool is_without_effect() const;
  /// Error: WHERE: the value found, `needed` needed, and what is nearest to it, if anything is.
  [[noreturn]] void refuse(const std::string& needed, std::string_view nearest = {}) const;
};

/// What a flag of the command line can say of a value: a switch has none. A file, whose
/// name ends with ".json", has what an options document has there.
enum class FlagValue : std::uint8_t { None, Switch, Whole, Word, WordOrFile, Text };

/// A word of a file and what a flag says for it.
struct FlagWord {
  std::string_view text;
  std::string_view flag;
};

/// The flag of the command line that is a shorthand for an option.
struct OptionFlag {
  std::string_view name = {};  ///< "": there is none
  std::string_view help = {};
  std::string_view turns_on = {};  ///< JSON pointer of the switch beside the count that the flag gives
};

/// A flag with all that its row and the rows around it say.
struct BoundFlag {
  OptionFlag flag;
  std::string path;  ///< JSON pointer of the option
  FlagValue value = FlagValue::None;
  int least = 0;                      ///< of a whole number
  std::vector<FlagWord> words = {};   ///< of a word
  nlohmann::json fallback = nullptr;  ///< what holds when nobody says it
};

/// How the value of a row gets into a T and out of it.
template <class T>
struct Access {
  void (*read)(T&, const Place&);
  nlohmann::json (*write)(const T&) = nullptr;  ///< absent where a T does not keep it
  void (*reset)(T&) = nullptr;                  ///< to what holds when nobody says it; of members alone
  FlagValue value = FlagValue::None;
  int least = 0;                               ///< of a whole number
  std::vector<FlagWord> (*words)() = nullptr;  ///< of a word
  /// Of an object: the flags of its own rows, with what a T holds for fallbacks.
  void (*flags)(const T&, const std::string& path, std::vector<BoundFlag>&) = nullptr;
};

/// Who has a use for an option.
enum class UsedBy : std::uint8_t { All, TrainingAlone };

/// All that is said of a name in an object.
template <class T>
struct Row {
  std::string_view name;
  Access<T> access;
  OptionFlag flag = {};
  /// What it adds to the description of a strategy, "4 replicas"; "": nothing.
  std::string (*describe)(const T&) = nullptr;
  UsedBy used_by = UsedBy::All;
};

/// Error names the nearest of the names that are `known` and of those without effect.
[[noreturn]] void refuse_name(const Place& object, const std::string& name,
                              std::vector<std::string_view> known);
/// Error when the value is no object.
const nlohmann::json& object_of(const Place& place);
std::int64_t whole_number_of(const Place& place, std::int64_t least, std::int64_t most);
double number_of(const Place& place);
bool truth_of(const Place& place);
/// The place of the word among `words`, upper and lower case being equal.
std::size_t word_index_of(const Place& place, const std::vector<std::string_view>& words);

template <class T>
void read_object(T& target, const Place& place, std::span<const Row<T>> rows) {
  for (const auto& [name, value] : object_of(place).items()) {
    const Row<T>* found = nullptr;
    for (const Row<T>& row : rows) {
      if (row.name == name) found = &row;
    }
    const Place inner = place.at(name, value);
    if (found == nullptr && inner.is_without_effect()) continue;
    if (found == nullptr) {
      std::vector<std::string_view> known;
      for (const Row<T>& row : rows) known.push_back(row.name);
      refuse_name(place, name, std::move(known));
    }
    found->access.read(target, inner);
  }
}

/// Every name that `source` keeps.
template <class T>
nlohmann::json write_object(const T& source, std::span<const Row<T>> rows) {
  nlohmann::json object = nlohmann::json::object();
  for (const Row<T>& row : rows) {
    if (row.access.write == nullptr) continue;
    nlohmann::json value = row.access.write(source);
    if (!value.is_null()) object[std::string(row.name)] = std::move(value);
  }
  return object;
}

template <class T>
void add_flags(std::span<const Row<T>> rows, const T& defaults, const std::string& path,
               std::vector<BoundFlag>& flags) {
  for (const Row<T>& row : rows) {
    const Access<T>& access = row.access;
    const std::string here = path + "/" + std::string(row.name);
    if (access.flags != nullptr) access.flags(defaults, here, flags);
    if (row.flag.name.empty()) continue;
    BoundFlag& bound = flags.emplace_back(BoundFlag{row.flag, here, access.value, access.least});
    if (access.words != nullptr) bound.words = access.words();
    bound.fallback = access.write(defaults);
  }
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
template <auto member>
using ValueOf = typename MemberOf<decltype(member)>::Value;

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

template <class Enum>
nlohmann::json write_word(Enum value) {
  return word_of(value);
}
template <class Enum>
nlohmann::json write_word(const std::optional<Enum>& value) {
  return value ? nlohmann::json(word_of(*value)) : nlohmann::json();
}

/// The words of an enumeration that a flag has.
template <class Enum>
std::vector<FlagWord> flag_words() {
  std::vector<FlagWord> words;
  for (const Word<Enum>& word : kWords<Enum>) {
    if (!word.flag.empty()) words.push_back({word.text, word.flag});
  }
  return words;
}

/// How rows get at a member of their object.
namespace access {

template <auto member>
void reset_member(ObjectOf<member>& target) {
  target.*member = ObjectOf<member>{}.*member;
}

/// The word of an enumeration.
template <auto member>
inline constexpr Access<ObjectOf<member>> word{
    .read = [](ObjectOf<member>& target, const Place& place) { read_word(target.*member, place); },
    .write = [](const ObjectOf<member>& source) { return write_word(source.*member); },
    .reset = reset_member<member>,
    .value = FlagValue::Word,
    .words = flag_words<ValueOf<member>>};

template <auto member, int fewest = 0>
inline constexpr Access<ObjectOf<member>> whole{
    .read =
        [](ObjectOf<member>& target, const Place& place) {
          using Value = ValueOf<member>;
          target.*member =
              static_cast<Value>(whole_number_of(place, fewest, std::numeric_limits<Value>::max()));
        },
    .write = [](const ObjectOf<member>& source) { return nlohmann::json(source.*member); },
    .reset = reset_member<member>,
    .value = FlagValue::Whole,
    .least = fewest};

template <auto member>
inline constexpr Access<ObjectOf<member>> number{
    .read = [](ObjectOf<member>& target, const Place& place) { target.*member = number_of(place); },
    .write = [](const ObjectOf<member>& source) { return nlohmann::json(source.*member); },
    .reset = reset_member<member>};

/// Any text, such as a name.
template <auto member>
inline constexpr Access<ObjectOf<member>> text{
    .read =
        [](ObjectOf<member>& target, const Place& place) {
          if (!place.value.is_string()) place.refuse("a text");
          target.*member = place.value.template get<std::string>();
        },
    .write = [](const ObjectOf<member>& source) { return nlohmann::json(source.*member); },
    .reset = reset_member<member>,
    .value = FlagValue::Text};

template <auto member>
inline constexpr Access<ObjectOf<member>> truth{
    .read = [](ObjectOf<member>& target, const Place& place) { target.*member = truth_of(place); },
    .write = [](const ObjectOf<member>& source) { return nlohmann::json(source.*member); },
    .reset = reset_member<member>,
    .value = FlagValue::Switch};

/// An object with rows of its own.
template <auto member, auto& rows>
inline constexpr Access<ObjectOf<member>> object{
    .read = [](ObjectOf<member>& target,
               const Place& place) { read_object<ValueOf<member>>(target.*member, place, rows); },
    .write =
        [](const ObjectOf<member>& source) { return write_object<ValueOf<member>>(source.*member, rows); },
    .flags =
        [](const ObjectOf<member>& defaults, const std::string& path, std::vector<BoundFlag>& flags) {
          add_flags<ValueOf<member>>(rows, defaults.*member, path, flags);
        }};

}  // namespace access
}  // namespace podium
