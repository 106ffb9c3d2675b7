#include "executor/python/settings.h"

#include "executor/cli/machine.h"
#include "executor/cli/session_options.h"
#include "executor/device/read_device.h"
#include "executor/python/calls.h"
#include "executor/session/json_rows.h"

namespace podium::python {
namespace {

// The document first, then the flags over it, as an options file of the command line is read.
void read_under_flags(cli::Options& options, const std::string& document) {
  const nlohmann::json flags = std::exchange(options.session_json, parse_json(document, "options"));
  options.session = read_option_document(options.session_json, "options", options.notes);
  options.session = read_option_document(flags, "keywords", options.notes, std::move(options.session));
  options.session_json.merge_patch(flags);
}

}  // namespace

Settings read_settings(cli::Command command, const Request& request) {
  Settings settings{.options = parse(command, request.arguments), .device = {}};
  cli::Options& options = settings.options;
  if (!options.paths.empty()) throw Error("'{}' found, an option needed", options.paths[0]);
  if (options.memory_limit > 0)
    throw Error("memory_limit found, none needed: only the program podium counts its memory");
  options.paths = {request.model};
  options.quiet = true;
  if (!request.document.empty()) read_under_flags(options, request.document);
  if (const auto check = row_of(command).check; check != nullptr) check(options);
  settings.device = request.device.empty() ? cli::machine_of(options) : device::parse_device(request.device);
  return settings;
}

SessionOptions session_options(const Settings& settings) {
  const cli::Options& options = settings.options;
  return {.seed = options.seed,
          .threads = options.threads,
          .strategy = options.session,
          .open = cli::open_options(options.session_json),
          .device = settings.device,
          .clock = true,
          .events = !options.trace_file.empty(),
          .estimate = options.estimate,
          .while_running = look_for_signals};
}

}  // namespace podium::python
