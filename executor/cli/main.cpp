// The program `podium`: catches every error once and turns it into one line and an exit status.
#include <fmt/core.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "executor/cli/command.h"
#include "executor/cli/memory_limit.h"
#include "executor/cli/terminal.h"
#include "executor/cli/usage_error.h"
#include "executor/cli/version.h"
#include "importer/unfinished_file.h"
#include "ir/nearest.h"

namespace podium::cli {
namespace {

void print_help() {
  show("podium COMMAND [options]\n\n");
  for (const CommandRow& command : commands())
    show(fmt::format("  {:<10}{}\n", command.name, command.summary));
  show("\npodium COMMAND --help shows a command's options; podium --version the versions.\n");
}

int dispatch(const Arguments& words) {
  if (words.empty()) throw UsageError("no command found, one needed: podium --help lists them");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return kDone;
  }
  if (words[0] == "--version") {
    show(version_text());
    return kDone;
  }
  std::vector<std::string_view> names;
  for (const CommandRow& command : commands()) {
    names.push_back(command.name);
    if (command.name != words[0]) continue;
    return run_command(command, {words.begin() + 1, words.end()});
  }
  throw UsageError("unknown command '{}', the nearest is '{}'", words[0], ir::nearest(words[0], names));
}

// Of an error for which the memory may have been too little.
int failed_status(std::string text) {
  lift_memory_limit();
  const std::string limit = limit_that_was_reached();
  tell(text + limit);
  return limit.empty() ? kFailed : kDoesNotFit;
}

int guarded(const Arguments& words) {
  try {
    const int status = dispatch(words);
    finish_showing();
    return status;
  } catch (const UsageError& error) {
    tell(fmt::format("error: {}", error.what()));
    return kWrongUsage;
  } catch (const Error& error) {
    return failed_status(fmt::format("error: {}", error.what()));
  } catch (const std::bad_alloc&) {
    return failed_status("error: out of memory");
  } catch (const std::length_error&) {
    tell("error: out of memory: more was asked for than can be addressed");
  } catch (const std::exception& error) {
    tell(fmt::format("error: a fault of podium itself, please report it: {}", error.what()));
  }
  return kFailed;
}

}  // namespace
}  // namespace podium::cli

int main(int count, char** values) {
  podium::cli::keep_standard_streams();
  podium::importer::remove_unfinished_files_at_signals();
  return podium::cli::guarded({values + 1, values + count});
}
