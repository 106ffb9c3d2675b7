// A spec says how many shards each axis, or each factor of an axis, has; the shards are counted row-major
// over all of them, and for each the ranges of an axis are fused from those of its factors.
#include "annotate/layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "ir/copy_elements.h"
#include "ir/error.h"
#include "ir/late_tensor.h"
#include "ir/zero_tensor.h"

namespace podium::annotate {
namespace {

using ir::append;
using Ranges = std::vector<IndexRange>;

/// A factor of an axis whose size is known.
struct SizedFactor {
  std::int64_t size = 0;
  std::int64_t shards = 1;
};

IndexRange range_of_shard(const SizedFactor& factor, std::int64_t shard) {
  const std::int64_t each = factor.size / factor.shards + (factor.size % factor.shards != 0 ? 1 : 0);
  return {std::min(factor.size, shard * each), std::min(factor.size, (shard + 1) * each)};
}

std::vector<SizedFactor> sized(const ir::ShardedAxis& axis, std::int64_t dim) {
  std::int64_t known = 1;
  std::vector<std::string> said;
  for (const ir::ShardedFactor& factor : axis.factors) {
    said.push_back(factor.size ? std::to_string(*factor.size) : "?");
    if (factor.size && __builtin_mul_overflow(known, *factor.size, &known))
      throw Error("axis {} has factors of {} elements, {} needed", axis.axis, fmt::join(said, " x "), dim);
  }
  std::vector<SizedFactor> found;
  std::int64_t product = 1;
  for (const ir::ShardedFactor& factor : axis.factors) {
    found.push_back({factor.size.value_or(known == 0 ? 0 : dim / known), factor.shards});
    product *= found.back().size;
  }
  if (product != dim)
    throw Error("axis {} has factors of {} elements, {} needed", axis.axis, fmt::join(said, " x "), dim);
  return found;
}

// The row-major fusion of the ranges of the factors, from the innermost outwards: each index of a factor is
// `stride` elements of those inside of it.
Ranges fuse(const std::vector<SizedFactor>& factors, std::span<const std::int64_t> shards) {
  constexpr std::size_t kMostRanges = 1024;  // a few bytes of a file could ask for any number
  Ranges inner{{0, 1}};
  std::int64_t stride = 1;
  for (std::size_t i = factors.size(); i-- > 0;) {
    const IndexRange own = range_of_shard(factors[i], shards[i]);
    Ranges outer;
    if (inner.empty()) return {};  // the shard has nothing of what is inside
    if (inner == Ranges{{0, stride}}) {
      append(outer, {own.begin * stride, own.end * stride});
    } else {
      for (std::int64_t index = own.begin; index < own.end; ++index) {
        for (const IndexRange& range : inner)
          append(outer, {index * stride + range.begin, index * stride + range.end});
        if (outer.size() > kMostRanges) throw Error("more than {} ranges a shard found", kMostRanges);
      }
    }
    inner = std::move(outer);
    stride *= factors[i].size;
  }
  return inner;
}

/// An axis of a spec on a tensor whose shape is known.
struct CutAxis {
  std::size_t axis = 0;
  std::vector<SizedFactor> factors;
};

std::vector<CutAxis> cut_axes(const ir::ShardingSpec& spec, std::span<const std::int64_t> dims) {
  const std::int64_t rank = std::ssize(dims);
  std::vector<CutAxis> cuts;
  for (const ir::ShardedAxis& written : spec.axes) {
    if (written.axis < -rank || written.axis >= rank)
      throw Error("axis {} of a tensor of rank {} found, {} to {} needed", written.axis, rank, -rank,
                  rank - 1);
    const auto axis = static_cast<std::size_t>(written.axis < 0 ? written.axis + rank : written.axis);
    if (std::ranges::find(cuts, axis, &CutAxis::axis) != cuts.end())
      throw Error("axis {} is sharded twice", axis);
    cuts.push_back({axis, sized(written, dims[axis])});
  }
  return cuts;
}

ir::Tensor cut_out_now(const ir::Tensor& whole, const Box& box) {
  ir::Tensor part(whole.type(), dims_of(box));
  if (part.size() == 0) return part;
  copy_out_of_box(whole, {whole.dims()}, box, part);
  return part;
}

}  // namespace

// What nobody has read of a model's file stays there.
ir::Tensor cut_out(const ir::Tensor& whole, const Box& box) {
  if (ir::takes_no_memory(whole)) return ir::zeros(whole.type(), dims_of(box));
  const ir::Type type = ir::Type::tensor(whole.type(), dims_of(box));
  if (whole.source() == nullptr || ir::packed_bytes(type) < static_cast<std::int64_t>(ir::kLateBytes))
    return cut_out_now(whole, box);
  const auto digest = [whole, box](ir::Digests& digests) {
    ir::Digester digester;
    digester.add("part").add(digests.of(whole));
    for (const std::vector<IndexRange>& ranges : box) {
      digester.add(std::ssize(ranges));
      for (const IndexRange& range : ranges) digester.add(range.begin).add(range.end);
    }
    return digester.digest();
  };
  ir::KnownOp slice{.op = {.spec = ir::find_op("", "Slice")}, .inputs = {whole}};
  return ir::late_tensor(
      type, [whole, box] { return cut_out_now(whole, box); }, digest,
      std::make_shared<const ir::KnownOp>(std::move(slice)));
}

void put_into(ir::Tensor& whole, const Box& box, const ir::Tensor& part) {
  if (part.size() == 0) return;
  copy_into_box(part, whole, {whole.dims()}, box);
}

std::vector<Shard> layout_of(const ir::ShardingSpec& spec, std::span<const std::int64_t> dims) {
  const std::vector<CutAxis> cuts = cut_axes(spec, dims);
  std::vector<std::int64_t> counts;
  for (const CutAxis& cut : cuts) {
    for (const SizedFactor& factor : cut.factors) counts.push_back(factor.shards);
  }
  std::vector<Shard> shards;
  std::vector<std::int64_t> place(counts.size(), 0);  // of the shard in each loop, the last one fastest
  for (const std::vector<std::int64_t>& holders : spec.holders) {
    Shard& shard = shards.emplace_back(Shard{holders, {}});
    for (std::int64_t dim : dims) shard.box.push_back({{0, dim}});
    std::size_t loop = 0;
    for (const CutAxis& cut : cuts) {
      shard.box[cut.axis] = fuse(cut.factors, std::span(place).subspan(loop, cut.factors.size()));
      loop += cut.factors.size();
    }
    for (std::size_t i = counts.size(); i-- > 0;) {
      if (++place[i] < counts[i]) break;
      place[i] = 0;
    }
  }
  return shards;
}

}  // namespace podium::annotate
