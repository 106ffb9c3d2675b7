// What a comparison comes to, in sentences.
#pragma once

#include <string>
#include <vector>

#include "executor/cli/contestants.h"
#include "executor/report/comparison.h"

namespace podium::cli {

/// The best strategy, by how much it beats one processor, what limits it, what to try next and the command
/// that runs it; or, when nothing fits, which is nearest and what it lacks. `strategies` are best first; the
/// files of options are those of --save.
std::string verdict(const Options& options, const Contestants& contestants,
                    const std::vector<report::ComparedStrategy>& strategies);

/// Whether any of them fits.
bool any_fits(const std::vector<report::ComparedStrategy>& strategies);

/// The file of --save that has the options of a strategy, `place` of all; a word for it without --save.
std::string options_file_of(const Options& options, std::size_t place, const std::string& name);

/// Writes the files of --save: the options of each strategy, and commands.txt.
void save_strategies(const Options& options, const Contestants& contestants,
                     const std::vector<report::ComparedStrategy>& strategies);

}  // namespace podium::cli
