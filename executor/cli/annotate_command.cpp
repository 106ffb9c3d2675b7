// `podium annotate`: writes into a model where its nodes run.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "annotate/annotations.h"
#include "annotate/check.h"
#include "annotate/implied.h"
#include "annotate/place.h"
#include "executor/cli/annotate_automatic.h"
#include "executor/cli/annotate_edits.h"
#include "executor/cli/annotate_sharding.h"
#include "executor/cli/device_configurations.h"
#include "executor/cli/in_model.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/terminal.h"
#include "executor/cli/write_file.h"
#include "executor/device/presets.h"
#include "executor/device/read_device.h"
#include "executor/report/placement_tables.h"
#include "executor/session/sized_graph.h"
#include "ir/files.h"

namespace podium::cli {
namespace {

std::vector<annotate::Rule> read_rules_file(const std::string& path) {
  if (path.empty()) return {};
  return annotate::read_rules(ir::read_small_file(path), path);
}

void apply_rules_file(ir::Graph& graph, const std::vector<annotate::Rule>& rules, const std::string& path) {
  try {
    annotate::apply_rules(graph, rules);
  } catch (const Error& error) {
    throw error.at(path);
  }
}

void annotate_model(importer::Model& model, const std::vector<annotate::Rule>& rules, const Options& given) {
  const AnnotateOptions& options = given.annotate;
  if (options.clear) {
    for (ir::Op& op : model.graph.ops) annotate::clear_annotations(op);
  }
  if (options.automatic) {
    const std::string name = given.device.value_or(std::string(device::kDefaultPreset));
    place_automatically(model, options, device::read_device(name));
  }
  apply_rules_file(model.graph, rules, options.rules_file);
  annotate::apply_rules(model.graph, options.rules);
  // What the model says after that can be read, whether or not a session can do it.
  annotate::check(model.graph, model.info.metadata, {});
}

bool says_nothing(const ir::Op& op) {
  return std::none_of(op.attributes.begin(), op.attributes.end(),
                      [](const ir::Attribute& attribute) { return annotate::is_placement(attribute.name); });
}

std::string listing(const importer::Model& model) {
  const SizedGraph sized = infer_sizes(model.graph);
  const ir::Placement placement =
      annotate::place(sized.graph, model.info.metadata, annotate::implied_request(sized.graph));
  const bool is_plain = std::all_of(sized.graph.ops.begin(), sized.graph.ops.end(), says_nothing);
  std::vector<bool> inherited;
  for (const ir::Op& op : sized.graph.ops) inherited.push_back(!is_plain && says_nothing(op));
  return report::placement_table(sized.graph, placement, inherited, terminal_width()) + "\n" +
         report::placement_summary(sized.graph, placement, terminal_width());
}

// A model may be annotated step by step, so what a session would refuse is no error here.
void print_refusal(const importer::Model& model) {
  try {
    annotate::check(model.graph, model.info.metadata, annotate::implied_request(model.graph));
  } catch (const Error& error) {
    tell(fmt::format("note: a session would refuse this placement: {}", error.what()));
  }
}

void print_placement(const importer::Model& model, const std::string& path) {
  std::set<std::int32_t> all;
  std::set<std::int32_t> annotated;
  for (std::size_t i = 0; i < model.graph.ops.size(); ++i) {
    if (model.nodes_of_ops[i] < 0) continue;
    all.insert(model.nodes_of_ops[i]);
    if (!says_nothing(model.graph.ops[i])) annotated.insert(model.nodes_of_ops[i]);
  }
  show(fmt::format("{}: {} of {} nodes annotated\n", path, annotated.size(), all.size()));
}

void print_written(const importer::Model& model, const std::string& path,
                   const importer::Sharding& sharding) {
  for (const importer::DeviceConfiguration& configuration : sharding.configurations)
    show(fmt::format("{}: configuration {}\n", path, text_of(sharding, configuration)));
  const bool is_placed = !std::ranges::all_of(model.graph.ops, says_nothing);
  if (is_placed || sharding.configurations.empty()) print_placement(model, path);
}

}  // namespace

int execute_annotate(const Options& options) {
  const AnnotateOptions& annotate = options.annotate;
  const std::string& path = options.paths[0];
  const std::vector<podium::annotate::Rule> rules = read_rules_file(annotate.rules_file);
  const bool cuts_tokens =
      annotate.tokens == podium::annotate::TokensBetweenBlocks::Cut || annotate.context_parallel;
  const bool takes_any_size = annotate.automatic || (annotate.tensor_parallel && !cuts_tokens);
  show_activity(fmt::format("importing {}", path), options);
  importer::Model model = in_model(options, [&] {
    return takes_any_size ? import_sized(options) : importer::import_model(path, {.dims = options.dims});
  });
  const std::vector<ir::Op> before = model.graph.ops;
  importer::ModelEdits edits;
  std::string table;
  std::vector<std::string> notes;
  in_model(options, [&] {
    annotate_model(model, rules, options);
    const std::string name = options.configuration.empty() ? "podium" : options.configuration;
    edits.sharding = sharding_of(model, annotate, name, notes);
    importer::Sharding known = importer::read_sharding(model);
    if (annotate.clear) {
      for (const importer::DeviceConfiguration& one : std::exchange(known, {}).configurations)
        edits.dropped.insert(one.name);
    }
    if (annotate.list)
      table = listing(model) + layout_tables(model, merged(std::move(known), edits.sharding));
    edits.nodes = edits_of(model, before);
  });
  if (!annotate.output.empty()) importer::write_model(model, annotate.output, edits);
  show(table);
  if (!annotate.output.empty()) print_written(model, annotate.output, edits.sharding);
  for (const std::string& note : notes) {
    if (!options.quiet) tell(note);
  }
  if (!options.quiet) print_refusal(model);
  return kDone;
}

}  // namespace podium::cli
