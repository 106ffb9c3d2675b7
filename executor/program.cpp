// Print and verify visit every kind of step once. The text of a slot is name@processor, with .io or
// .streaming for other memories and [index] or [index+stride i] where a buffer has several slots:
//   repeat 4 times
//     copy x@0[1+1i] -> x@1
// Verify checks that blocks read and write compute memory of their own processor, that both ends of a
// movement have one type and the right memories, and that no copy of an exchange reads what another has
// written.
#include "executor/program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "executor/slots.h"

namespace podium::executor {
namespace {

// " in iterations 2 to 4"; nothing of all of them.
std::string text_of(const Iterations& acts) {
  return acts == Iterations{} ? "" : fmt::format(" in iterations {} to {}", acts.first, acts.end - 1);
}

// The tensor, where it moves in parts. Programs that are made by hand may be without the tensors of the host.
const HostTensor* if_in_parts(const std::vector<HostTensor>& tensors, int tensor) {
  if (std::cmp_greater_equal(tensor, tensors.size()) || tensors[tensor].parts.empty()) return nullptr;
  return &tensors[tensor];
}

struct PrintStep {
  const Program& program;

  std::string slot(const Slot& slot) const {
    if (!slot.buffer.valid()) return "_";
    const Buffer& buffer = program[slot.buffer];
    std::string text = fmt::format("{}@{}", name_of(program, slot), buffer.processor);
    if (buffer.memory == Memory::IO) text += ".io";
    if (buffer.memory == Memory::Streaming) text += ".streaming";
    if (buffer.slots == 1 || !buffer.rows.empty()) return text;
    if (slot.stride == 0) return fmt::format("{}[{}]", text, slot.index);
    return fmt::format("{}[{}+{}i]", text, slot.index, slot.stride);
  }
  std::string slots(const std::vector<Slot>& all) const {
    std::string text;
    for (const Slot& one : all) text += (text.empty() ? "" : ", ") + slot(one);
    return text;
  }
  std::string transfer(const Transfer& one) const {
    return fmt::format("{} -> {}{}", slot(one.from), slot(one.to), text_of(one.acts));
  }

  std::string transfers(const std::vector<Transfer>& all) const {
    std::string text;
    for (const Transfer& one : all) text += (text.empty() ? "" : ", ") + transfer(one);
    return text;
  }

  static std::string part(const std::vector<HostTensor>& tensors, int tensor, int part) {
    const HostTensor* whole = if_in_parts(tensors, tensor);
    if (whole == nullptr) return "";
    return fmt::format(" {}{}", whole->name, to_string(whole->parts[part], whole->type.dims));
  }

  std::string operator()(const LoadFromHost& step) const {
    return fmt::format("load {} from host{}", slot(step.to), part(program.inputs, step.input, step.part));
  }
  std::string operator()(const StoreToHost& step) const {
    return fmt::format("store {} to host{}", slot(step.from), part(program.outputs, step.output, step.part));
  }
  std::string operator()(const Compute& step) const {
    const Block& block = program[step.block];
    return fmt::format("compute {} on ipu {}: ({}) -> ({})", name_of(program, step), block.processor,
                       slots(step.reads), slots(step.writes));
  }
  std::string operator()(const CopyBetweenProcessors& step) const {
    return "copy " + transfers(step.transfers);
  }
  std::string operator()(const CopyBetweenTiles& step) const { return "tiles " + transfer(step.transfer); }
  std::string operator()(const LoadRemote& step) const { return "load " + transfers(step.transfers); }
  std::string operator()(const StoreRemote& step) const { return "store " + transfers(step.transfers); }
  template <class AnyCollective>
  static std::string kind_of(const AnyCollective& step) {
    constexpr std::array<std::string_view, 4> kKinds{"all-reduce", "reduce-scatter", "all-gather",
                                                     "all-to-all"};
    constexpr std::array<std::string_view, 4> kReductions{"", " (mean)", " (local)", " (max)"};
    return fmt::format("{}{}", kKinds[static_cast<std::size_t>(step.kind)],
                       kReductions[static_cast<std::size_t>(step.reduction)]);
  }
  std::string operator()(const Collective& step) const {
    return fmt::format("{} {}", kind_of(step), transfer(step.transfer));
  }
  std::string operator()(const GroupCollective& step) const {
    std::string along;
    if (step.kind != CollectiveKind::AllReduce) along = fmt::format(" along axis {}", step.axis);
    if (step.kind == CollectiveKind::AllToAll) along += fmt::format(" to axis {}", step.scatter_axis);
    return fmt::format("{} in group{} {}", kind_of(step), along, transfers(step.transfers));
  }
  std::string operator()(const Repeat& step) const { return fmt::format("repeat {} times", step.count); }
};

std::string_view name_of(Memory memory) {
  constexpr std::array<std::string_view, 3> kNames{"compute", "io", "streaming"};
  return kNames[static_cast<std::size_t>(memory)];
}

void print_steps(const Program& program, const std::vector<Step>& steps, const std::string& indent,
                 std::string& text) {
  for (const Step& step : steps) {
    text += indent + print(program, step) + "\n";
    if (const auto* repeat = std::get_if<Repeat>(&step.action)) {
      print_steps(program, repeat->body, indent + "  ", text);
    }
  }
}

std::vector<Slot> slots_of(const Step& step, bool written) {
  std::vector<Slot> slots;
  for_each_slot(step, [&](const Slot& slot, bool is_write) {
    if (is_write == written) slots.push_back(slot);
  });
  return slots;
}

// Checks each step against its buffers.
class VerifyStep {
 public:
  explicit VerifyStep(const Program& of) : program_(of) {
    int slots = 0;
    for (const Buffer& buffer : of.buffers) {
      first_slot_.push_back(slots);
      slots += std::max(buffer.slots, 1);
      slot_types_.push_back(slot_type(buffer));
    }
    writer_.resize(slots, nullptr);
  }

