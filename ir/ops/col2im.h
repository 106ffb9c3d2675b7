// Col2Im: the geometry that its row and its kernel share.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

struct Col2ImGeometry {
  Dims image;
  Dims block;
  Dims dilations;
  Dims strides;
  Dims pads_begin;
  /// Number of places of the block along each axis.
  Dims places;
};

/// Error when the attributes do not fit the shapes.
Col2ImGeometry col2im_geometry(const TypedOp& op, const Dims& image, const Dims& block);

OpSpec col2im_row();

}  // namespace podium::ir
