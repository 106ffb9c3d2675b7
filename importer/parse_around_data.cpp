// A message of protobuf is its fields one after the other: a tag (number and kind) as a varint, then a
// varint, 4 or 8 bytes, or a length and so many bytes. A message of a field is nested by its bytes, and bytes
// without some of the fields are again a message. So the walk goes down from the model to its graph, to the
// graph's initializers and to their raw data, keeps what lies between, and has that parsed.
#include "importer/parse_around_data.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace podium::importer {
namespace {

using google::protobuf::io::CodedInputStream;
using Bytes = std::span<const char>;

// A message without its fields of one number, and what these hold.
struct Split {
  std::string around;
  std::vector<Bytes> taken;
};

// Empty where the message breaks off or a field of this number has no length, and for groups, which no writer
// of models makes.
std::optional<Split> split(Bytes message, int number) {
  enum Kind : std::uint8_t { kVarint = 0, kEightBytes = 1, kWithLength = 2, kFourBytes = 5 };
  CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(message.data()),
                          static_cast<int>(message.size()));
  Split result;
  while (std::cmp_less(stream.CurrentPosition(), message.size())) {
    const int begin = stream.CurrentPosition();
    const std::uint32_t tag = stream.ReadTag();
    const bool is_taken = std::cmp_equal(tag >> 3, number);
    std::uint64_t value = 0;
    std::uint32_t length = 0;
    switch (tag & 7) {
      case kVarint:
        if (is_taken || !stream.ReadVarint64(&value)) return std::nullopt;
        break;
      case kEightBytes:
        if (is_taken || !stream.Skip(8)) return std::nullopt;
        break;
      case kFourBytes:
        if (is_taken || !stream.Skip(4)) return std::nullopt;
        break;
      case kWithLength:
        if (!stream.ReadVarint32(&length) || length > message.size() - stream.CurrentPosition())
          return std::nullopt;
        if (is_taken) result.taken.push_back(message.subspan(stream.CurrentPosition(), length));
        stream.Skip(static_cast<int>(length));
        break;
      default:
        return std::nullopt;
    }
    if (tag >> 3 == 0) return std::nullopt;
    if (!is_taken) result.around.append(message.data() + begin, stream.CurrentPosition() - begin);
  }
  return result;
}

// As deep as the message may nest where it lies in others.
bool parse(Bytes bytes, int messages_around, google::protobuf::MessageLite& to) {
  CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(CodedInputStream::GetDefaultRecursionLimit() - messages_around);
  return to.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

class Walk {
 public:
  Walk(std::size_t large, std::unordered_map<const onnx::TensorProto*, Bytes>& left)
      : large_(large), left_(left) {}

  // False where the whole has to be parsed: two graphs, too, are one in two parts.
  bool model(Bytes bytes, onnx::ModelProto& to) {
    const auto parts = split(bytes, onnx::ModelProto::kGraphFieldNumber);
    return parts && parts->taken.size() == 1 && parse(parts->around, 0, to) &&
           graph(parts->taken[0], *to.mutable_graph());
  }

 private:
  bool graph(Bytes bytes, onnx::GraphProto& to) {
    const auto parts = split(bytes, onnx::GraphProto::kInitializerFieldNumber);
    if (!parts || !parse(parts->around, 1, to)) return false;
    to.mutable_initializer()->Reserve(static_cast<int>(parts->taken.size()));
    return std::ranges::all_of(parts->taken,
                               [&](Bytes one) { return initializer(one, *to.add_initializer()); });
  }

  bool initializer(Bytes bytes, onnx::TensorProto& to) {
    if (bytes.size() < large_) return parse(bytes, 2, to);
    const auto parts = split(bytes, onnx::TensorProto::kRawDataFieldNumber);
    if (!parts || parts->taken.size() > 1) return false;  // of two the last one counts
    if (parts->taken.empty() || parts->taken[0].size() < large_) return parse(bytes, 2, to);
    left_.emplace(&to, parts->taken[0]);
    return parse(parts->around, 2, to);
  }

  std::size_t large_;
  std::unordered_map<const onnx::TensorProto*, Bytes>& left_;
};

}  // namespace

std::optional<onnx::ModelProto> parse_around_data(Bytes bytes, std::size_t large,
                                                  std::unordered_map<const onnx::TensorProto*, Bytes>& left) {
  if (std::cmp_greater(bytes.size(), std::numeric_limits<int>::max())) return std::nullopt;
  onnx::ModelProto model;
  if (Walk(large, left).model(bytes, model) && !left.empty()) return model;
  left.clear();
  return std::nullopt;
}

}  // namespace podium::importer
