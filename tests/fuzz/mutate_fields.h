// Mutation of what a message has in fields of which only the numbers are known, such as those of ONNX's
// newer versions than the packaged library's.
#pragma once

#include <google/protobuf/unknown_field_set.h>

#include "tests/fuzz/mutate.h"

namespace podium::fuzz {

/// Changes a field, at any depth: numbers become extreme, texts those of `names`, and fields are removed,
/// repeated or replaced by one of `others`. Bytes that can be read as fields are a message.
void mutate_fields(google::protobuf::UnknownFieldSet& fields, const google::protobuf::UnknownFieldSet& others,
                   const Corpus& names, Dice& dice);

}  // namespace podium::fuzz
