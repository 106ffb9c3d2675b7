// The code of a chain is a loop over vectors:
//
//   broadcast the numbers; for each vector { load; op; op; load; op; ..; store; store }
//
// What is left is one vector more, of which masks load and store a part, or without masks a loop over
// elements.
//
// A register belongs to a number throughout, and to another value from the op or load that makes it to its
// last reader. Results are stored when all operands have been read, as they may lie where these are.
#include "executor/kernels/fused/chain_code.h"

#include "executor/kernels/fused/vector_ops.h"

#ifdef PODIUM_HAS_VECTOR_OPS

#include <algorithm>
#include <array>
#include <vector>

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::ValueId;
using Xbyak::Reg64;
using Xbyak::Xmm;

constexpr auto kVector = kHasAvx512 ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM;
constexpr int kLanes = kHasAvx512 ? 16 : 8;
constexpr int kVectorRegisters = kHasAvx512 ? 32 : 16;
constexpr int kLastRegister = kVectorRegisters - 1;
constexpr int kPointerBytes = sizeof(void*);
constexpr std::uint8_t kSignBit = 31;

enum class Lanes : std::uint8_t { All, Masked, One };

bool is_half(const Graph& body, ValueId id) { return body[id].type.element == DataType::Float16; }
bool is_bool(const Graph& body, ValueId id) { return body[id].type.element == DataType::Bool; }

// The highest registers, which belong to no value. Halves and bools want one to be stored.
int spare_registers(const Graph& body) {
  const auto wants_one = [&](ValueId id) { return is_half(body, id) || is_bool(body, id); };
  int spare = std::ranges::any_of(body.outputs, wants_one) ? 1 : 0;
  for (const Op& op : body.ops) spare = std::max(spare, VectorOps::spare_of(ir::TypedOp(body, op)));
  return spare;
}

// Which vector register each value has; several have the same one after each other.
class Registers {
 public:
  Registers(const Graph& body, const IdMap<ValueId, bool>& in_pieces)
      : of_(std::ssize(body.values), kNone), readers_(std::ssize(body.values), 0) {
    for (int i = kVectorRegisters - spare_registers(body); i-- > 0;) unused_.push_back(i);
    for (const Op& op : body.ops) {
      for (ValueId id : inputs_of(op)) ++readers_[id];
    }
    for (ValueId id : body.outputs) ++readers_[id];  // the store at the end
    for (ValueId id : body.inputs) {
      if (!in_pieces[id]) take(id);
    }
    for (const Op& op : body.ops) {
      for (ValueId id : inputs_of(op)) {
        if (of_[id] == kNone) take(id);
      }
      for (ValueId id : inputs_of(op)) {
        if (in_pieces[id] && --readers_[id] == 0) unused_.push_back(of_[id]);
      }
      take(op.outputs[0]);
    }
  }

  bool suffice() const { return suffice_; }
  int operator[](ValueId id) const { return of_[id]; }
  bool has(ValueId id) const { return of_[id] != kNone; }

 private:
  static constexpr int kNone = -1;

  void take(ValueId id) {
    suffice_ &= !unused_.empty();
    if (unused_.empty()) return;
    of_[id] = unused_.back();
    unused_.pop_back();
  }

  IdMap<ValueId, int> of_;
  IdMap<ValueId, int> readers_;  // that are still to come
  std::vector<int> unused_;
  bool suffice_ = true;
};

// Those that a function may change, then those that it has to give back; rdi and rsi have the arguments, rax
// the place.
constexpr std::array kPointers{Xbyak::Operand::RCX, Xbyak::Operand::RDX, Xbyak::Operand::R8,
                               Xbyak::Operand::R9,  Xbyak::Operand::R10, Xbyak::Operand::R11,
                               Xbyak::Operand::RBX, Xbyak::Operand::RBP, Xbyak::Operand::R12,
                               Xbyak::Operand::R13, Xbyak::Operand::R14, Xbyak::Operand::R15};
constexpr std::size_t kFreePointers = 6;

// Whether there are as many registers for pointers as operands in pieces.
bool has_pointers(const Graph& body, const IdMap<ValueId, bool>& in_pieces) {
  const auto pieces = std::ranges::count_if(body.inputs, [&](ValueId id) { return in_pieces[id]; });
  return pieces + std::ssize(body.outputs) <= std::ssize(kPointers);
}

std::size_t most_bytes(const Graph& body) {
  constexpr std::size_t kOthers = 64;
  const std::size_t operands = body.inputs.size() + body.outputs.size();
  std::size_t bytes = (8 * operands + kOthers) * kLongestInstruction;
  for (const Op& op : body.ops) bytes += 2 * VectorOps::most_bytes(ir::TypedOp(body, op));
  return bytes;
}

