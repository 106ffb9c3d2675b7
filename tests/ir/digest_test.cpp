#include "ir/digest.h"

#include <gtest/gtest.h>

#include "ir/late_tensor.h"

namespace podium::ir {
namespace {

class OfTensorsAlone : public Digests {
 public:
  Digest of_file(const FileIdentity& /*file*/, const std::function<Digest()>& read) override {
    return read();
  }
};

Digest of(const Tensor& tensor) { return OfTensorsAlone().of(tensor); }

TEST(ADigest, TellsWhatIsAddedFromTheSameInOtherParts) {
  const auto of_texts = [](std::string_view first, std::string_view second) {
    return Digester().add(first).add(second).digest();
  };
  EXPECT_EQ(of_texts("ab", "c"), of_texts("ab", "c"));
  EXPECT_NE(of_texts("ab", "c"), of_texts("a", "bc"));
  EXPECT_NE(of_texts("ab", "c"), of_texts("c", "ab"));
}

TEST(ADigest, IsWrittenIn32Digits) {
  EXPECT_EQ(to_string(Digest{.high = 0x1f, .low = 0xa}), "000000000000001f000000000000000a");
}

TEST(ADigestOfATensor, IsOfTypeDimensionsAndNumbers) {
  const Digest digest = of(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(digest, of(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_NE(digest, of(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 7})));
  EXPECT_NE(digest, of(Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})));
  EXPECT_NE(digest, of(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}).reinterpreted(DataType::Int32)));
  EXPECT_NE(of(Tensor::of<std::string>({2}, {"ab", "c"})), of(Tensor::of<std::string>({2}, {"a", "bc"})));
}

TEST(ADigestOfALateTensor, IsKnownWithoutItsNumbers) {
  const auto late = [](std::string_view how) {
    return late_tensor(
        Type::tensor(DataType::Float, {4}), []() -> Tensor { throw Error("made"); },
        [how](Digests& /*digests*/) { return Digester().add(how).digest(); });
  };
  EXPECT_EQ(of(late("one way")), of(late("one way")));
  EXPECT_NE(of(late("one way")), of(late("another")));
}

TEST(AFile, IsAnotherOneAfterAChange) {
  const FileIdentity file{.device = 1, .inode = 2, .bytes = 3, .modified = 4, .changed = 5};
  FileIdentity changed = file;
  EXPECT_EQ(changed.digest(), file.digest());
  changed.changed = 6;
  EXPECT_NE(changed.digest(), file.digest());
}

}  // namespace
}  // namespace podium::ir
