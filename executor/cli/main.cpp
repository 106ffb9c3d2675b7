// The program `podium`: catches every error once and turns it into one line and an exit status.
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string_view>
#include <system_error>

#include "executor/cli/command.h"
#include "executor/cli/usage_error.h"
#include "executor/cli/version.h"
#include "executor/numeric/patient_threads.h"
#include "importer/unfinished_file.h"
#include "ir/nearest.h"

namespace podium::cli {
namespace {

void print_help() {
  fmt::print("podium COMMAND [options]\n\n");
  for (const CommandRow& command : commands()) fmt::print("  {:<10}{}\n", command.name, command.summary);
  fmt::print("\npodium COMMAND --help shows a command's options; podium --version the versions.\n");
}

int dispatch(const Arguments& words) {
  if (words.empty()) throw UsageError("no command found, one needed: podium --help lists them");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return kDone;
  }
  if (words[0] == "--version") {
    fmt::print("{}", version_text());
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

// An error is one line, whatever a file's text carried into it.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

// What was printed lies in a buffer until here: a full disk shows only now.
void finish_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error("standard output: cannot be written: {}", std::generic_category().message(errno));
}

int guarded(const Arguments& words) {
  try {
    const int status = dispatch(words);
    finish_output();
    return status;
  } catch (const UsageError& error) {
    fmt::print(stderr, "error: {}\n", one_line(error.what()));
    return kWrongUsage;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", one_line(error.what()));
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: a fault of podium itself, please report it: {}\n", one_line(error.what()));
  }
  return kFailed;
}

}  // namespace
}  // namespace podium::cli

int main(int count, char** values) {
  podium::numeric::start_over_with_patient_threads(values);
  podium::importer::remove_unfinished_files_at_signals();
  return podium::cli::guarded({values + 1, values + count});
}
