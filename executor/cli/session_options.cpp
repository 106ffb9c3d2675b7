#include "executor/cli/session_options.h"

#include <fmt/core.h>

#include "executor/device/read_device.h"
#include "executor/session/check_options.h"

namespace podium::cli {

SessionOptions session_options(const Options& options) {
  if (const auto reason = why_illegal(options.session)) throw Error(*reason);
  print_notes(options.notes, options);
  return {.seed = options.seed,
          .threads = options.threads,
          .strategy = options.session,
          .device = device::read_device(options.device)};
}

void print_notes(const std::vector<std::string>& notes, const Options& options) {
  if (options.quiet) return;
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
}

}  // namespace podium::cli
