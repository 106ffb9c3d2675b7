// The program `podium`: catches every error once and turns it into one line and an exit status.
#include <fmt/core.h>

#include <cstdio>
#include <map>

#include "executor/cli/commands.h"
#include "ir/error.h"

int main(int count, char** values) {
  using namespace podium;
  const cli::Arguments arguments(values + 1, values + count);
  try {
    if (!arguments.empty() && arguments[0] == "test") return cli::run_test({arguments.begin() + 1, arguments.end()});
    fmt::print(stderr, "error: no such command\n");
    return 2;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
