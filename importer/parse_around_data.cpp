// A message of protobuf is its fields one after the other: a tag (number and kind) as a varint, then a
// varint, 4 or 8 bytes, or a length and so many bytes. A message of a field is nested by its bytes, and bytes
// without some of the fields are again a message. So the walk goes down from the model to its graph, to the
// graph's initializers and to their raw data, keeps what lies between, and has that parsed.
#include "importer/parse_around_data.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace podium::importer {
namespace {

using google::protobuf::io::CodedInputStream;
using Bytes = std::span<const char>;

struct Field {
  int number = 0;
  Bytes whole = {};                // with its tag
  std::optional<Bytes> data = {};  // of one with a length
};

// The fields of a message. Empty where it breaks off, and for groups, which no writer of models makes.
std::optional<std::vector<Field>> fields_of(Bytes message) {
  enum Kind : std::uint8_t { kVarint = 0, kEightBytes = 1, kWithLength = 2, kFourBytes = 5 };
  CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(message.data()),
                          static_cast<int>(message.size()));
  std::vector<Field> fields;
  while (std::cmp_less(stream.CurrentPosition(), message.size())) {
    const int begin = stream.CurrentPosition();
    const std::uint32_t tag = stream.ReadTag();
    Field field{.number = static_cast<int>(tag >> 3)};
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    switch (tag & 7) {
      case kVarint:
        if (!stream.ReadVarint64(&number)) return std::nullopt;
        break;
      case kEightBytes:
        if (!stream.Skip(8)) return std::nullopt;
        break;
      case kFourBytes:
        if (!stream.Skip(4)) return std::nullopt;
        break;
      case kWithLength:
        if (!stream.ReadVarint32(&length) || length > message.size() - stream.CurrentPosition())
          return std::nullopt;
        field.data = message.subspan(stream.CurrentPosition(), length);
        stream.Skip(static_cast<int>(length));
        break;
      default:
        return std::nullopt;
    }
    if (field.number == 0) return std::nullopt;
    field.whole = message.subspan(begin, stream.CurrentPosition() - begin);
    fields.push_back(field);
  }
  return fields;
}

// As deep as the message may nest where it lies in others.
bool parse(Bytes bytes, int messages_around, google::protobuf::MessageLite& to) {
  CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(CodedInputStream::GetDefaultRecursionLimit() - messages_around);
  return to.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

void append(std::string& to, Bytes bytes) { to.append(bytes.data(), bytes.size()); }

class Walk {
 public:
  Walk(std::size_t large, std::unordered_map<const onnx::TensorProto*, Bytes>& left)
      : large_(large), left_(left) {}

  // False where the whole has to be parsed.
  bool model(Bytes bytes, onnx::ModelProto& to) {
    const auto fields = fields_of(bytes);
    if (!fields) return false;
    std::string around;
    std::optional<Bytes> graph_bytes;
    for (const Field& field : *fields) {
      if (field.number != onnx::ModelProto::kGraphFieldNumber) {
        append(around, field.whole);
      } else if (graph_bytes || !field.data) {
        return false;  // two are one graph in two parts
      } else {
        graph_bytes = field.data;
      }
    }
    return graph_bytes && parse(around, 0, to) && graph(*graph_bytes, *to.mutable_graph());
  }

 private:
  bool graph(Bytes bytes, onnx::GraphProto& to) {
    const auto fields = fields_of(bytes);
    if (!fields) return false;
    std::string around;
    std::vector<Bytes> initializers;
    for (const Field& field : *fields) {
      if (field.number != onnx::GraphProto::kInitializerFieldNumber) {
        append(around, field.whole);
      } else if (!field.data) {
        return false;
      } else {
        initializers.push_back(*field.data);
      }
    }
    if (!parse(around, 1, to)) return false;
    to.mutable_initializer()->Reserve(static_cast<int>(initializers.size()));
    for (Bytes one : initializers) {
      if (!initializer(one, *to.add_initializer())) return false;
    }
    return true;
  }

  bool initializer(Bytes bytes, onnx::TensorProto& to) {
    if (bytes.size() < large_) return parse(bytes, 2, to);
    const auto fields = fields_of(bytes);
    if (!fields) return false;
    std::string around;
    std::optional<Bytes> raw;
    for (const Field& field : *fields) {
      if (field.number != onnx::TensorProto::kRawDataFieldNumber) {
        append(around, field.whole);
      } else if (raw || !field.data) {
        return false;  // the last one would count
      } else {
        raw = field.data;
      }
    }
    if (!raw || raw->size() < large_) return parse(bytes, 2, to);
    left_.emplace(&to, *raw);
    return parse(around, 2, to);
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
