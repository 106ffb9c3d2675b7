// How large the parts of a strategy are that nobody has asked for in particular.
#pragma once

#include <vector>

#include "executor/compare/candidates.h"

namespace podium::compare {

/// Micro-batches of a step, all replicas together: those asked for, or enough to fill a pipeline over all
/// processors for four fifths of its time.
int micro_batches_of_step(const Request& request);
/// An even number of phases of which four fit into a processor's memory: two in use, two on their way.
int phases_that_fit(const Request& request);
int sensible_io_tiles(const Request& request);
/// Whether a processor has tiles that do nothing but input and output: only an IPU's are told what to do.
bool has_io_tiles(const Request& request);
bool has_streaming_memory(const Request& request);
/// Whether so many processors together have room for the weights.
bool have_room(const Request& request, int processors);
/// Whether a pipeline of so many stages is tried neither with few batches nor in training: it would fill and
/// drain most of the time.
bool is_long_pipeline(int length);
/// Lengths of pipelines shorter than the whole, longest first: halves of it as long as the weights fit. Of
/// long pipelines training has those alone whose half has no room.
std::vector<int> shorter_pipelines(const Request& request);

}  // namespace podium::compare
