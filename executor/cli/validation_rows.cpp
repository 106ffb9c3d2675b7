// A document is a list of series. A series has the fields of a row; beside them "columns" names what its
// "rows", lists of values, have in their places. "{name}" anywhere in the series stands for the value of that
// column: as the whole of a text it becomes the value itself, inside a longer text its text. The column
// "published" is the figure. A series without columns is one row.
#include "executor/cli/validation_rows.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "executor/session/json_rows.h"
#include "ir/error.h"
#include "ir/nearest.h"

namespace podium::cli {
namespace {

using nlohmann::json;

struct QuantityWord {
  std::string_view text;
  Quantity quantity;
};

constexpr std::array<QuantityWord, 6> kQuantities{{
    {"seconds", Quantity::Seconds},
    {"samplesPerSecond", Quantity::SamplesPerSecond},
    {"flopPerSecond", Quantity::FlopPerSecond},
    {"computeSeconds", Quantity::ComputeSeconds},
    {"computeFlopPerSecond", Quantity::ComputeRate},
    {"collectiveSeconds", Quantity::CollectiveSeconds},
}};

constexpr std::array<std::string_view, 12> kFields{"group",    "name",    "source",   "model",
                                                   "command",  "options", "annotate", "device",
                                                   "quantity", "unit",    "columns",  "rows"};

Quantity quantity_named(const std::string& text) {
  std::vector<std::string_view> names;
  for (const QuantityWord& word : kQuantities) {
    if (word.text == text) return word.quantity;
    names.push_back(word.text);
  }
  throw Error("quantity '{}' found, the nearest is '{}'", text, ir::nearest(text, names));
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string replaced(std::string text, const std::string& mark, const std::string& value) {
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
    text.replace(at, mark.size(), value);
  return text;
}

// Every text of the document with the columns' values in it.
void fill_in(json& document, const std::vector<std::string>& columns, const json& values) {
  if (document.is_structured()) {
    for (json& part : document) fill_in(part, columns, values);
  }
  for (std::size_t i = 0; i < columns.size() && document.is_string(); ++i) {
    const std::string mark = "{" + columns[i] + "}";
    if (document == mark) {
      document = json(values[i]);
    } else {
      document = replaced(document.get<std::string>(), mark, text_of(values[i]));
    }
  }
}

std::string text_field(const json& series, const char* name, const char* fallback = nullptr) {
  const auto found = series.find(name);
  if (found == series.end() && fallback != nullptr) return fallback;
  if (found == series.end()) throw Error("'{}' is missing", name);
  if (!found->is_string()) throw Error("'{}' is {}, text needed", name, found->dump());
  return found->get<std::string>();
}

double number_field(const json& series, const char* name, double fallback) {
  const auto found = series.find(name);
  if (found == series.end()) return fallback;
  if (!found->is_number() || found->get<double>() <= 0)
    throw Error("'{}' is {}, a number above 0 needed", name, found->dump());
  return found->get<double>();
}

Command command_named(const std::string& name) {
  for (Command command : {Command::Run, Command::Train}) {
    if (row_of(command).name == name) return command;
  }
  throw Error("command '{}' found, run or train needed", name);
}

ValidationRow read_row(const json& series) {
  ValidationRow row;
  row.group = text_field(series, "group");
  row.name = text_field(series, "name", "");
  row.model = text_field(series, "model");
  std::istringstream words(text_field(series, "command"));
  std::string word;
  words >> word;
  row.command = command_named(word);
  while (words >> word) row.arguments.push_back(word);
  row.options = series.value("options", json());
  row.annotate = series.value("annotate", json());
  row.device = series.value("device", json());
  row.quantity = quantity_named(text_field(series, "quantity"));
  row.published = number_field(series, "published", 0) * number_field(series, "unit", 1);
  if (row.published == 0) throw Error("'published' is missing");
  if (row.name.empty()) row.name = row.model;
  return row;
}

void check_fields(const json& series) {
  if (!series.is_object()) throw Error("{} found, an object needed", series.dump());
  for (const auto& [name, value] : series.items()) {
    if (name == "published" || std::find(kFields.begin(), kFields.end(), name) != kFields.end()) continue;
    throw Error("unknown field '{}', the nearest is '{}'", name,
                ir::nearest(name, {kFields.begin(), kFields.end()}));
  }
}

std::vector<std::string> columns_of(const json& series) {
  const json columns = series.value("columns", json::array());
  std::vector<std::string> names;
  for (const json& name : columns) {
    if (!columns.is_array() || !name.is_string())
      throw Error("'columns' is {}, a list of texts needed", columns.dump());
    names.push_back(name.get<std::string>());
  }
  return names;
}

void add_rows(json series, std::vector<ValidationRow>& rows) {
  check_fields(series);
  const std::vector<std::string> columns = columns_of(series);
  if (columns.empty()) return rows.push_back(read_row(series));
  const json values = series.value("rows", json::array());
  series.erase("columns");
  series.erase("rows");
  for (const json& list : values) {
    if (!list.is_array() || list.size() != columns.size())
      throw Error("row {} found, {} values needed", list.dump(), columns.size());
    json filled = series;
    fill_in(filled, columns, list);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == "published") filled["published"] = list[i];
    }
    rows.push_back(read_row(filled));
  }
}

}  // namespace

std::vector<ValidationRow> read_validation_rows(const std::string& text, const std::string& where) {
  const json document = parse_json(text, where);
  if (!document.is_array()) throw Error("{}: no list found, a list of series needed", where);
  std::vector<ValidationRow> rows;
  for (std::size_t i = 0; i < document.size(); ++i) {
    try {
      add_rows(document[i], rows);
    } catch (const Error& error) {
      throw error.at(fmt::format("{}: series {}", where, i + 1));
    }
  }
  return rows;
}

}  // namespace podium::cli
