#include "ir/zero_tensor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "ir/filled.h"

namespace podium::ir {
namespace {

constexpr std::int64_t kElements = 1 << 20;

std::int64_t pages_in_memory(const Tensor& tensor) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* first = static_cast<std::byte*>(const_cast<void*>(tensor.raw()));
  first -= reinterpret_cast<std::uintptr_t>(first) % page;
  std::vector<unsigned char> there(tensor.bytes() / page);
  EXPECT_EQ(mincore(first, tensor.bytes(), there.data()), 0);
  return std::count_if(there.begin(), there.end(), [](unsigned char state) { return (state & 1) != 0; });
}

TEST(ZeroTensor, ALargeOneTakesNoMemory) {
  const Tensor large = zeros(DataType::Float, {kElements});
  EXPECT_EQ(pages_in_memory(large), 0);
  EXPECT_TRUE(takes_no_memory(large));
  EXPECT_TRUE(std::ranges::all_of(large.values<float>(), [](float value) { return value == 0; }));
}

TEST(ZeroTensor, AllLargeOnesShowTheSamePages) {
  const Tensor larger = zeros(DataType::Int8, {64, kElements});
  const Tensor first = zeros(DataType::Float, {kElements});
  const Tensor second = filled(DataType::Float16, {2, kElements}, 0);
  EXPECT_EQ(first.raw(), second.raw());
  EXPECT_TRUE(takes_no_memory(larger) && takes_no_memory(second));
}

TEST(ZeroTensor, ASmallOneHasMemoryOfItsOwn) {
  Tensor small = zeros(DataType::Float, {3});
  EXPECT_FALSE(takes_no_memory(small));
  small.data<float>()[1] = 2;
  EXPECT_EQ(zeros(DataType::Float, {3}).data<float>()[1], 0);
}

TEST(ZeroTensor, ACopyIsOneThatCanBeWritten) {
  Tensor copy = zeros(DataType::Float, {kElements}).clone();
  EXPECT_FALSE(takes_no_memory(copy));
  copy.data<float>()[0] = 1;
  EXPECT_EQ(zeros(DataType::Float, {kElements}).data<float>()[0], 0);
}

TEST(ZeroTensor, OtherNumbersAndTheOtherZeroTakeMemory) {
  EXPECT_FALSE(takes_no_memory(filled(DataType::Float, {kElements}, 1)));
  EXPECT_FALSE(takes_no_memory(filled(DataType::Float, {kElements}, -0.0)));
}

}  // namespace
}  // namespace podium::ir
