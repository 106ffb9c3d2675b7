// What the cut of an op moves between devices: to choose between two ways to cut it.
#pragma once

#include "annotate/op_cut.h"

namespace podium::annotate {

/// Elements of the boxes wanted that come to their devices from others, which have the boxes held.
std::int64_t elements_to_bring(const Boxes& wanted, const Boxes& held);

/// Elements that travel where summands of one value are added up: of each all but one.
std::int64_t elements_to_add_up(const Boxes& summands, std::int64_t elements);

/// Each element is in one box, and every device has some. Boxes that are not the same are apart, as those of
/// a cut are.
bool shares_out(const Boxes& boxes, std::int64_t elements);

}  // namespace podium::annotate
