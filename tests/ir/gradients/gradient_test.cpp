#include "ir/gradients/gradient.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace podium::ir {
namespace {

constexpr std::int64_t kElements = 1 << 20;

std::int64_t pages_in_memory(const Tensor& tensor) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* first = static_cast<std::byte*>(const_cast<void*>(tensor.raw()));
  first -= reinterpret_cast<std::uintptr_t>(first) % page;
  const std::size_t bytes = static_cast<std::size_t>(tensor.size()) * sizeof(float);
  std::vector<unsigned char> there(bytes / page);
  EXPECT_EQ(mincore(first, bytes, there.data()), 0);
  return std::count_if(there.begin(), there.end(), [](unsigned char state) { return (state & 1) != 0; });
}

TEST(Filled, LargeZerosTakeNoMemoryUntilTheyAreWritten) {
  // An allocator would hand out again the memory that was freed first.
  for (int i = 0; i < 2; ++i) filled(DataType::Float, {8 * kElements}, 1);
  const Tensor zeros = filled(DataType::Float, {kElements}, 0);
  EXPECT_EQ(pages_in_memory(zeros), 0);
  const auto values = zeros.values<float>();
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float value) { return value == 0; }));
  EXPECT_EQ(pages_in_memory(filled(DataType::Float, {kElements}, 1)) > 0, true);
}

}  // namespace
}  // namespace podium::ir
