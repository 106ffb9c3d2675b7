#include "ir/late_tensor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace podium::ir {
namespace {

const Type kPair = Type::tensor(DataType::Float, {2});

Digest no_digest(Digests& /*digests*/) { return {}; }

TEST(ALateTensor, IsMadeOnceWhenItIsReadFirst) {
  int times_made = 0;
  const Tensor late = late_tensor(
      kPair,
      [&] {
        return ++times_made, Tensor::of<float>({2}, {3, 4});
      },
      no_digest);
  const Tensor copy = late;
  const Tensor other_shape = late.reshaped({2, 1});
  EXPECT_EQ(late.type_and_dims(), kPair);
  EXPECT_EQ(late.bytes(), 8);
  EXPECT_EQ(times_made, 0);
  EXPECT_EQ(copy.data<float>()[1], 4);
  EXPECT_EQ(late.data<float>()[0], 3);
  EXPECT_EQ(other_shape.data<float>(), late.data<float>());
  EXPECT_EQ(times_made, 1);
}

TEST(ALateTensor, IsMadeOnceForSeveralThreads) {
  std::atomic<int> times_made = 0;
  const Tensor late = late_tensor(
      kPair,
      [&] {
        return ++times_made, Tensor::of<float>({2}, {3, 4});
      },
      no_digest);
  std::vector<const void*> seen(4);
  std::vector<std::thread> threads;
  for (const void*& one : seen) threads.emplace_back([&] { one = late.raw(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(times_made, 1);
  EXPECT_EQ(seen, std::vector<const void*>(4, late.raw()));
}

TEST(ALateTensor, IsMadeForOneWhoKeepsIt) {
  int times_made = 0;
  const Tensor late = late_tensor(
      kPair,
      [&] {
        return ++times_made, Tensor::of<float>({2}, {3, 4});
      },
      no_digest);
  const Tensor own = made_for_one(late.reshaped({2, 1}));
  EXPECT_EQ(own.dims(), (Dims{2, 1}));
  EXPECT_EQ(own.data<float>()[1], 4);
  EXPECT_NE(own.data<float>(), late.data<float>());
  EXPECT_EQ(times_made, 2);
  EXPECT_EQ(made_for_one(late).data<float>(), late.data<float>());
  EXPECT_EQ(times_made, 2);
}

TEST(ALateTensor, LetsGoOfWhatItWasMadeFrom) {
  auto from = std::make_shared<Tensor>(Tensor::of<float>({2}, {3, 4}));
  const std::weak_ptr<Tensor> held = from;
  const Tensor late = late_tensor(
      kPair, [from] { return from->clone(); }, [from](Digests& digests) { return digests.of(*from); });
  from.reset();
  EXPECT_FALSE(held.expired());
  late.raw();
  EXPECT_TRUE(held.expired());
}

TEST(ALateTensor, IsToldFromOthersWithoutItsNumbers) {
  const auto fails = []() -> Tensor { throw Error("made"); };
  const Tensor late = late_tensor(kPair, fails, no_digest);
  const Tensor copy = late;
  EXPECT_EQ(copy.memory_id(), late.memory_id());
  EXPECT_NE(late_tensor(kPair, fails, no_digest).memory_id(), late.memory_id());
}

TEST(ALateTensor, TellsWhatMadeItBeforeAndAfter) {
  const auto from = std::make_shared<const KnownOp>();
  const Tensor late = late_tensor(
      kPair,
      [] {
        return Tensor::of<float>({2}, {3, 4});
      },
      no_digest, from);
  EXPECT_EQ(made_by(late), from.get());
  late.raw();
  EXPECT_EQ(made_by(late), from.get());
  EXPECT_EQ(made_by(Tensor::of<float>({2}, {3, 4})), nullptr);
}

TEST(ALateTensor, ThatDoesNotFitMemoryIsRefusedAtOnce) {
  EXPECT_THROW(late_tensor(
                   Type::tensor(DataType::Float, {std::int64_t{1} << 45}),
                   [] { return Tensor::of<float>({1}, {0}); }, no_digest),
               Error);
}

// Bytes with a scale for each of two columns.
Tensor dequantized() {
  KnownOp made{.op = {.spec = find_op("", "DequantizeLinear")},
               .inputs = {Tensor(DataType::Int8, {100, 2}), Tensor(DataType::Float, {2})}};
  return late_tensor(
      Type::tensor(DataType::Float, {100, 2}),
      [] {
        return Tensor(DataType::Float, {100, 2});
      },
      no_digest, std::make_shared<const KnownOp>(std::move(made)));
}

Tensor made_of(const Tensor& whole, std::string_view op, Dims dims) {
  const Type type = Type::tensor(DataType::Float, std::move(dims));
  KnownOp made{.op = {.spec = find_op("", op)}, .inputs = {whole}};
  return late_tensor(
      type, [type] { return Tensor(DataType::Float, type.dims); }, no_digest,
      std::make_shared<const KnownOp>(std::move(made)));
}

TEST(StoredBytes, OfDequantizedNumbersAreThoseOfTheBytesAndTheirScales) {
  EXPECT_EQ(stored_bytes(dequantized()), 200 + 8);
  EXPECT_DOUBLE_EQ(stored_share(dequantized()), 208.0 / 800);
}

TEST(StoredBytes, OfAPartOrInAnotherOrderAreItsShare) {
  EXPECT_EQ(stored_bytes(made_of(dequantized(), "Slice", {50, 2})), 104);
  EXPECT_EQ(stored_bytes(made_of(made_of(dequantized(), "Transpose", {2, 100}), "Slice", {1, 100})), 104);
}

TEST(NarrowType, IsThatOfWhatWasDequantized) {
  EXPECT_EQ(narrow_type(dequantized()), DataType::Int8);
  EXPECT_EQ(narrow_type(made_of(dequantized(), "Transpose", {2, 100})), DataType::Int8);
  EXPECT_EQ(narrow_type(made_of(dequantized(), "Exp", {100, 2})), DataType::Undefined);
  EXPECT_EQ(narrow_type(Tensor::of<float>({2}, {3, 4})), DataType::Undefined);
}

TEST(StoredBytes, OfOtherTensorsAreTheirOwn) {
  EXPECT_EQ(stored_bytes(Tensor::of<float>({2}, {3, 4})), 8);
  EXPECT_EQ(stored_bytes(made_of(dequantized(), "Exp", {100, 2})), 800);
  EXPECT_EQ(stored_share(Tensor()), 1);
  EXPECT_EQ(stored_share(Tensor(DataType::Float, {0})), 1);
}

}  // namespace
}  // namespace podium::ir
