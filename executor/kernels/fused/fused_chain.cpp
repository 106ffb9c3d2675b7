// Ops that compute element by element over one shape, piece by piece: what lies between them stays in the
// nearest caches and has no memory of its own. Inputs of one element are the same for all pieces. Where there
// is machine code for all ops (chain_code.h), it stands for their kernels, and there are no pieces but those
// of threads.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "executor/kernels/fused/chain_code.h"
#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/stretched_chain.h"
#include "executor/kernels/tools/elementwise.h"

namespace podium::kernels {
namespace {

using ir::Graph;
using ir::Op;
using ir::Type;
using ir::ValueId;

constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::size_t kMostElementBytes = 8;

// The op after which nothing reads the value; outputs of the body are not counted.
ir::IdMap<ValueId, ir::OpId> last_readers(const Graph& body) {
  ir::IdMap<ValueId, ir::OpId> last(std::ssize(body.values));
  for (ir::OpId op : body.op_ids()) {
    for (ValueId id : inputs_of(body[op])) last[id] = op;
  }
  return last;
}

bool takes(const Op& op, ValueId taken) {
  const unsigned in_place = find_kernel(op.spec->domain, op.spec->name)->in_place;
  for (std::size_t k = 0; k < op.inputs.size(); ++k) {
    if (op.inputs[k] == taken && !ir::has_input(in_place, k)) return false;
  }
  return true;
}

// How a chain is computed: kernels for whole pieces and for the last one, and where each value is.
struct Plan {
  std::shared_ptr<const Graph> body;
  ir::IdMap<ValueId, bool> in_pieces;    // else it has one element
  ir::IdMap<ValueId, std::size_t> room;  // of values between the ops; kNone of others
  std::size_t rooms = 0;
  std::shared_ptr<const ChainCode> code;               // nullptr where an op has none
  std::array<std::vector<PreparedKernel>, 2> kernels;  // else per op, for whole pieces and for the last one
  std::array<std::int64_t, 2> sizes = {};              // of these
  std::int64_t elements = 0;
  std::size_t scratch_bytes = 0;

  explicit Plan(const PrepareContext& context) : body(context.get<ir::Body>("body")) {
    elements = context.output(0).element_count();
    for (const ir::Value& value : body->values) in_pieces.push_back(value.type.element_count() == elements);
    sizes = {std::min(elements, kChainPiece), elements % kChainPiece};
    code = ChainCode::of(*body, in_pieces);
    if (code) return;
    find_rooms();
    for (std::size_t of = 0; of < sizes.size(); ++of) {
      for (const Op& op : body->ops) {
        if (sizes[of] > 0) kernels[of].push_back(prepare(context, op, sizes[of]));
      }
    }
  }

  Type piece_type(ValueId id, std::int64_t size) const {
    const bool is_piece = in_pieces[id];
    return Type::tensor((*body)[id].type.element, is_piece ? ir::Dims{size} : ir::Dims{});
  }

 private:
  PreparedKernel prepare(const PrepareContext& chain, const Op& op, std::int64_t size) {
    PrepareContext context(op);
    std::vector<Tensor> numbers(op.inputs.size());
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const ValueId id = op.inputs[k];
      context.input_types.push_back(id.valid() ? piece_type(id, size) : Type{});
      const auto input = std::find(body->inputs.begin(), body->inputs.end(), id);
      const Tensor* known = id.valid() && !in_pieces[id] && input != body->inputs.end()
                                ? chain.constant(input - body->inputs.begin())
                                : nullptr;
      if (known != nullptr) numbers[k] = known->reshaped({});
      context.constants.push_back(known != nullptr ? &numbers[k] : nullptr);
    }
    context.output_types = {piece_type(op.outputs[0], size)};
    PreparedKernel kernel = find_kernel(op.spec->domain, op.spec->name)->prepare(context);
    scratch_bytes = std::max(scratch_bytes, context.scratch_bytes);
    return kernel;
  }

