// What is fuzzed: a way into Podium that takes bytes from outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/mutate.h"

namespace podium::fuzz {

struct Target {
  std::string_view name;
  /// Inputs that are taken, or nearly.
  Corpus (*seeds)();
  std::string (*mutate)(const std::string& input, const Corpus& corpus, Dice& dice);
  /// Does with the input what Podium would. An Error, and that memory does not suffice, is an answer; what
  /// else escapes is a fault. The working directory is an empty folder of its own.
  void (*run)(const std::string& input);
};

/// The targets of a program: each program has its own.
std::vector<Target> all_targets();

/// Models and data files, as far as the importer reads them and the ops infer types.
std::vector<Target> file_targets();
/// Models that are run, and images.
std::vector<Target> session_targets();
/// Models whose tensors are cut over devices.
std::vector<Target> device_targets();
/// Options, rules, devices, optimizers, command lines.
std::vector<Target> document_targets();

/// The bytes of the files in tests/fuzz/corpus/NAME, in order of their names.
Corpus corpus_files(const std::string& name);
/// Models of ONNX's own cases, of at most `most_bytes`.
Corpus case_models(std::size_t most_bytes);
/// The same with a configuration of two devices, over which each node cuts one of its operands.
Corpus cut_models(std::size_t most_bytes);

}  // namespace podium::fuzz