  const Buffer& at(const Slot& slot) const {
    IR_CHECK(slot_types_.contains(slot.buffer));
    const Buffer& buffer = program_[slot.buffer];
    IR_CHECK(slot.index >= 0 && slot.index < buffer.slots, "buffer {} has {} slots, slot {} is used",
             buffer.name, buffer.slots, slot.index);
    return buffer;
  }
  void beside(const Slot& slot, const Block& block) const {
    const Buffer& buffer = at(slot);
    IR_CHECK(buffer.processor == block.processor && buffer.memory == block.memory,
             "a block on ipu {} uses buffer {}, which is in {} memory of ipu {}", block.processor,
             buffer.name, name_of(buffer.memory), buffer.processor);
  }
  void same_bytes(const Transfer& one) const {
    const std::string& from = at(one.from).name;
    const std::string& to = at(one.to).name;
    IR_CHECK(type(one.from) == type(one.to), "{} of {} moves to {} of {}", from, to_string(type(one.from)),
             to, to_string(type(one.to)));
  }
  void local(const Transfer& one, Memory from, Memory to) const {
    same_bytes(one);
    const Buffer& source = at(one.from);
    const Buffer& target = at(one.to);
    IR_CHECK(source.processor == target.processor,
             "{} on ipu {} and {} on ipu {} are on one processor by need", source.name, source.processor,
             target.name, target.processor);
    IR_CHECK((source.memory == Memory::Streaming) == (from == Memory::Streaming) &&
                 (target.memory == Memory::Streaming) == (to == Memory::Streaming),
             "{} in {} memory moves to {} in {} memory", source.name, name_of(source.memory), target.name,
             name_of(target.memory));
  }

