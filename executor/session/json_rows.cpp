#include "executor/session/json_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "ir/nearest.h"
#include "ir/nesting.h"

namespace podium {
namespace {

constexpr std::size_t kMostShown = 40;

std::string shown(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMostShown ? text : std::string("a value of type ") + value.type_name();
}

bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Goes over a document and throws where an object has a name twice. A parser's callback would do, but each
// object that ends makes it go over all those before it in the same list.
class NamesOnce : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit NamesOnce(std::string file) : file_(std::move(file)) {}

  bool start_object(std::size_t /*elements*/) override {
    open_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!open_.back().insert(name).second) throw Error("{}: '{}' found twice in one object", file_, name);
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_array(std::size_t /*elements*/) override { return true; }
  bool end_array() override { return true; }
  // What is no JSON is told by who reads it then.
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  std::string file_;
  std::vector<std::set<std::string>> open_;  // the names of the objects that are open
};

}  // namespace

nlohmann::json parse_json(const std::string& text, const std::string& file) {
  try {
    ir::check_nesting(text, ir::kDeepestJson);
  } catch (const Error& error) {
    throw error.at(file);
  }
  NamesOnce names(file);
  nlohmann::json::sax_parse(text, &names);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const auto end = text.begin() + (std::min(error.byte, text.size()));
    const std::string what = error.what();
    const std::size_t reason = what.find(": ");
    throw Error("{}: line {}: {}", file, 1 + std::count(text.begin(), end, '\n'),
                reason == std::string::npos ? what : what.substr(reason + 2));
  } catch (const nlohmann::json::out_of_range& error) {
    const std::string what = error.what();
    throw Error("{}: {}, a smaller number needed", file, what.substr(what.find("] ") + 2));
  }
}

std::string json_text(const nlohmann::json& json) {
  constexpr int kIndent = 2;
  constexpr bool kEscapesAllButAscii = true;
  return json.dump(kIndent, ' ', kEscapesAllButAscii, nlohmann::json::error_handler_t::replace);
}

bool Place::is_without_effect() const {
  if (others == nullptr || !others->check(*this)) return false;
  ignored.push_back(path);
  return true;
}

void Place::refuse(const std::string& needed, std::string_view nearest) const {
  throw Error("{}: {} found, {} needed{}", where(), shown(value), needed,
              nearest.empty() ? "" : fmt::format(", the nearest is '{}'", nearest));
}

void refuse_name(const Place& object, const std::string& name, std::vector<std::string_view> known) {
  if (object.others != nullptr) {
    const auto others = object.others->names_in(object.path);
    known.insert(known.end(), others.begin(), others.end());
  }
  throw Error("{}: unknown option '{}', the nearest is '{}'", object.where(), name, ir::nearest(name, known));
}

const nlohmann::json& object_of(const Place& place) {
  if (!place.value.is_object()) place.refuse("an object");
  return place.value;
}

std::int64_t whole_number_of(const Place& place, std::int64_t least, std::int64_t most) {
  const nlohmann::json& value = place.value;
  const bool fits =
      value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    place.refuse(fmt::format("a whole number of at least {}", least));
  }
  return value.get<std::int64_t>();
}

double number_of(const Place& place) {
  if (!place.value.is_number()) place.refuse("a number");
  return place.value.get<double>();
}

bool truth_of(const Place& place) {
  if (!place.value.is_boolean()) place.refuse("true or false");
  return place.value.get<bool>();
}

std::size_t word_index_of(const Place& place, const std::vector<std::string_view>& words) {
  const std::string list = fmt::format("one of {}", fmt::join(words, ", "));
  if (!place.value.is_string()) place.refuse(list);
  const std::string& word = place.value.get_ref<const std::string&>();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_same_word(words[i], word)) return i;
  }
  place.refuse(list, ir::nearest_if_near(word, words));
}

}  // namespace podium
