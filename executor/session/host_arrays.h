// What a session is given and gives back: arrays of the host, and weights that must be there.
#pragma once

#include "executor/program.h"
#include "ir/datum.h"

namespace podium {

/// The elements in another type, as the op Cast gives them.
ir::Tensor cast(const ir::Tensor& tensor, ir::DataType type);

/// Whether no element is NaN or infinite.
bool is_finite(const ir::Tensor& tensor);

/// Error names a weight of which only the type is known.
void check_data(const ir::Graph& graph);

/// Micro-batches lie in one array, so they must be tensors, and those that come must have a known size: Error
/// for one that is not.
void check_host_tensors(const executor::Program& program);

/// Error when `given` does not hold what `input` takes in a run: of several micro-batches only type and
/// number of elements count.
void check_input(const executor::HostTensor& input, const ir::Datum& given, int replicas);

/// Samples of a micro-batch: the first dimension of the first input; 1 where there is none, or it is unknown.
std::int64_t samples_of(const ir::Graph& graph);

}  // namespace podium
