// The commands of `podium`. Each takes what follows its name and gives the exit status.
#pragma once

#include <string>
#include <vector>

namespace podium::cli {

using Arguments = std::vector<std::string>;

int run_run(const Arguments& arguments);
int run_train(const Arguments& arguments);
int run_annotate(const Arguments& arguments);
int run_test(const Arguments& arguments);
int run_info(const Arguments& arguments);
int run_compare(const Arguments& arguments);

}  // namespace podium::cli
