#include "executor/report/oracle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace podium::report {
namespace {

// As many digits as tell two neighbours of the type apart; the sign of a zero is shown.
std::string number_text(double value, ir::DataType type) {
  return type == ir::DataType::Double ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", value);
}

std::string place_of(const Parting& parting) {
  const std::string made = parting.op.empty() ? "" : fmt::format(" of {}", parting.op);
  return fmt::format("'{}'{}, {}", parting.tensor, made, parting.when);
}

std::string parting_text(const Parting& parting) {
  std::string text = fmt::format("parts at {}: element [{}] is {}, {} on one processor", place_of(parting),
                                 fmt::join(parting.element, ","), number_text(parting.found, parting.type),
                                 number_text(parting.expected, parting.type));
  if (parting.bound) text += fmt::format("; the order of its sum explains at most {:.2g}", *parting.bound);
  if (!parting.remark.empty()) text += "; " + parting.remark;
  return text;
}

std::string explained_text(const Reassociation& one) {
  const std::string made = one.op.empty() ? "" : " of " + one.op;
  if (one.in_zeros_alone)
    return fmt::format("{}, '{}'{}: the sign of zeros alone", one.why, one.tensor, made);
  return fmt::format("{}, '{}'{}: {:.2g} of {} bound of {:.2g}", one.why, one.tensor, made, one.difference,
                     one.is_estimate ? "an estimated" : "a", one.bound);
}

std::string counts_text(const OracleVerdict& verdict) {
  const auto plural = [](std::int64_t count) { return count == 1 ? "" : "s"; };
  std::string text = fmt::format("{} step{}, {} tensor{}", verdict.steps, plural(verdict.steps),
                                 verdict.tensors, plural(verdict.tensors));
  if (verdict.nans > 0) text += fmt::format(", {} NaNs of other bits", verdict.nans);
  return text;
}

// What cannot be written as a number of JSON is text.
nlohmann::json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

nlohmann::json json_of(const Reassociation& one) {
  return {{"op", one.op},       {"tensor", one.tensor},
          {"why", one.why},     {"difference", one.difference},
          {"bound", one.bound}, {"estimated", one.is_estimate}};
}

nlohmann::json json_of(const Parting& parting) {
  nlohmann::json json{{"op", parting.op},
                      {"tensor", parting.tensor},
                      {"when", parting.when},
                      {"element", parting.element},
                      {"found", json_number(parting.found)},
                      {"expected", json_number(parting.expected)}};
  if (parting.bound) json["bound"] = json_number(*parting.bound);
  if (!parting.remark.empty()) json["remark"] = parting.remark;
  return json;
}

}  // namespace

Judgement OracleVerdict::judgement() const {
  if (!why_not.empty()) return Judgement::NotJudged;
  if (parting) return Judgement::Parts;
  return explained.empty() ? Judgement::EqualToTheBit : Judgement::Explained;
}

std::string sentence(const OracleVerdict& verdict) {
  switch (verdict.judgement()) {
    case Judgement::NotJudged:
      return "not judged: " + verdict.why_not;
    case Judgement::Parts:
      return parting_text(*verdict.parting);
    case Judgement::EqualToTheBit:
      return fmt::format("equal to the bit ({})", counts_text(verdict));
    case Judgement::Explained:
      break;
  }
  const auto largest = std::ranges::max_element(verdict.explained, {}, &Reassociation::difference);
  const std::size_t count = verdict.explained.size();
  return fmt::format("equal but for the order of {} sum{} ({}); the most: {}", count, count == 1 ? "" : "s",
                     counts_text(verdict), explained_text(*largest));
}

nlohmann::json to_json(const OracleVerdict& verdict) {
  constexpr const char* kWords[] = {"equal", "explained", "parts", "notJudged"};
  nlohmann::json json{{"judgement", kWords[static_cast<int>(verdict.judgement())]},
                      {"steps", verdict.steps},
                      {"tensors", verdict.tensors},
                      {"explained", nlohmann::json::array()}};
  for (const Reassociation& one : verdict.explained) json["explained"].push_back(json_of(one));
  if (verdict.judgement() == Judgement::NotJudged) json["whyNot"] = verdict.why_not;
  if (verdict.parting) json["parting"] = json_of(*verdict.parting);
  if (verdict.nans > 0) json["nansOfOtherBits"] = verdict.nans;
  json["difference"] = json_number(verdict.difference);
  return json;
}

}  // namespace podium::report
