// Where the elements of a tensor lie when it is cut over devices: for each device a box.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/index_range.h"
#include "ir/sharding_spec.h"
#include "ir/tensor.h"

namespace podium::annotate {

using ir::IndexRange;

/// The indices along each axis that a device holds, ascending. They are several ranges only for an axis that
/// a reshape made of several; none where the device holds nothing.
using Box = std::vector<std::vector<IndexRange>>;

/// The shard of a tensor that some devices hold, each a copy of it.
struct Shard {
  std::vector<std::int64_t> devices;  ///< ascending
  Box box;
};

/// The shards of a tensor of shape `dims`, in the order of the spec. A dimension n in k shards gives each
/// ceil(n / k), the last ones less, perhaps nothing: 10 in 4 is 3 3 3 1.
/// Error for an axis that the tensor has not, one that is cut twice, and factors that do not make its size.
std::vector<Shard> layout_of(const ir::ShardingSpec& spec, std::span<const std::int64_t> dims);

std::int64_t elements_of(const Box& box);
/// Appends indices behind the ranges; those that touch the last ones prolong them, and none are left out.
void append(std::vector<IndexRange>& ranges, IndexRange more);
/// How many indices the ranges have.
std::int64_t length(const std::vector<IndexRange>& ranges);
/// All of a tensor.
Box whole_box(const ir::Dims& dims);
/// Each range of the inner box lies within one of the outer.
bool contains(const Box& outer, const Box& inner);
/// How many elements are in both.
std::int64_t common_elements(const Box& a, const Box& b);
/// Some element is in both.
bool meet(const Box& a, const Box& b);
/// Where the indices of `inner` lie among those of `outer`, which contains them.
std::vector<IndexRange> places_in(const std::vector<IndexRange>& outer, const std::vector<IndexRange>& inner);
/// The shape of what a box holds.
ir::Dims dims_of(const Box& box);
/// The elements of a box.
ir::Tensor cut_out(const ir::Tensor& whole, const Box& box);
/// The reverse: sets the elements of a box.
void put_into(ir::Tensor& whole, const Box& box, const ir::Tensor& part);

/// "[0:2, 0:4]", and "[0:2+4:6, :]" where an axis has several ranges; a whole axis of `dims` is ":".
std::string to_string(const Box& box, std::span<const std::int64_t> dims);

}  // namespace podium::annotate
