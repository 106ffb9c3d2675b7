// A counter of Philox is four words: which block of numbers, and the micro-batch. The key is made of the
// seed, the stream and, in a body, how often the body ran before for this micro-batch. Element e has two
// words of block e / 2 for a uniform number; for a normal one it has a block of its own (Box and Muller).
//
// A box of a larger tensor is gone through in runs.
#include "executor/kernels/tools/random_source.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace podium::kernels {
namespace {

// SplitMix64's finaliser: every bit of the input changes half of the output's.
std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31);
}

std::uint32_t low(std::uint64_t bits) { return static_cast<std::uint32_t>(bits); }
std::uint32_t high(std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32); }

// 53 random bits of two words in [0, 1).
double unit_number(std::uint32_t first, std::uint32_t second) {
  const auto upper = static_cast<double>(first >> 5);
  const auto lower = static_cast<double>(second >> 6);
  return (upper * 67108864.0 + lower) / 9007199254740992.0;
}

// Ops that no session has numbered still differ by their names and outputs.
std::uint64_t own_stream(const ir::Op& op) {
  std::uint64_t stream = 0;
  for (char letter : op.name) stream = mixed(stream ^ static_cast<unsigned char>(letter));
  for (ir::ValueId id : op.outputs) stream = mixed(stream ^ id.number());
  return stream;
}

std::optional<std::int64_t> seed_attribute(const PrepareContext& context) {
  if (const auto* seed = context.get_if<float>("seed")) return static_cast<std::int64_t>(*seed);
  if (const auto* seed = context.get_if<std::int64_t>("seed")) return *seed;
  return std::nullopt;
}

}  // namespace

double RandomNumbers::uniform() {
  const auto first = static_cast<std::uint32_t>(generator_());
  return unit_number(first, static_cast<std::uint32_t>(generator_()));
}

void RandomNumbers::uniform(double* numbers, std::int64_t count) {
  std::generate_n(numbers, count, [&] { return uniform(); });
}

// Marsaglia's polar method.
double RandomNumbers::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double a = 0;
  double b = 0;
  double square = 0;
  do {
    a = 2.0 * uniform() - 1.0;
    b = 2.0 * uniform() - 1.0;
    square = a * a + b * b;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  spare_ = factor * a;
  has_spare_ = true;
  return factor * b;
}

// The rarer outcome is the one that a draw must reach.
bool RandomNumbers::happens(double probability) {
  const double rare = probability <= 0.5 ? probability : 1.0 - probability;
  const bool is_rare = rare > 0 && uniform() > std::exp(std::log(1.0 - rare));
  return is_rare == (probability <= 0.5);
}

namespace {

// Counters of several blocks, word by word, so that a loop over the blocks becomes vector instructions.
template <std::size_t kBlocks>
using Counters = std::array<std::array<std::uint32_t, kBlocks>, 4>;

template <std::size_t kBlocks>
void philox_of(Counters<kBlocks>& counters, std::array<std::uint32_t, 2> key) {
  constexpr int kRounds = 10;
  constexpr std::uint64_t kFactors[] = {0xD2511F53U, 0xCD9E8D57U};
  constexpr std::uint32_t kWeyl[] = {0x9E3779B9U, 0xBB67AE85U};
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const std::uint64_t a = kFactors[0] * counters[0][i];
      const std::uint64_t b = kFactors[1] * counters[2][i];
      counters[0][i] = high(b) ^ counters[1][i] ^ key[0];
      counters[1][i] = low(b);
      counters[2][i] = high(a) ^ counters[3][i] ^ key[1];
      counters[3][i] = low(a);
    }
    key = {key[0] + kWeyl[0], key[1] + kWeyl[1]};
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  Counters<1> counters{{{counter[0]}, {counter[1]}, {counter[2]}, {counter[3]}}};
  philox_of(counters, key);
  return {counters[0][0], counters[1][0], counters[2][0], counters[3][0]};
}

