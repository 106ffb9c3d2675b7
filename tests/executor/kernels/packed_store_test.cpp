#include "executor/kernels/tools/packed_store.h"

#include <gtest/gtest.h>

#include <array>

namespace podium::kernels {
namespace {

constexpr std::int64_t kMany = 1 << 16;  // floats; fewer are packed sooner than found

// A kernel that packs constants; it counts how often it does.
struct Packer {
  explicit Packer(const Tensor& weights) : weights_(weights) { context_.constants = {nullptr, &weights_}; }

  const void* pack(PackedBefore* before, std::string_view name, const Tensor& from,
                   std::span<const std::byte> layout = {}) {
    context_.packed_before = before;
    const ir::Type type = ir::Type::tensor(DataType::Float, {kMany});
    results_.push_back(
        kept(context_, {.name = name, .from = from, .layout = layout}, type, [&](const Tensor& numbers) {
          ++made;
          return numbers.clone();
        }));
    return results_.back().raw();
  }

  int made = 0;

 private:
  ir::Op op_;
  Tensor weights_;
  PrepareContext context_{op_};
  std::vector<Tensor> results_;
};

TEST(PackedBefore, GivesOpsWithTheSameWeightsOnePacking) {
  const Tensor weights(DataType::Float, {kMany});
  PackedBefore before;
  Packer packer(weights);
  Packer other(weights);
  const void* first = packer.pack(&before, "strips", weights);
  EXPECT_EQ(other.pack(&before, "strips", weights), first);
  EXPECT_EQ(packer.made + other.made, 1);
}

TEST(PackedBefore, TellsPackingsApart) {
  const Tensor weights(DataType::Float, {kMany});
  PackedBefore before;
  Packer packer(weights);
  const std::array<std::byte, 2> layout{std::byte{0}, std::byte{1}};
  packer.pack(&before, "strips", weights);
  packer.pack(&before, "others", weights);
  packer.pack(&before, "strips", weights.reshaped({kMany / 2, 2}));
  packer.pack(&before, "strips", weights, layout);
  EXPECT_EQ(packer.made, 4);
}

// Memory that a kernel has made may be another's when the next kernel asks.
TEST(PackedBefore, KeepsConstantsOfTheOpAlone) {
  const Tensor weights(DataType::Float, {kMany});
  const Tensor own(DataType::Float, {kMany});
  PackedBefore before;
  Packer packer(weights);
  EXPECT_NE(packer.pack(&before, "strips", own), packer.pack(&before, "strips", own));
  EXPECT_NE(packer.pack(nullptr, "strips", weights), packer.pack(nullptr, "strips", weights));
  EXPECT_EQ(packer.made, 4);
}

}  // namespace
}  // namespace podium::kernels
