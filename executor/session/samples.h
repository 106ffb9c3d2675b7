// The samples that a model is trained or evaluated on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/program.h"
#include "executor/session/host_arrays.h"
#include "executor/session/id_counts.h"
#include "ir/datum.h"

namespace podium {

/// An array an input; the leading dimension counts samples.
struct Samples {
  std::map<std::string, ir::Tensor> arrays = {};
  std::map<std::string, std::string> files = {};  ///< for errors: "--input image=FILE"
  SampleAxes axes = {};
  std::int64_t count = 0;
  std::string flag = "--input";  ///< that names a file, for errors
};

/// An array of micro-batches, or of one, whose samples lie on `axis`, with the samples first; `ready` counts
/// the dimensions in front that only count micro-batches.
ir::Tensor samples_first(const ir::Tensor& array, int axis, int ready);

/// Samples of a micro-batch of the input. Error where it has no axis of samples.
std::int64_t samples_of_micro_batch(const executor::HostTensor& input, const SampleAxes& axes);

/// Of one entry along the leading dimension.
std::int64_t elements_of_sample(const ir::Tensor& array);

/// Draws samples for inputs that have none: as many as the others have, or `count` where there are none at
/// all. Integers are those of random_input.
void draw_missing(Samples& samples, const std::vector<executor::HostTensor>& inputs, const IdCounts& ids,
                  std::int64_t count, std::uint64_t seed);

/// Error when an input has no array or an array no input, when samples have another number of elements than
/// the input takes, or a type that is not cast to it. Ones among the dimensions are not looked at.
void check_samples(const Samples& samples, const std::vector<executor::HostTensor>& inputs);

/// The samples at `rows`, in the order of the inputs and as a run takes them: of one micro-batch in its
/// shape, else in one array, a micro-batch after the other. Integers become the input's type.
std::vector<ir::Datum> take_rows(const Samples& samples, std::span<const std::int64_t> rows,
                                 const std::vector<executor::HostTensor>& inputs);

/// 0, 1, ..., count - 1, or with a seed an order of its own for every epoch, the same on every machine.
std::vector<std::int64_t> order_of_rows(std::int64_t count, const std::optional<std::uint64_t>& seed,
                                        int epoch);

}  // namespace podium
