// What Python feeds to a session, and what comes back.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <vector>

#include "executor/cli/options.h"
#include "executor/program.h"
#include "executor/python/model.h"
#include "executor/session/variable_store.h"

namespace podium::python {

/// Whether integers of another width than an input's become the input's type.
enum class Integers : std::uint8_t { AsTheyAre, Cast };

/// The data of a run in the order of the session's inputs. Error for a name that is no input, for one that is
/// missing, and for what is no array.
std::vector<ir::Datum> data_of(const pybind11::dict& feeds, const std::vector<executor::HostTensor>& inputs,
                               const cli::Options& options, Integers integers);

/// One object an output.
pybind11::list objects_of(std::span<const ir::Datum> outputs, std::span<const ir::Datum> inputs);

TensorsByName tensors_of(const pybind11::dict& arrays);
/// The arrays share the memory of the tensors.
pybind11::dict arrays_of(const TensorsByName& tensors);

/// The inputs or outputs of a whole run: several micro-batches have leading dimensions.
std::vector<Port> input_ports(const std::vector<executor::HostTensor>& inputs, int replicas);
std::vector<Port> output_ports(const executor::Program& program);

}  // namespace podium::python