std::array<std::uint32_t, 4> ElementNumbers::block(std::uint64_t index) const {
  return philox({low(index), high(index), low(moment_), high(moment_)}, {low(key_), high(key_)});
}

double ElementNumbers::uniform() {
  const std::uint64_t index = element_ / 2;
  if (index != known_) words_ = block(index);
  known_ = index;
  const std::size_t word = 2 * (element_++ % 2);
  return unit_number(words_[word], words_[word + 1]);
}

void ElementNumbers::uniform(double* numbers, std::int64_t count) {
  constexpr std::int64_t kBlocks = 16;
  for (; count > 0 && element_ % 2 != 0; --count) *numbers++ = uniform();
  for (; count >= 2 * kBlocks; count -= 2 * kBlocks) {
    Counters<kBlocks> counters;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const std::uint64_t index = element_ / 2 + i;
      counters[0][i] = low(index);
      counters[1][i] = high(index);
      counters[2][i] = low(moment_);
      counters[3][i] = high(moment_);
    }
    philox_of(counters, {low(key_), high(key_)});
    for (std::size_t i = 0; i < kBlocks; ++i) {
      numbers[2 * i] = unit_number(counters[0][i], counters[1][i]);
      numbers[2 * i + 1] = unit_number(counters[2][i], counters[3][i]);
    }
    numbers += 2 * kBlocks;
    element_ += 2 * kBlocks;
  }
  for (; count > 0; --count) *numbers++ = uniform();
}

double ElementNumbers::normal() {
  const auto words = block(element_++);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit_number(words[0], words[1])));
  return radius * std::cos(2.0 * std::numbers::pi * unit_number(words[2], words[3]));
}

RandomSource::RandomSource(const PrepareContext& context, const Dims& dims)
    : size_(ir::element_count(dims)), draws_(ir::draws_of(context.op)) {
  const std::optional<std::int64_t> seed = seed_attribute(context);
  if (seed && !draws_.stream) seed_ = static_cast<std::uint32_t>(*seed);
  // What a node's seed says holds for all that it draws, whatever number the node has.
  key_ = seed ? mixed(mixed(static_cast<std::uint64_t>(*seed)) + 1)
              : mixed(mixed(context.seed) ^ (draws_.stream ? mixed(static_cast<std::uint64_t>(*draws_.stream))
                                                           : own_stream(context.op)));
  box_ = draws_.box.value_or(ir::DrawnBox{.whole = dims, .ranges = ir::whole_box(dims)});
}

std::uint64_t RandomSource::key_of(const Moment& moment) const {
  return moment.repeat == 0 ? key_ : mixed(key_ ^ mixed(moment.repeat));
}

std::uint64_t RandomSource::micro_batch_of(const Moment& moment) const {
  const std::uint64_t run = moment.run / static_cast<std::uint64_t>(draws_.slices.count);
  const std::uint64_t turn =
      run * static_cast<std::uint64_t>(draws_.turn.copies) + static_cast<std::uint64_t>(draws_.turn.copy);
  return turn * moment.replicas + moment.replica;
}

std::vector<DrawnPiece> RandomSource::pieces_at(const Moment& moment) const {
  ir::DrawnBox box = box_;
  if (draws_.slices.axis) {
    const auto axis = static_cast<std::size_t>(*draws_.slices.axis);
    const auto slice =
        static_cast<std::int64_t>(moment.run % static_cast<std::uint64_t>(draws_.slices.count));
    for (ir::IndexRange& range : box.ranges[axis]) {
      range.begin += slice * box.whole[axis];
      range.end += slice * box.whole[axis];
    }
    box.whole[axis] *= draws_.slices.count;
  }
  std::vector<DrawnPiece> pieces;
  std::int64_t local = 0;
  ir::for_each_run(box.whole, box.ranges, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t done = 0; done < count; done += kElements) {
      const std::int64_t length = std::min(kElements, count - done);
      pieces.push_back({local, length, first + done});
      local += length;
    }
  });
  IR_CHECK(local == size_, "{} elements of a box of {}", local, size_);
  return pieces;
}

}  // namespace podium::kernels
