// Mutation of lists of numbers as wholes: sums and products of a list leave their bounds where each of its
// elements is extreme, not where one is that a check of elements, or the first one behind it, refuses.
#pragma once

#include <onnx/onnx_pb.h>

#include "tests/fuzz/dice.h"

namespace podium::fuzz {

/// Fills a list of numbers somewhere in the model with extreme ones: an attribute's, the dims or the elements
/// of a tensor, or those of an input, which is a constant then. False where there is none.
bool fill_list(onnx::ModelProto& model, Dice& dice);

}  // namespace podium::fuzz
