// Which devices of a group meet in one collective, where a value lies on some of them in boxes and each needs
// a box of it.
#pragma once

#include <vector>

#include "annotate/op_cut.h"

namespace podium::annotate {

enum class ExchangeKind : std::uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll };

struct GroupExchange {
  ExchangeKind kind = ExchangeKind::AllReduce;
  std::int64_t axis = 0;          ///< along which parts follow each other in the order of the members
  std::vector<int> members = {};  ///< devices, ascending
  std::int64_t scatter_axis = 0;  ///< of an AllToAll: along which parts of it are wanted
};

/// The collectives that bring devices the boxes that they want: of each set of devices that need something of
/// each other, one. Nothing for a set that no collective serves: parts of it overlap, or leave something out,
/// or a device has or wants nothing.
std::vector<GroupExchange> group_exchanges(const Boxes& have, Pieces pieces, const Boxes& wanted);

}  // namespace podium::annotate