  void operator()(const Compute& step) const {
    const Block& block = program_[step.block];
    IR_CHECK(
        step.reads.size() == block.graph.inputs.size() && step.writes.size() == block.graph.outputs.size(),
        "block {} has {} inputs and {} outputs, {} and {} are given", block.name, block.graph.inputs.size(),
        block.graph.outputs.size(), step.reads.size(), step.writes.size());
    for (const Slot& slot : step.reads) {
      if (slot.buffer.valid()) beside(slot, block);
    }
    for (const Slot& slot : step.writes) beside(slot, block);
  }
  void operator()(const LoadFromHost& step) const { moves(program_.inputs, step.input, step.part, step.to); }
  void operator()(const StoreToHost& step) const {
    moves(program_.outputs, step.output, step.part, step.from);
  }
  void moves(const std::vector<HostTensor>& tensors, int tensor, int part, const Slot& slot) const {
    IR_CHECK(at(slot).memory != Memory::Streaming);
    const HostTensor* whole = if_in_parts(tensors, tensor);
    IR_CHECK(whole == nullptr ||
                 (std::cmp_less(part, whole->parts.size()) && at(slot).type == moved_type(*whole, part)),
             "{} is no part of '{}'", to_string(at(slot).type), whole->name);
  }
  void operator()(const CopyBetweenProcessors& step) {
    for (const Transfer& one : step.transfers) {
      same_bytes(one);
      IR_CHECK(at(one.from).processor != at(one.to).processor, "{} is copied to the processor it is on",
               at(one.from).name);
      IR_CHECK(writer(one.from) != &step, "a copy reads {} after it has written it", at(one.from).name);
      writer(one.to) = &step;
    }
  }
  void operator()(const CopyBetweenTiles& step) const {
    local(step.transfer, Memory::Compute, Memory::Compute);
    IR_CHECK(at(step.transfer.from).memory != at(step.transfer.to).memory,
             "{} is copied to the tiles it is on", at(step.transfer.from).name);
  }
  void operator()(const LoadRemote& step) const {
    for (const Transfer& one : step.transfers) local(one, Memory::Streaming, Memory::Compute);
  }
  void operator()(const StoreRemote& step) const {
    for (const Transfer& one : step.transfers) local(one, Memory::Compute, Memory::Streaming);
  }
  void operator()(const Collective& step) const {
    const int from = at(step.transfer.from).shards;
    const int to = at(step.transfer.to).shards;
    IR_CHECK(step.reduction != CollectiveReduction::Local || step.kind == CollectiveKind::ReduceScatter);
    switch (step.kind) {
      case CollectiveKind::AllReduce:
        IR_CHECK(from == to);
        break;
      case CollectiveKind::ReduceScatter:
        IR_CHECK(from == 1 && to > 1);
        break;
      case CollectiveKind::AllGather:
        IR_CHECK(from > 1 && to == 1);
        break;
      case CollectiveKind::AllToAll:
        IR_CHECK(false, "replicas have no parts of an axis");
    }
  }
  // Each member's ends are its own, and the parts are together what the whole is.
  void operator()(const GroupCollective& step) const {
    using enum CollectiveReduction;
    IR_CHECK(step.transfers.size() > 1 && (step.reduction == Add || step.reduction == Max));
    std::set<int> members;
    for (const Transfer& one : step.transfers) {
      const Buffer& from = at(one.from);
      const Buffer& to = at(one.to);
      IR_CHECK(from.processor == to.processor && members.insert(from.processor).second,
               "{} on ipu {} becomes {} on ipu {} in a group", from.name, from.processor, to.name,
               to.processor);
      IR_CHECK(from.memory != Memory::Streaming && to.memory != Memory::Streaming);
    }
    const bool reads_parts = step.kind == CollectiveKind::AllGather || step.kind == CollectiveKind::AllToAll;
    const bool writes_parts =
        step.kind == CollectiveKind::ReduceScatter || step.kind == CollectiveKind::AllToAll;
    const int written_along = step.kind == CollectiveKind::AllToAll ? step.scatter_axis : step.axis;
    const ir::Type read = together(step, &Transfer::from, reads_parts, step.axis);
    const ir::Type written = together(step, &Transfer::to, writes_parts, written_along);
    IR_CHECK(read == written, "{} of {} becomes {} in a group", at(step.transfers[0].from).name,
             to_string(read), to_string(written));
  }
  void operator()(const Repeat& step) {
    IR_CHECK(step.count > 0);
    for (const Step& inner : step.body) std::visit(*this, inner.action);
  }

 private:
  const ir::Type& type(const Slot& slot) const { return slot_types_[slot.buffer]; }
  // What the members have at one end of a collective: parts along an axis, or all the same.
  ir::Type together(const GroupCollective& step, Slot Transfer::*end, bool in_parts, int axis) const {
    ir::Type whole = type(step.transfers[0].*end);
    for (std::size_t i = 1; i < step.transfers.size(); ++i) {
      ir::Type other = type(step.transfers[i].*end);
      if (in_parts) {
        const std::int64_t size = other.dims.at(axis);
        other.dims[axis] = whole.dims.at(axis);
        IR_CHECK(other == whole, "parts along axis {} of {} and {}", axis, to_string(whole),
                 to_string(other));
        whole.dims[axis] += size;
      } else {
        IR_CHECK(other == whole, "{} is put together with {}", to_string(whole), to_string(other));
      }
    }
    return whole;
  }
  const CopyBetweenProcessors*& writer(const Slot& slot) {
    return writer_[first_slot_[slot.buffer] + slot.index];
  }

