// Checks of one op against its row, shared by verify and infer.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// An attribute that says where an op is placed, not what it means: "__..." and PopART's plain names.
bool is_annotation(std::string_view attribute);
/// Prefix of the attributes that a private op carries for another op, the one it stands for.
inline constexpr std::string_view kOfAnotherOp = "of.";
/// Number of inputs and outputs, required attributes, kinds of attributes. Error says what does not fit.
void check_form(const Op& op);
/// Element types of the inputs against the row's constraints; types not known yet are let through.
void check_types(const TypedOp& op);

}  // namespace podium::ir
