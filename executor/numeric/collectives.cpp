// A collective reads what all its members hold before it fills a slot, since results may go where terms were.
// Sums go term by term in the order of the members, whatever the number of threads; of what all members get
// there is one tensor, which they share.
#include "executor/numeric/collectives.h"

#include <algorithm>

#include "executor/kernels/tools/add_up.h"
#include "executor/kernels/tools/strides.h"

namespace podium::numeric {

using executor::Collective;
using executor::CollectiveKind;
using ir::Tensor;

namespace {

// Elements [first, end) that part number `rank` has of a tensor.
struct Range {
  std::int64_t first;
  std::int64_t count;
};

Range range_of_part(std::int64_t elements, std::int64_t part, std::int64_t rank) {
  const std::int64_t first = std::min(elements, part * rank);
  return {first, std::min(part, elements - first)};
}

void zero_from(Tensor& part, std::int64_t first) {
  kernels::zero_elements(part.type(), kernels::element_at(part.raw(), part.type(), first),
                         part.size() - first);
}

void join(const std::vector<const Tensor*>& parts, Tensor& whole) {
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const Range range = range_of_part(whole.size(), parts[rank]->size(), rank);
    kernels::copy_elements(whole.type(), parts[rank]->raw(),
                           kernels::element_at(whole.raw(), whole.type(), range.first), range.count);
  }
}

// A collective in one group: `terms` and `memories` belong to the group's replicas.
struct InGroup {
  const executor::Program& program;
  const Collective& collective;
  int iteration;
  std::vector<const Tensor*> terms = {};
  std::vector<ReplicaMemory*> memories = {};

  const executor::Slot& to() const { return collective.transfer.to; }
  bool is_local() const { return collective.reduction == executor::CollectiveReduction::Local; }
  kernels::Combine how() const {
    return collective.reduction == executor::CollectiveReduction::Mean ? kernels::Combine::Mean
                                                                       : kernels::Combine::Sum;
  }
  MemoryPool& pool(std::size_t rank) const { return memories[rank]->pool(to()); }
  // All replicas share one copy of the result in memory.
  void give_all(const Tensor& result) const {
    for (ReplicaMemory* memory : memories) memory->fill(to(), iteration, result);
  }

  void all_reduce() const {
    Tensor sum = pool(0).take(terms[0]->type(), terms[0]->dims());
    kernels::add_up(terms, how(), {.count = sum.size()}, sum);
    give_all(sum);
  }
  void reduce_scatter() const {
    const ir::Type type = slot_type(program[to().buffer]);
    std::vector<Tensor> parts;
    for (std::size_t rank = 0; rank < memories.size(); ++rank) {
      Tensor& part = parts.emplace_back(pool(rank).take(type.element, type.dims));
      if (is_local()) {
        cut_part(*terms[rank], rank, part);
        continue;
      }
      const Range range = range_of_part(terms[0]->size(), part.size(), rank);
      kernels::add_up(terms, how(), {.first = range.first, .count = range.count}, part);
      zero_from(part, range.count);
    }
    for (std::size_t rank = 0; rank < memories.size(); ++rank)
      memories[rank]->fill(to(), iteration, parts[rank]);
  }
  void all_gather() const {
    const ir::Type& type = program[to().buffer].type;
    Tensor whole = pool(0).take(type.element, type.dims);
    join(terms, whole);
    give_all(whole);
  }
};

}  // namespace

Tensor join_parts(const std::vector<Tensor>& parts, const ir::Type& type) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& part : parts) pointers.push_back(&part);
  Tensor whole(type.element, type.dims);
  join(pointers, whole);
  return whole;
}

void cut_part(const Tensor& whole, int rank, Tensor& part) {
  const Range range = range_of_part(whole.size(), part.size(), rank);
  kernels::copy_elements(whole.type(), kernels::element_at(whole.raw(), whole.type(), range.first),
                         part.raw(), range.count);
  zero_from(part, range.count);
}

void run_collective(const executor::Program& program, const executor::Step& step,
                    const Collective& collective, std::vector<ReplicaMemory>& memories, int iteration) {
  for (const std::vector<int>& replicas : executor::replica_groups(collective.group, program.replicas)) {
    InGroup group{program, collective, iteration};
    for (int replica : replicas) {
      ReplicaMemory& memory = memories[replica];
      group.memories.push_back(&memory);
      group.terms.push_back(&memory.read(step, collective.transfer.from, iteration).tensor);
    }
    switch (collective.kind) {
      case CollectiveKind::AllReduce:
        group.all_reduce();
        break;
      case CollectiveKind::ReduceScatter:
        group.reduce_scatter();
        break;
      case CollectiveKind::AllGather:
        group.all_gather();
        break;
      case CollectiveKind::AllToAll:
        IR_CHECK(false, "replicas have no parts of an axis");
    }
  }
}

void run_group_collective(const executor::Program& program, const executor::Step& step,
                          const executor::GroupCollective& collective, ReplicaMemory& memory, int iteration) {
  std::vector<const Tensor*> terms;
  for (const executor::Transfer& one : collective.transfers)
    terms.push_back(&memory.read(step, one.from, iteration).tensor);
  const kernels::Combine how = collective.reduction == executor::CollectiveReduction::Max
                                   ? kernels::Combine::Largest
                                   : kernels::Combine::Sum;
  const auto room = [&](const executor::Slot& slot) {
    const ir::Type& type = program[slot.buffer].type;
    return memory.pool(slot).take(type.element, type.dims);
  };
  // What is read stays as it is until all is made: a result may go where a term was.
  std::vector<Tensor> results;
  std::int64_t first = 0;
  for (const executor::Transfer& one : collective.transfers) {
    const bool all_get_the_same =
        collective.kind == CollectiveKind::AllReduce || collective.kind == CollectiveKind::AllGather;
    if (all_get_the_same && !results.empty()) {
      results.push_back(results.front());
      continue;
    }
    Tensor& result = results.emplace_back(room(one.to));
    switch (collective.kind) {
      case CollectiveKind::AllReduce:
        kernels::reduce(terms, how, result);
        break;
      case CollectiveKind::ReduceScatter:
        kernels::reduce_part(terms, how, collective.axis, first, result);
        first += result.dims()[collective.axis];
        break;
      case CollectiveKind::AllGather:
        kernels::gather(terms, collective.axis, result);
        break;
      case CollectiveKind::AllToAll:
        kernels::gather_share(terms, collective.axis, {collective.scatter_axis, first}, result);
        first += result.dims()[collective.scatter_axis];
        break;
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    memory.fill(collective.transfers[i].to, iteration, results[i]);
}

}  // namespace podium::numeric
