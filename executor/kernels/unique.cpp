// Every element becomes an integer key that sorts as the element does (order_key; a string's key is its place
// among the sorted strings), and an item, which may be a whole slice, a row of keys. Items are sorted by
// their rows, equal neighbours form a group with its first item, count and members; groups stay in that order
// or, when not sorted, go by their first items.
#include "executor/kernels/unique.h"

#include <algorithm>
#include <complex>
#include <numeric>

#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/indices.h"
#include "executor/kernels/tools/order_key.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

// The keys that are compared: `width` for each item, in the items' order.
struct Keys {
  std::vector<std::uint64_t> values;
  std::int64_t width = 1;
};

template <class T>
void append_keys(const T& value, std::vector<std::uint64_t>& keys) {
  if constexpr (requires { value.imag(); }) {
    keys.push_back(order_key(value.real()));
    keys.push_back(order_key(value.imag()));
  } else {
    keys.push_back(order_key(value));
  }
}

// A string's key is its place among the sorted strings.
std::vector<std::uint64_t> keys_of_strings(std::span<const std::string> strings) {
  std::vector<const std::string*> sorted;
  for (const std::string& text : strings) sorted.push_back(&text);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return *a < *b; });
  std::vector<std::uint64_t> keys(strings.size());
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && *sorted[i] != *sorted[i - 1]) ++key;
    keys[sorted[i] - strings.data()] = key;
  }
  return keys;
}

std::vector<std::uint64_t> keys_of(const Tensor& x) {
  if (x.type() == DataType::String) return keys_of_strings(x.values<std::string>());
  std::vector<std::uint64_t> keys;
  keys.reserve(x.size());
  dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::complex<float>,
           std::complex<double>>(x.type(), [&](auto tag) {
    for (const auto& value : x.values<decltype(tag)>()) append_keys(value, keys);
    return true;
  });
  return keys;
}

// Items in order of their keys, equal ones by index.
std::vector<std::int64_t> sorted_items(const Keys& keys, std::int64_t count) {
  std::vector<std::int64_t> items(count);
  std::iota(items.begin(), items.end(), 0);
  const std::uint64_t* all = keys.values.data();
  const std::int64_t width = keys.width;
  std::sort(items.begin(), items.end(), [all, width](std::int64_t a, std::int64_t b) {
    const auto order = std::lexicographical_compare_three_way(all + a * width, all + (a + 1) * width,
                                                              all + b * width, all + (b + 1) * width);
    return order != 0 ? order < 0 : a < b;
  });
  return items;
}

struct Groups {
  std::vector<std::int64_t> first;    // the first item of each group
  std::vector<std::int64_t> counts;   // the number of items of each group
  std::vector<std::int64_t> inverse;  // the group of each item
};

// Groups in ascending order of their keys.
Groups groups_of(const Keys& keys, std::int64_t count) {
  Groups groups;
  groups.inverse.resize(count);
  std::int64_t last = -1;
  for (std::int64_t item : sorted_items(keys, count)) {
    const std::uint64_t* key = keys.values.data() + item * keys.width;
    if (last < 0 || !std::equal(key, key + keys.width, keys.values.data() + last * keys.width)) {
      groups.first.push_back(item);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[item] = std::ssize(groups.first) - 1;
    last = item;
  }
  return groups;
}

// The groups in the order of their first items.
Groups by_first_item(const Groups& groups) {
  std::vector<std::size_t> order(groups.first.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return groups.first[a] < groups.first[b]; });
  Groups result;
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    result.first.push_back(groups.first[order[i]]);
    result.counts.push_back(groups.counts[order[i]]);
  }
  for (std::int64_t group : groups.inverse) result.inverse.push_back(place[group]);
  return result;
}

struct UniquePlan {
  Dims dims;  // dimensions of the items; flattened when there is no axis
  std::size_t axis = 0;
  bool sorted = true;
};

Keys keys_by_item(const UniquePlan& plan, const Tensor& x) {
  const std::int64_t count = plan.dims[plan.axis];
  const std::int64_t outer = count_of(plan.dims, 0, plan.axis);
  const std::int64_t inner = count_of(plan.dims, plan.axis + 1, plan.dims.size());
  Keys keys{keys_of(x), outer * inner};
  // A complex number has two keys, which count as one more inner axis.
  const std::int64_t parts = x.size() == 0 ? 1 : std::ssize(keys.values) / x.size();
  keys.width *= parts;
  if (outer == 1) return keys;
  std::vector<std::uint64_t> moved(keys.values.size());
  const std::int64_t run = inner * parts;
  StridedCopy(DataType::Uint64, {{count, run, outer * run}, {outer, count * run, run}, {run, 1, 1}})
      .run(keys.values.data(), moved.data());
  keys.values = std::move(moved);
  return keys;
}

void run_unique(const UniquePlan& plan, const RunContext& run) {
  const Tensor& x = run.input(0);
  const std::int64_t count = plan.dims[plan.axis];
  Groups groups = groups_of(keys_by_item(plan, x), count);
  if (!plan.sorted) groups = by_first_item(groups);
  if (run.has_output(0)) {
    Dims dims = plan.dims;
    dims[plan.axis] = std::ssize(groups.first);
    Tensor result(x.type(), dims);
    gather_blocks(x.type(), x.raw(), result.raw(), count_of(dims, 0, plan.axis), count,
                  count_of(dims, plan.axis + 1, dims.size()), groups.first);
    run.set(0, std::move(result));
  }
  if (run.has_output(1)) run.set(1, Tensor::ints(groups.first));
  if (run.has_output(2)) run.set(2, Tensor::ints(groups.inverse));
  if (run.has_output(3)) run.set(3, Tensor::ints(groups.counts));
}

}  // namespace

PreparedKernel unique(PrepareContext& context) {
  UniquePlan plan{.dims = context.dims(0)};
  if (const auto* axis = context.get_if<std::int64_t>("axis")) {
    plan.axis = ir::normalized_axis(*axis, std::ssize(plan.dims));
  } else {
    plan.dims = {ir::element_count(plan.dims)};
  }
  plan.sorted = context.get_int("sorted") != 0;
  return [plan](const RunContext& run) { run_unique(plan, run); };
}

}  // namespace podium::kernels
