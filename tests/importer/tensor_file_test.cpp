#include "importer/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "importer/tensor_proto.h"
#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::Tensor;
using ::testing::HasSubstr;

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  const auto length = static_cast<std::uint32_t>(header.size());
  bytes.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  return bytes + header + data;
}

Tensor load(const std::string& name, const std::string& bytes, const ir::Type& type = {}) {
  const Folder folder;
  return read_tensor_file(folder.write(name, bytes), type).tensor;
}

std::string load_error(const std::string& name, const std::string& bytes) {
  return testing::refusal([&] { load(name, bytes); });
}

TEST(Npy, ComesBackAsItWasWritten) {
  const Folder folder;
  const std::vector<Tensor> tensors{Tensor::of<float>({2, 1}, {1, 2}),
                                    Tensor::scalar(2.5),
                                    Tensor::ints({1, 2, 3}),
                                    Tensor::of<bool>({2}, {true, false}),
                                    Tensor::of<std::int8_t>({0}, {}),
                                    Tensor::of<std::complex<double>>({1}, {{1, 2}}),
                                    Tensor::of<ir::Float16>({1}, {ir::Float16(1.5F)})};
  for (const Tensor& tensor : tensors) {
    write_npy(tensor, folder.file("t.npy"));
    EXPECT_TRUE(identical(read_tensor_file(folder.file("t.npy"), {}).tensor, tensor))
        << to_string(tensor.type_and_dims());
  }
}

TEST(Npy, CarriesTypesThatNumpyLacksAsTheirBits) {
  const Folder folder;
  for (const auto type : {DataType::Bfloat16, DataType::Float8E4M3FN, DataType::Int4, DataType::Uint2}) {
    Tensor tensor(type, {2});
    std::memset(tensor.raw(), 1, tensor.bytes());
    write_npy(tensor, folder.file("t.npy"));
    EXPECT_TRUE(identical(read_tensor_file(folder.file("t.npy"), ir::Type::tensor(type)).tensor, tensor))
        << name_of(type);
  }
  write_npy(Tensor::of<std::int8_t>({1}, {9}), folder.file("t.npy"));
  EXPECT_THAT(
      testing::refusal([&] { read_tensor_file(folder.file("t.npy"), ir::Type::tensor(DataType::Int4)); }),
      HasSubstr("element 0 is 9, int4 needed"));
}

TEST(Npy, ReadsTheHeadersOfEveryVersion) {
  const std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
  const std::string data("\1\0\2\0", 4);
  for (char version : {'\1', '\2', '\3'}) {
    EXPECT_TRUE(identical(load("a.npy", npy(header, data, version)), Tensor::of<std::int16_t>({2}, {1, 2})));
  }
}

TEST(Npy, TurnsFortranOrderAround) {
  const std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}";
  EXPECT_TRUE(identical(load("a.npy", npy(header, "adbecf")),
                        Tensor::of<std::uint8_t>({2, 3}, {'a', 'b', 'c', 'd', 'e', 'f'})));
}

TEST(Npy, HeadersAreAlignedAsNumpyDoesIt) {
  const Folder folder;
  write_npy(Tensor::of<float>({3}, {1, 2, 3}), folder.file("t.npy"));
  EXPECT_EQ(std::filesystem::file_size(folder.file("t.npy")), 128U + 12U);
}

TEST(Npy, SaysWhatIsWrong) {
  const auto with = [](const std::string& descr, const std::string& shape) {
    return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}", "12345678");
  };
  EXPECT_THAT(load_error("a.npy", "text"), HasSubstr("a.npy: is no .npy file"));
  EXPECT_THAT(load_error("a.npy", npy("{}", "", 9)), HasSubstr("version 9 of .npy found, 1 to 3 needed"));
  EXPECT_THAT(load_error("a.npy", npy("{}", "")), HasSubstr("the header gives no descr"));
  EXPECT_THAT(load_error("a.npy", npy("{'descr': '<i2'}", "")), HasSubstr("the header gives no shape"));
  EXPECT_THAT(load_error("a.npy", std::string("\x93NUMPY\1\0\xFF\xFF{}", 12)),
              HasSubstr("a header of 65535 bytes found, 2 are left"));
  EXPECT_THAT(load_error("a.npy", with(">f4", "(2,)")), HasSubstr("big-endian elements '>f4' found"));
  EXPECT_THAT(load_error("a.npy", with("<U2", "(1,)")), HasSubstr("elements '<U2' found, numbers needed"));
  EXPECT_THAT(load_error("a.npy", with("<f4", "(3,)")),
              HasSubstr("8 bytes of elements found, 3 of 4 bytes needed for shape [3]"));
  EXPECT_THAT(load_error("a.npy", with("<f4", "(-3,)")), HasSubstr("found in the shape, a number needed"));
  EXPECT_THAT(load_error("a.npy", with("<f4", "(4611686018427387904, 1)")),
              HasSubstr("8 bytes of elements found"));
  EXPECT_THAT(load_error("a.npy", with("<f4", "3")), HasSubstr("'(' needed"));
  EXPECT_THAT(testing::refusal([] { write_npy(Tensor::scalar<std::string>("a"), "x.npy"); }),
              HasSubstr("strings found"));
}

TEST(Idx, IsBigEndian) {
  EXPECT_TRUE(identical(load("train-labels-idx1-ubyte", std::string("\0\0\x08\1\0\0\0\2ab", 10)),
                        Tensor::of<std::uint8_t>({2}, {'a', 'b'})));
  EXPECT_TRUE(identical(load("x.idx", std::string("\0\0\x0B\1\0\0\0\1\1\2", 10)),
                        Tensor::of<std::int16_t>({1}, {258})));
}

TEST(Idx, SaysWhatIsWrong) {
  EXPECT_THAT(load_error("x.idx", std::string("\0\0\x08\2\0\0\0\2", 8)),
              HasSubstr("8 bytes found, 12 needed for the sizes"));
  EXPECT_THAT(load_error("x.idx", std::string("\0\0\x08\1\0\0\0\2a", 9)),
              HasSubstr("1 bytes of elements found"));
  EXPECT_THAT(load_error("x.idx", "what"), HasSubstr("is neither .npy nor .pb nor IDX"));
}

TEST(LoadDatum, ReadsProtosByTheDeclaredType) {
  const onnx::TensorProto proto = tensor_to_proto(Tensor::scalar(1.5F), "");
  EXPECT_EQ(load("x.pb", proto.SerializeAsString()).to_number(), 1.5);
  EXPECT_THAT(load_error("x.pb", "\xFF"), HasSubstr("x.pb: 1 bytes found that are no TensorProto"));
  EXPECT_THAT(testing::refusal([&] { load("x.npy", "", ir::Type::sequence({})); }),
              HasSubstr("a tensor found, sequence(undefined) needed"));
}

TEST(WriteNpy, ReplacesTheFileThatALinkLeadsTo) {
  const Folder folder;
  folder.write("real.npy", "old");
  std::filesystem::create_symlink("real.npy", folder.file("link.npy"));
  write_npy(Tensor::of<float>({1}, {1}), folder.file("link.npy"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.npy")));
  EXPECT_GT(std::filesystem::file_size(folder.file("real.npy")), 64U);
}

}  // namespace
}  // namespace podium::importer
