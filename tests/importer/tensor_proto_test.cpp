#include "importer/tensor_proto.h"

#include <gtest/gtest.h>
#include <onnx/onnx-data_pb.h>

#include "importer/read_tensor.h"
#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::Tensor;

onnx::TensorProto header(DataType type, const ir::Dims& dims) {
  onnx::TensorProto proto;
  proto.set_data_type(static_cast<int>(type));
  for (std::int64_t size : dims) proto.add_dims(size);
  return proto;
}

TEST(TensorProto, ComesBackFromRawDataInEveryType) {
  for (int number = 1; number < ir::kDataTypeCount; ++number) {
    const auto type = static_cast<DataType>(number);
    if (type == DataType::String) continue;
    Tensor tensor(type, {3});
    auto* bytes = static_cast<std::uint8_t*>(tensor.raw());
    for (std::size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<std::uint8_t>(i % 2);
    const Tensor back = TensorReader().read(tensor_to_proto(tensor, "t"));
    EXPECT_TRUE(identical(tensor, back)) << name_of(type);
  }
  const Tensor strings = Tensor::of<std::string>({2}, {"a", ""});
  EXPECT_TRUE(identical(strings, TensorReader().read(tensor_to_proto(strings, "t"))));
}

TEST(TensorProto, PacksSmallTypesLowBitsFirst) {
  const Tensor four = Tensor::of<ir::Int4>({3}, {ir::Int4(-8), ir::Int4(7), ir::Int4(-1)});
  EXPECT_EQ(tensor_to_proto(four, "t").raw_data(), "\x78\x0F");
  const Tensor two =
      Tensor::of<ir::Uint2>({5}, {ir::Uint2(3), ir::Uint2(0), ir::Uint2(1), ir::Uint2(2), ir::Uint2(3)});
  EXPECT_EQ(tensor_to_proto(two, "t").raw_data(), "\x93\x03");
}

TEST(TensorProto, PacksFourSixBitFloatsInThreeBytes) {
  using Six = ir::Float6E2M3;
  const Tensor six = Tensor::of<Six>({5}, {Six(1.0F), Six(7.5F), Six(-1.0F), Six(0.125F), Six(1.0F)});
  const onnx::TensorProto proto = tensor_to_proto(six, "t");
  EXPECT_EQ(proto.raw_data(), "\xC8\x87\x06\x08");
  EXPECT_TRUE(identical(TensorReader().read(proto), six));
}

TEST(TensorProto, ReadsTheFieldOfEachType) {
  onnx::TensorProto int4 = header(DataType::Int4, {3});
  for (int word : {0x78, 0x0F}) int4.add_int32_data(word);
  EXPECT_TRUE(identical(TensorReader().read(int4),
                        Tensor::of<ir::Int4>({3}, {ir::Int4(-8), ir::Int4(7), ir::Int4(-1)})));
  onnx::TensorProto half = header(DataType::Float16, {1});
  half.add_int32_data(0x3C00);
  EXPECT_EQ(TensorReader().read(half).to_number(), 1);
  onnx::TensorProto small = header(DataType::Int8, {1});
  small.add_int32_data(-5);
  EXPECT_EQ(TensorReader().read(small).to_number(), -5);
  onnx::TensorProto unsigned32 = header(DataType::Uint32, {1});
  unsigned32.add_uint64_data(4'000'000'000);
  EXPECT_EQ(TensorReader().read(unsigned32).to_number(), 4'000'000'000);
  onnx::TensorProto complex = header(DataType::Complex64, {1});
  for (float part : {1.F, -2.F}) complex.add_float_data(part);
  EXPECT_EQ(*TensorReader().read(complex).data<std::complex<float>>(), std::complex<float>(1, -2));
  onnx::TensorProto truth = header(DataType::Bool, {2});
  truth.set_raw_data(std::string("\x02\x00", 2));
  EXPECT_TRUE(identical(TensorReader().read(truth), Tensor::of<bool>({2}, {true, false})));
}

TEST(TensorProto, LendsItsDataWhenItIsKept) {
  auto proto = std::make_shared<onnx::TensorProto>(
      tensor_to_proto(Tensor::of<float>({100}, std::vector<float>(100, 1)), "t"));
  EXPECT_EQ(TensorReader(proto, nullptr).read(*proto).raw(), proto->raw_data().data());
  EXPECT_NE(TensorReader().read(*proto).raw(), proto->raw_data().data());
}

// NumPy has no bfloat16, so test data hold its bits as uint16; the model says what they are.
TEST(ReadDatum, TakesTheBitsOfTypesThatTheWriterLacked) {
  onnx::TensorProto proto = header(DataType::Uint16, {1});
  proto.add_int32_data(0x3F80);
  const std::string bytes = proto.SerializeAsString();
  EXPECT_EQ(read_datum(bytes, ir::Type::tensor(DataType::Bfloat16)).tensor.to_number(), 1);
  EXPECT_EQ(read_datum(bytes, ir::Type::tensor(DataType::Uint16)).tensor.to_number(), 0x3F80);
  EXPECT_EQ(read_datum(bytes, ir::Type::tensor(DataType::Float)).tensor.type(), DataType::Uint16);
}

TEST(ReadDatum, ReadsSequencesOptionalsAndMaps) {
  const onnx::TensorProto one = tensor_to_proto(Tensor::scalar(1.5F), "");
  onnx::SequenceProto sequence;
  *sequence.add_tensor_values() = one;
  const ir::Type floats = ir::Type::sequence(ir::Type::tensor(DataType::Float));
  EXPECT_EQ(read_datum(sequence.SerializeAsString(), floats).items->front().tensor.to_number(), 1.5);
  onnx::OptionalProto optional;
  EXPECT_TRUE(read_datum(optional.SerializeAsString(), ir::Type::optional(floats)).is_nothing());
  *optional.mutable_sequence_value() = sequence;
  EXPECT_EQ(read_datum(optional.SerializeAsString(), ir::Type::optional(floats)).items->size(), 1U);
  onnx::MapProto map;
  map.set_key_type(static_cast<int>(DataType::Int64));
  map.add_keys(7);
  *map.mutable_values() = sequence;
  const ir::Type kind = ir::Type::map(DataType::Int64, ir::Type::tensor(DataType::Float));
  const ir::Datum datum = read_datum(map.SerializeAsString(), kind);
  EXPECT_TRUE(identical(datum.items->front().tensor, Tensor::ints({7})));
  EXPECT_TRUE(identical((*datum.items)[1].tensor, Tensor::of<float>({1}, {1.5F})));
  map.add_keys(8);
  EXPECT_EQ(testing::refusal([&] { read_datum(map.SerializeAsString(), kind); }),
            "map of 2 keys and 1 values");
}

TEST(ReadDatum, RefusesWhatIsNoProto) {
  EXPECT_EQ(testing::refusal([] { read_datum("\xFF", {}); }), "1 bytes found that are no TensorProto");
}

}  // namespace
}  // namespace podium::importer
