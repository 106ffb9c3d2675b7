// What a session is given and gives back: arrays of the host, and weights that must be there.
#pragma once

#include <map>
#include <string>

#include "executor/program.h"
#include "ir/datum.h"

namespace podium {

/// The elements in another type, as the op Cast gives them.
ir::Tensor cast(const ir::Tensor& tensor, ir::DataType type);

/// Whether no element is NaN or infinite.
bool is_finite(const ir::Tensor& tensor);

/// Error names a weight of which only the type is known.
void check_data(const ir::Graph& graph);

/// Micro-batches that are tensors lie in one array, so those that come must have a known size: Error for one
/// that has not. Sequences, optionals and maps come and go as a sequence of micro-batches, which cannot be
/// cut into slices.
void check_host_tensors(const executor::Program& program);

/// Error when `given` does not hold what `input` takes in a run: of several micro-batches only type and
/// number of elements count.
void check_input(const executor::HostTensor& input, const ir::Datum& given, int replicas);

/// Of an input whose micro-batches come as a sequence, the first one; of others what is given.
ir::Datum first_if_apart(const executor::HostTensor& input, const ir::Datum& given, int replicas);

/// The axes of samples by the names of inputs; of others it is the first.
using SampleAxes = std::map<std::string, int>;
int axis_of(const SampleAxes& axes, const std::string& input);

/// Samples of a micro-batch: those of the first input, on the axis that `axes` or its readers give it (see
/// ir::sample_axes); 1 where there is none, or it is unknown.
std::int64_t samples_of(const ir::Graph& graph, const SampleAxes& axes = {});

}  // namespace podium