  const Program& program_;
  ir::IdMap<BufferId, ir::Type> slot_types_;
  ir::IdMap<BufferId, int> first_slot_;               // slots of all buffers numbered through
  std::vector<const CopyBetweenProcessors*> writer_;  // by slot: the exchange that wrote it last
};

struct GroupForm {
  int size = 1;
  int stride = 1;  // from one member to the next
};

GroupForm form_of(const ir::ReplicaGroup& group, int replicas) {
  using ir::GroupType;
  GroupForm form{.size = group.size};
  if (group.type == GroupType::All) form.size = replicas;
  if (group.type == GroupType::None) form.size = 1;
  if (form.size < 1 || replicas % form.size != 0)
    throw Error("groups of {} replicas found, a divisor of {} needed", form.size, replicas);
  const int count = replicas / form.size;
  if (group.type == GroupType::Orthogonal) form.stride = count;
  if (group.type == GroupType::Consecutive) form.stride = group.stride;
  if (form.stride < 1 || count % form.stride != 0)
    throw Error("a stride of {} found, a divisor of {} groups needed", form.stride, count);
  return form;
}

}  // namespace

ir::Type whole_type(const HostTensor& tensor) {
  ir::Type whole = tensor.type;
  const bool joins = tensor.slices > 1 && tensor.slice_axis != kAddedUp;
  if (joins) whole.dims[tensor.slice_axis] *= tensor.slices;
  return whole;
}

ir::Type moved_type(const HostTensor& tensor, int part) {
  return tensor.parts.empty() ? tensor.type
                              : ir::Type::tensor(tensor.type.element, dims_of(tensor.parts[part]));
}

ir::Type slot_type(const Buffer& buffer) {
  if (buffer.shards == 1) return buffer.type;
  const std::int64_t elements = buffer.type.element_count();
  return ir::Type::tensor(buffer.type.element, {(elements + buffer.shards - 1) / buffer.shards});
}

std::int64_t slot_bytes(const Buffer& buffer) {
  const std::int64_t bytes = ir::packed_bytes(slot_type(buffer));
  if (buffer.stored_share == 1) return bytes;
  return std::llround(static_cast<double>(bytes) * buffer.stored_share);
}

const std::string& name_of(const Program& program, const Slot& slot) {
  const Buffer& buffer = program[slot.buffer];
  return buffer.rows.empty() ? buffer.name : buffer.rows[slot.index];
}

const std::string& name_of(const Program& program, const Compute& step) {
  return step.name.empty() ? program[step.block].name : step.name;
}

std::int64_t count_of(const Iterations& acts, std::int64_t count) {
  return std::max<std::int64_t>(0, std::min<std::int64_t>(acts.end, count) - std::max(acts.first, 0));
}

std::vector<int> turns_of(const Repeat& repeat) {
  std::vector<int> turns;
  const auto add = [&](const Iterations& acts) {
    for (int turn : {acts.first, acts.end}) {
      if (0 < turn && turn < repeat.count) turns.push_back(turn);
    }
  };
  for (const Step& step : repeat.body) {
    add(step.acts);
    const auto* copy = std::get_if<CopyBetweenProcessors>(&step.action);
    if (copy == nullptr) continue;
    for (const Transfer& one : copy->transfers) add(one.acts);
  }
  std::sort(turns.begin(), turns.end());
  turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
  return turns;
}

std::vector<Slot> reads_of(const Step& step) { return slots_of(step, false); }
std::vector<Slot> writes_of(const Step& step) { return slots_of(step, true); }

int replica_group_size(const ir::ReplicaGroup& group, int replicas) { return form_of(group, replicas).size; }

std::vector<std::vector<int>> replica_groups(const ir::ReplicaGroup& group, int replicas) {
  const auto [size, stride] = form_of(group, replicas);
  const int count = replicas / size;
  std::vector<std::vector<int>> groups(count);
  for (int replica = 0; replica < replicas; ++replica)
    groups[replica / (size * stride) * stride + replica % stride].push_back(replica);
  return groups;
}

std::string print(const Program& program, const Step& step) {
  const bool each_says_its_own = std::holds_alternative<CopyBetweenProcessors>(step.action);
  return std::visit(PrintStep{program}, step.action) + (each_says_its_own ? "" : text_of(step.acts));
}

std::string print(const Program& program) {
  std::string text;
  for (const Buffer& buffer : program.buffers) {
    text += fmt::format("buffer {}: {} x {} on ipu {} {}", buffer.name, buffer.slots,
                        to_string(slot_type(buffer)), buffer.processor, name_of(buffer.memory));
    for (const std::string& row : buffer.rows) text += (&row == buffer.rows.data() ? ", rows " : " ") + row;
    text += "\n";
  }
  for (const Block& block : program.blocks) {
    text += fmt::format("block {} on ipu {}{}: {} ops\n", block.name, block.processor,
                        block.memory == Memory::IO ? " IO tiles" : "", block.graph.ops.size());
  }
  print_steps(program, program.steps, "", text);
  return text;
}

void verify(const Program& program) {
  VerifyStep verifier(program);
  for (const Step& step : program.steps) std::visit(verifier, step.action);
}

}  // namespace podium::executor