// Writes a chain's function: (first element of each operand, number of elements).
class Emitter {
 public:
  Emitter(Xbyak::CodeGenerator& code, const Graph& body, const IdMap<ValueId, bool>& in_pieces,
          const Registers& registers)
      : code_(code),
        ops_(code, kLastRegister),
        body_(body),
        in_pieces_(in_pieces),
        registers_(registers),
        pointers_(std::ssize(body.inputs) + std::ssize(body.outputs)) {}

  void emit() {
    const std::vector<Reg64> saved = take_pointers();
    for (const Reg64& one : saved) code_.push(one);
    load_numbers();
    const Reg64& end = code_.rsi;
    const Reg64& end_of_vectors = code_.rdi;
    code_.mov(end_of_vectors, end);
    code_.and_(end_of_vectors, -kLanes);
    code_.xor_(code_.rax, code_.rax);
    loop(Lanes::All, end_of_vectors);
    kHasAvx512 ? compute_masked(end) : loop(Lanes::One, end);
    code_.vzeroupper();
    for (auto one = saved.rbegin(); one != saved.rend(); ++one) code_.pop(*one);
    code_.ret();
    ops_.write_constants();
  }

 private:
  bool is_in_pieces(std::size_t operand) const {
    return operand >= body_.inputs.size() || in_pieces_[body_.inputs[operand]];
  }

  // Gives each operand in pieces a register, and says which of them are to be given back.
  std::vector<Reg64> take_pointers() {
    std::vector<Reg64> saved;
    std::size_t next = 0;
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
      if (!is_in_pieces(i)) continue;
      pointers_[i] = Reg64(kPointers.at(next));
      if (next++ >= kFreePointers) saved.push_back(pointers_[i]);
    }
    return saved;
  }

  void load_numbers() {
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
      const auto at = code_.ptr[code_.rdi + static_cast<int>(i) * kPointerBytes];
      code_.mov(is_in_pieces(i) ? pointers_[i] : code_.rax, at);
      if (is_in_pieces(i) || !registers_.has(body_.inputs[i])) continue;
      const Xmm one(registers_[body_.inputs[i]]);
      load_one(one, code_.rax, body_.inputs[i]);
      code_.vbroadcastss(Xmm(kVector, one.getIdx()), one);
    }
  }

  // Goes on from the place that rax has.
  void loop(Lanes lanes, const Reg64& end) {
    Xbyak::Label again;
    Xbyak::Label done;
    code_.cmp(code_.rax, end);
    code_.jge(done, Xbyak::CodeGenerator::T_NEAR);
    code_.L(again);
    compute(lanes);
    code_.add(code_.rax, lanes == Lanes::All ? kLanes : 1);
    code_.cmp(code_.rax, end);
    code_.jl(again, Xbyak::CodeGenerator::T_NEAR);
    code_.L(done);
  }

  // The elements from the place that rax has to the end, less than a vector of them.
  void compute_masked(const Reg64& end) {
    Xbyak::Label done;
    const Reg64& left = end;
    code_.sub(left, code_.rax);
    code_.je(done, Xbyak::CodeGenerator::T_NEAR);
    code_.mov(code_.edi, -1);
    code_.bzhi(code_.edi, code_.edi, left.cvt32());
    code_.kmovw(mask(), code_.edi);
    compute(Lanes::Masked);
    code_.L(done);
  }

  // VectorOps has k1.
  const Xbyak::Opmask& mask() const { return code_.k2; }

  void compute(Lanes lanes) {
    IdMap<ValueId, bool> is_loaded(std::ssize(body_.values), false);
    for (const Op& op : body_.ops) {
      std::vector<Xmm> operands;
      for (ValueId id : op.inputs) {
        if (id.valid() && !is_loaded[id]) load(id, lanes);
        if (id.valid()) is_loaded[id] = true;
        operands.push_back(id.valid() ? of(id, lanes) : Xmm());
      }
      const Xmm y = of(op.outputs[0], lanes);
      ops_.compute(ir::TypedOp(body_, op), y, operands);
      if (is_half(body_, op.outputs[0])) ops_.round_to_half(y);
    }
    for (std::size_t i = 0; i < body_.outputs.size(); ++i) store(i, lanes);
  }

  // Values that the chain makes and numbers are in their registers.
  void load(ValueId id, Lanes lanes) {
    const std::size_t i = std::ranges::find(body_.inputs, id) - body_.inputs.begin();
    if (i == body_.inputs.size() || !in_pieces_[id]) return;
    const Xmm x = of(id, lanes);
    if (lanes == Lanes::One) return load_one(x, place(i, id), id);
    const auto from = code_.ptr[place(i, id)];
    const Xmm to = lanes == Lanes::Masked ? x | mask() | code_.T_z : x;
    if (is_bool(body_, id)) {
      code_.vpmovzxbd(to, from);
      return make_masks(x);
    }
    is_half(body_, id) ? code_.vcvtph2ps(to, from) : code_.vmovups(to, from);
  }

  void load_one(const Xmm& x, const Xbyak::RegExp& from, ValueId id) {
    if (is_bool(body_, id)) {
      code_.vpinsrb(x, x, code_.ptr[from], 0);
      return make_masks(x);
    }
    if (!is_half(body_, id)) return code_.vmovss(x, code_.ptr[from]);
    code_.vpinsrw(x, x, code_.ptr[from], 0);
    code_.vcvtph2ps(x, x);
  }

  // Of each place's lowest bit.
  void make_masks(const Xmm& x) {
    code_.vpslld(x, x, kSignBit);
    code_.vpsrad(x, x, kSignBit);
  }

  // As bytes of 0 and 1; changes the register.
  void store_bools(const Xmm& y, const Xbyak::Address& to, Lanes lanes) {
    code_.vpsrld(y, y, kSignBit);
    if (lanes == Lanes::One) return code_.vpextrb(to, y, 0);
    if constexpr (kHasAvx512) return code_.vpmovdb(to, y);
    const Xmm low(y.getIdx());
    const Xmm high(kLastRegister);
    code_.vextracti128(high, Xbyak::Ymm(y.getIdx()), 1);
    code_.vpackssdw(low, low, high);
    code_.vpacksswb(low, low, low);
    code_.vmovq(to, low);
  }

  void store(std::size_t i, Lanes lanes) {
    const ValueId id = body_.outputs[i];
    const Xmm y = of(id, lanes);
    auto to = code_.ptr[place(body_.inputs.size() + i, id)];
    if (lanes == Lanes::Masked) to = to | mask();
    if (is_bool(body_, id)) return store_bools(y, to, lanes);
    if (lanes != Lanes::One) {
      return is_half(body_, id) ? code_.vcvtps2ph(to, y, kToNearestEven) : code_.vmovups(to, y);
    }
    if (!is_half(body_, id)) return code_.vmovss(to, y);
    const Xmm half(kLastRegister);
    code_.vcvtps2ph(half, y, kToNearestEven);
    code_.vpextrw(to, half, 0);
  }

  // Of the elements at hand.
  Xbyak::RegExp place(std::size_t operand, ValueId id) const {
    return pointers_[operand] + code_.rax * ir::storage_bytes(body_[id].type.element);
  }

  Xmm of(ValueId id, Lanes lanes) const {
    return {lanes == Lanes::One ? Xbyak::Operand::XMM : kVector, registers_[id]};
  }

  Xbyak::CodeGenerator& code_;
  VectorOps ops_;
  const Graph& body_;
  const IdMap<ValueId, bool>& in_pieces_;
  const Registers& registers_;
  std::vector<Reg64> pointers_;
};

