#include "executor/cli/supported_ops.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "executor/report/table.h"
#include "importer/import.h"
#include "ir/gradients/gradient.h"

namespace podium::cli {
namespace {

std::string domain_of(const ir::OpSpec& spec) {
  return spec.domain.empty() ? "ai.onnx" : std::string(spec.domain);
}

std::string types_of(const ir::OpSpec& spec) {
  std::string text;
  for (const ir::TypeConstraint& constraint : spec.types) {
    text += fmt::format("{}{}:", text.empty() ? "" : " ", constraint.letter);
    if (constraint.any_kind || constraint.types == ir::kAnyType) {
      text += constraint.any_kind ? "any" : "all";
      continue;
    }
    std::string list;
    for (int i = 1; i < ir::kDataTypeCount; ++i) {
      const auto type = static_cast<ir::DataType>(i);
      if (constraint.types.contains(type))
        list += fmt::format("{}{}", list.empty() ? "" : ",", name_of(type));
    }
    text += list;
  }
  return text;
}

// Not those that Podium makes itself: they are in no model.
std::vector<const ir::OpSpec*> ops_of_models() {
  std::vector<const ir::OpSpec*> ops;
  for (const ir::OpSpec* spec : ir::all_ops()) {
    if (spec->domain != "podium") ops.push_back(spec);
  }
  return ops;
}

struct Group {
  std::string_view why;
  std::vector<std::string_view> ops;
};

// Ops without a derivative by reason, the most common first.
std::vector<Group> groups_without() {
  std::vector<Group> groups;
  for (const ir::OpSpec* spec : ops_of_models()) {
    if (is_differentiable(*spec)) continue;
    const auto same = [&](const Group& group) { return group.why == spec->no_gradient; };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) found = groups.insert(found, Group{spec->no_gradient, {}});
    found->ops.push_back(spec->name);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.ops.size() > b.ops.size(); });
  return groups;
}

std::size_t count_with_derivative() {
  const auto ops = ops_of_models();
  return static_cast<std::size_t>(
      std::count_if(ops.begin(), ops.end(), [](const ir::OpSpec* spec) { return is_differentiable(*spec); }));
}

std::vector<std::string> taken_as_given() {
  std::vector<std::string> names;
  for (const ir::GivenInput& given : ir::inputs_taken_as_given()) {
    names.push_back(fmt::format("{}.{}", given.op, ir::find_op("", given.op)->inputs[given.input].name));
  }
  return names;
}

// Ops of other domains, whose types and derivatives are those of the ops that they become.
std::string rewritten_ops() {
  std::vector<std::vector<std::string>> rows{{"domain", "read as ops of ai.onnx"}};
  for (const importer::RewrittenOp& op : importer::rewritten_ops()) {
    rows.push_back({op.domain.empty() ? "ai.onnx" : std::string(op.domain), std::string(op.name)});
  }
  return report::table(rows);
}

}  // namespace

std::string supported_ops() {
  std::vector<std::vector<std::string>> rows{{"domain", "op", "since", "gradient", "types"}};
  for (const ir::OpSpec* spec : ops_of_models()) {
    const std::string gradient = is_differentiable(*spec) ? "yes" : fmt::format("no: {}", spec->no_gradient);
    rows.push_back(
        {domain_of(*spec), std::string(spec->name), std::to_string(spec->since), gradient, types_of(*spec)});
  }
  const std::size_t all = rows.size() - 1;
  const std::size_t with = count_with_derivative();
  std::string text = report::table(rows);
  text += fmt::format("{} ops; each is read in every version from 1 to the newest, opset {}\n", all,
                      importer::kNewestOpset);
  text += rewritten_ops();
  for (const Group& group : groups_without()) {
    text += fmt::format("without derivative, {}: {}: {}\n", group.ops.size(), group.why,
                        fmt::join(group.ops, ", "));
  }
  text += fmt::format("inputs taken as given: {}\n", fmt::join(taken_as_given(), ", "));
  text += fmt::format("derivatives: {} ops have one, {} have none\n", with, all - with);
  return text;
}

std::string supported_ops_json() {
  nlohmann::json json{
      {"version", 1}, {"withDerivative", count_with_derivative()}, {"takenAsGiven", taken_as_given()}};
  for (const ir::OpSpec* spec : ops_of_models()) {
    nlohmann::json row{{"domain", domain_of(*spec)},
                       {"name", spec->name},
                       {"since", spec->since},
                       {"derivative", is_differentiable(*spec)},
                       {"types", types_of(*spec)}};
    if (!is_differentiable(*spec)) row["why"] = spec->no_gradient;
    json["ops"].push_back(std::move(row));
  }
  for (const importer::RewrittenOp& op : importer::rewritten_ops())
    json["rewritten"].push_back({{"domain", op.domain.empty() ? "ai.onnx" : op.domain}, {"name", op.name}});
  for (const Group& group : groups_without())
    json["withoutDerivative"].push_back({{"why", group.why}, {"ops", group.ops}});
  return json.dump(2);
}

}  // namespace podium::cli