  void find_rooms() {
    const auto last = last_readers(*body);
    room.assign(std::ssize(body->values), kNone);
    ir::IdMap<ValueId, bool> is_output(std::ssize(body->values), false);
    for (ValueId id : body->outputs) is_output[id] = true;
    std::vector<std::size_t> unused;
    for (ir::OpId op_id : body->op_ids()) {
      const Op& op = (*body)[op_id];
      const ValueId made = op.outputs[0];
      std::vector<std::size_t> left;
      for (ValueId id : inputs_of(op)) {
        if (room[id] == kNone || last[id] != op_id) continue;
        const bool is_first = std::find(left.begin(), left.end(), room[id]) == left.end();
        if (!is_first || room[made] == room[id]) continue;
        if (!is_output[made] && room[made] == kNone && takes(op, id)) {
          room[made] = room[id];
        } else {
          left.push_back(room[id]);
        }
      }
      if (!is_output[made] && room[made] == kNone) {
        if (unused.empty()) unused.push_back(rooms++);
        room[made] = unused.back();
        unused.pop_back();
      }
      unused.insert(unused.end(), left.begin(), left.end());
    }
  }
};

// The workspace of one thread: a view of each value's piece, and the rooms.
class Workspace {
 public:
  explicit Workspace(const Plan& plan)
      : plan_(plan), rooms_(plan.rooms * room_bytes() + plan.scratch_bytes + 64) {
    const auto address = reinterpret_cast<std::uintptr_t>(rooms_.data());
    std::byte* first = rooms_.data() + (64 - address % 64) % 64;
    scratch_ = first + plan.rooms * room_bytes();
    for (std::size_t of = 0; of < plan.sizes.size(); ++of) {
      if (plan.sizes[of] == 0) continue;
      Views& views = views_[of];
      for (ValueId id : plan.body->value_ids()) {
        const Type type = plan.piece_type(id, plan.sizes[of]);
        std::byte* memory = plan.room[id] == kNone ? nullptr : first + plan.room[id] * room_bytes();
        views.data.push_back(Tensor::view(type.element, type.dims, memory));
      }
      for (const Op& op : plan.body->ops) {
        auto& inputs = views.inputs.emplace_back();
        for (ValueId id : op.inputs) inputs.push_back(id.valid() ? &views.data[id] : nullptr);
        views.outputs.push_back(&views.data[op.outputs[0]]);
      }
    }
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void compute(const RunContext& run, std::int64_t piece) {
    const std::int64_t first = piece * plan_.sizes[0];
    const std::size_t of = first + plan_.sizes[0] <= plan_.elements ? 0 : 1;
    Views& views = views_[of];
    const Graph& body = *plan_.body;
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      views.show(body.inputs[i], run.input(i).raw(), plan_.in_pieces, first);
    for (std::size_t i = 0; i < body.outputs.size(); ++i)
      views.show(body.outputs[i], run.output(i).raw(), plan_.in_pieces, first);
    for (std::size_t i = 0; i < body.ops.size(); ++i) {
      Datum* const output = views.outputs[i];
      plan_.kernels[of][i]({views.inputs[i], std::span(&output, 1), scratch_});
    }
  }

 private:
  struct Views {
    ir::IdMap<ValueId, Datum> data;
    std::vector<std::vector<const Datum*>> inputs;
    std::vector<Datum*> outputs;

    void show(ValueId id, const void* whole, const ir::IdMap<ValueId, bool>& in_pieces, std::int64_t first) {
      Tensor& tensor = data[id].tensor;
      const auto element = static_cast<std::int64_t>(ir::storage_bytes(tensor.type()));
      auto* memory = static_cast<std::byte*>(const_cast<void*>(whole));
      tensor = Tensor::view(tensor.type(), tensor.dims(), memory + (in_pieces[id] ? first * element : 0));
    }
  };
  static constexpr std::size_t room_bytes() { return kChainPiece * kMostElementBytes; }

  const Plan& plan_;
  std::vector<std::byte> rooms_;
  std::byte* scratch_ = nullptr;
  std::array<Views, 2> views_;
};

// Workspaces are made as threads need them and kept.
struct Chain {
  const Plan plan;
  std::mutex mutex = {};
  std::vector<std::unique_ptr<Workspace>> unused = {};

  std::unique_ptr<Workspace> take() {
    const std::lock_guard lock(mutex);
    if (unused.empty()) return std::make_unique<Workspace>(plan);
    std::unique_ptr<Workspace> workspace = std::move(unused.back());
    unused.pop_back();
    return workspace;
  }
  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex);
    unused.push_back(std::move(workspace));
  }
};

void run_code(const Plan& plan, const RunContext& run, std::int64_t begin, std::int64_t end) {
  std::vector<void*> operands;
  const auto add = [&](const Tensor& whole, ValueId id) {
    const std::int64_t skipped = plan.in_pieces[id] ? begin : 0;
    auto* const first = static_cast<std::byte*>(const_cast<void*>(whole.raw()));
    operands.push_back(first + skipped * static_cast<std::int64_t>(ir::storage_bytes(whole.type())));
  };
  for (std::size_t i = 0; i < plan.body->inputs.size(); ++i) add(run.input(i), plan.body->inputs[i]);
  for (std::size_t i = 0; i < plan.body->outputs.size(); ++i) add(run.output(i), plan.body->outputs[i]);
  plan.code->run(operands, end - begin);
}

}  // namespace

bool chain_may_take_memory(const Graph& body, std::size_t output, std::size_t input) {
  const ValueId taken = body.inputs[input];
  bool is_made = false;
  for (const Op& op : body.ops) {
    const bool reads = std::find(op.inputs.begin(), op.inputs.end(), taken) != op.inputs.end();
    if (reads && is_made) return false;
    if (op.outputs[0] != body.outputs[output]) continue;
    if (reads && !takes(op, taken)) return false;
    is_made = true;
  }
  return true;
}

PreparedKernel prepare_chain(PrepareContext& context) {
  const Graph& body = *context.get<ir::Body>("body");
  if (StretchedChain::has_stretched_input(body)) {
    const auto stretched = StretchedChain::of(body);
    IR_CHECK(stretched != nullptr, "a chain of stretched operands has no code");
    return [stretched](const RunContext& run) { (*stretched)(run); };
  }
  const auto chain = std::make_shared<Chain>(Plan(context));
  return [chain](const RunContext& run) {
    const Plan& plan = chain->plan;
    const std::int64_t size = plan.sizes[0];
    const std::int64_t pieces = (plan.elements + size - 1) / size;
    const std::int64_t cost = size * kElementCost * std::ssize(plan.body->ops);
    if (plan.code) {
      return parallel_ranges(pieces, cost, [&](std::int64_t begin, std::int64_t end) {
        run_code(plan, run, begin * size, std::min(end * size, plan.elements));
      });
    }
    parallel_ranges(pieces, cost, [&](std::int64_t begin, std::int64_t end) {
      std::unique_ptr<Workspace> workspace = chain->take();
      for (std::int64_t piece = begin; piece < end; ++piece) workspace->compute(run, piece);
      chain->give_back(std::move(workspace));
    });
  };
}

}  // namespace podium::kernels
