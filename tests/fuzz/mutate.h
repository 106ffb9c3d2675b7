// Inputs made of other inputs. Each function changes one to a few places; `corpus` are inputs of the same
// kind, whose parts may be put in.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/dice.h"

namespace podium::fuzz {

using Corpus = std::vector<std::string>;

/// Bits, bytes, numbers of either byte order, cuts, copies.
std::string mutate_bytes(const std::string& input, const Corpus& corpus, Dice& dice);
/// Words, numbers and brackets of a text.
std::string mutate_text(const std::string& input, const Corpus& corpus, Dice& dice);
/// Values and names of a JSON document; now and then its text.
std::string mutate_json(const std::string& input, const Corpus& corpus, Dice& dice);
/// Fields of a binary model, whatever message they are in; now and then its bytes.
std::string mutate_model(const std::string& input, const Corpus& corpus, Dice& dice);

}  // namespace podium::fuzz
