// The files of the samples that a model is trained or evaluated on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/cli/train_options.h"
#include "executor/session/samples.h"
#include "importer/read_tensor.h"

namespace podium::cli {

/// Reads the files of `--INPUTS NAME=FILE` and `--TARGETS NAME=FILE`, the options' names being `options`.
/// Error when a file cannot be read, holds no samples, or holds another number of them than the first.
/// `axes` say where samples lie in arrays and inputs alike. An array may also hold micro-batches in
/// the known shape of the input, along a dimension in front, or where samples are not first along the first.
Samples read_samples(const std::pair<const char*, const char*>& options, const NamedFiles& inputs,
                     const NamedFiles& targets, const importer::Signature& signature, const SampleAxes& axes);

/// The types that micro-batches of the samples, or without any of them `micro_batch`, give to the inputs of a
/// model. Error for an input whose dimension of samples is another number than `micro_batch`, or that has
/// none and `micro_batch` is 0.
std::map<std::string, ir::Type> micro_batch_types(const Samples& samples,
                                                  const importer::Signature& signature, int micro_batch);

}  // namespace podium::cli
