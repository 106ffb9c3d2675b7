// Where the elements of a tensor lie when it is cut over devices: for each device a box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/box.h"
#include "ir/sharding_spec.h"
#include "ir/tensor.h"

namespace podium::annotate {

/// What a device holds: several ranges only for an axis that a reshape made of several, none where it holds
/// nothing.
using ir::Box;
using ir::IndexRange;
using ir::whole_box;

/// The shard of a tensor that some devices hold, each a copy of it.
struct Shard {
  std::vector<std::int64_t> devices;  ///< ascending
  Box box;
};

/// The shards of a tensor of shape `dims`, in the order of the spec. A dimension n in k shards gives each
/// ceil(n / k), the last ones less, perhaps nothing: 10 in 4 is 3 3 3 1.
/// Error for an axis that the tensor has not, one that is cut twice, and factors that do not make its size.
std::vector<Shard> layout_of(const ir::ShardingSpec& spec, std::span<const std::int64_t> dims);

/// The elements of a box.
ir::Tensor cut_out(const ir::Tensor& whole, const Box& box);
/// The reverse: sets the elements of a box.
void put_into(ir::Tensor& whole, const Box& box, const ir::Tensor& part);

}  // namespace podium::annotate