class Compiled : public ChainCode {
 public:
  Compiled(const Graph& body, const IdMap<ValueId, bool>& in_pieces, const Registers& registers)
      : code_(most_bytes(body), Xbyak::DontSetProtectRWE) {
    Emitter(code_, body, in_pieces, registers).emit();
    code_.setProtectModeRE();
    run_ = code_.getCode<void (*)(void* const*, std::int64_t)>();
  }

  void run(std::span<void* const> operands, std::int64_t count) const override {
    run_(operands.data(), count);
  }

 private:
  Xbyak::CodeGenerator code_;
  void (*run_)(void* const*, std::int64_t) = nullptr;
};

}  // namespace

bool ChainCode::knows(const ir::TypedOp& op) { return VectorOps::has(op); }

std::shared_ptr<const ChainCode> ChainCode::of(const Graph& body, const IdMap<ValueId, bool>& in_pieces) {
  const auto is_known = [&](const Op& op) {
    return knows(ir::TypedOp(body, op)) && in_pieces[op.outputs[0]];
  };
  if (!std::ranges::all_of(body.ops, is_known) || !has_pointers(body, in_pieces)) return nullptr;
  const Registers registers(body, in_pieces);
  if (!registers.suffice()) return nullptr;
  try {
    return std::make_shared<const Compiled>(body, in_pieces, registers);
  } catch (const Xbyak::Error&) {  // no memory for code
    return nullptr;
  }
}

}  // namespace podium::kernels

#else

namespace podium::kernels {

bool ChainCode::knows(const ir::TypedOp& /*op*/) { return false; }

std::shared_ptr<const ChainCode> ChainCode::of(const ir::Graph& /*body*/,
                                               const ir::IdMap<ir::ValueId, bool>& /*in_pieces*/) {
  return nullptr;
}

}  // namespace podium::kernels

#endif
