// A model's file is mapped and parsed: as protobuf, or as ONNX text where its name ends in .onnxtxt. Text is
// looked at first: ONNX's parser calls itself where brackets nest, and says nothing of where a number is too
// large. What cannot be parsed is walked once more, field by field, to say where it breaks off. Large data
// may be left in the file (parse_around_data.h): then only what lies around them is parsed.
#include "importer/source.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>

#include "importer/newer_fields.h"
#include "importer/parse_around_data.h"
#include "ir/error.h"
#include "ir/nesting.h"
#include "ir/number_text.h"
#include "ir/printable.h"

namespace podium::importer {
namespace {

using google::protobuf::io::CodedInputStream;

bool is_text(std::span<const char> bytes) {
  const auto head = bytes.first(std::min<std::size_t>(bytes.size(), 256));
  return std::all_of(head.begin(), head.end(), [](char c) {
    return std::isprint(static_cast<unsigned char>(c)) != 0 ||
           std::isspace(static_cast<unsigned char>(c)) != 0;
  });
}

// Walks the fields of the model itself to find where a file breaks off.
std::string find_damage(std::span<const char> bytes) {
  CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
  constexpr std::uint32_t kLengthDelimited = 2;
  while (const std::uint32_t tag = stream.ReadTag()) {
    if ((tag & 7) != kLengthDelimited) {
      std::uint64_t number = 0;
      if ((tag & 7) != 0 || !stream.ReadVarint64(&number)) break;
      continue;
    }
    std::uint32_t length = 0;
    if (!stream.ReadVarint32(&length)) break;
    const auto left = bytes.size() - stream.CurrentPosition();
    if (length > left)
      return fmt::format("field {} has {} bytes, {} are left in the file", tag >> 3, length, left);
    stream.Skip(static_cast<int>(length));
  }
  return "damaged, or nested deeper than 100 messages";
}

onnx::ModelProto parse(std::span<const char> bytes) {
  constexpr std::size_t kMostBytes = std::numeric_limits<int>::max();
  if (bytes.empty()) throw Error("is empty, an ONNX model needed");
  if (bytes.size() > kMostBytes) {
    throw Error("has {} bytes, at most {} needed: larger weights go in external data", bytes.size(),
                kMostBytes);
  }
  onnx::ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !proto.has_graph()) {
    if (is_text(bytes))
      throw Error("is text, a binary ONNX model needed (a file of ONNX text ends in .onnxtxt)");
    if (proto.has_ir_version() && !proto.has_graph())
      throw Error("is no ONNX model: there is no graph in it");
    throw Error("is no ONNX model: {}", find_damage(bytes));
  }
  return proto;
}

// The line of the first number that ONNX's parser cannot hold, 0 where there is none: it does not say which.
int line_of_wide_number(const std::string& text) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  int line = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') ++line;
    const bool begins = std::isdigit(static_cast<unsigned char>(text[at])) != 0 &&
                        (at == 0 || (!is_part(text[at - 1]) && text[at - 1] != '_'));
    if (!begins) continue;
    std::size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    const std::string_view number = std::string_view(text).substr(at, end - at);
    if (ir::is_beyond<std::int64_t>(number) || ir::is_beyond<float>(number)) return line;
    at = end - 1;
  }
  return 0;
}

// Where bodies and types nest the parser calls itself.
onnx::ModelProto parse_text(const std::string& text) {
  constexpr int kDeepest = 200;
  ir::check_nesting(text, kDeepest);
  onnx::ModelProto proto;
  try {
    const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
    if (!status.IsOK()) throw Error("{}", ir::one_line(status.ErrorMessage()));
  } catch (const std::logic_error&) {
    // The standard library's conversions from text, which the parser calls.
    const int line = line_of_wide_number(text);
    throw line == 0 ? Error("a number found that is none")
                    : Error("line {}: a number found that is too large", line);
  }
  return proto;
}

template <class Imports>
Opsets read_opsets(const Imports& imports) {
  Opsets opsets;
  for (const auto& opset : imports) {
    if (opset.version() < 1) {
      throw Error("opset version {} of domain '{}' found, 1 or more needed", opset.version(), opset.domain());
    }
    opsets[domain_of(opset.domain())] = opset.version();
  }
  return opsets;
}

void read_functions(Source& source) {
  for (const auto& proto : source.proto.functions()) {
    Function function{
        .proto = &proto, .defaults = attribute_defaults(proto), .opsets = read_opsets(proto.opset_import())};
    function.opsets.insert(source.opsets.begin(), source.opsets.end());
    const std::string key = function_key(proto.domain(), proto.name(), overload_of(proto));
    if (!source.functions.emplace(key, std::move(function)).second) {
      throw Error("function '{}' of domain '{}' is defined twice", proto.name(), proto.domain());
    }
  }
}

std::shared_ptr<const Source> source_from(onnx::ModelProto proto, std::string folder,
                                          DataLeftInFile left = {}) {
  constexpr std::int64_t kOldestIrVersion = 3;
  auto source = std::make_shared<Source>();
  source->proto = std::move(proto);
  source->left = std::move(left);
  source->folder = std::move(folder);
  source->files = std::make_shared<ExternalFiles>(source->folder);
  if (source->proto.ir_version() < kOldestIrVersion) {
    throw Error("IR version {} found, {} or newer needed", source->proto.ir_version(), kOldestIrVersion);
  }
  source->opsets = read_opsets(source->proto.opset_import());
  read_functions(*source);
  return source;
}

}  // namespace

std::string function_key(const std::string& domain, const std::string& name, const std::string& overload) {
  return domain_of(domain) + '\0' + name + '\0' + overload;
}

std::shared_ptr<const Source> load_source(const std::string& path, LargeData large) {
  const auto file = std::make_shared<const MappedFile>(path);
  const std::span<const char> bytes = file->bytes();
  const std::filesystem::path name(path);
  if (name.extension() == ".onnxtxt")
    return source_from(parse_text({bytes.begin(), bytes.end()}), name.parent_path());
  if (large == LargeData::InFile) {
    DataLeftInFile left{.file = file};
    // Its addresses stay: initializers are where they were when a model moves.
    if (auto proto = parse_around_data(bytes, kStaysInFile, left.of))
      return source_from(std::move(*proto), name.parent_path(), std::move(left));
  }
  return source_from(parse(bytes), name.parent_path());
}

onnx::ModelProto whole_proto(const Source& source) {
  onnx::ModelProto whole = source.proto;
  for (int i = 0; i < whole.graph().initializer_size(); ++i) {
    const auto left = source.left.of.find(&source.proto.graph().initializer(i));
    if (left != source.left.of.end())
      whole.mutable_graph()->mutable_initializer(i)->set_raw_data(left->second.data(), left->second.size());
  }
  return whole;
}

std::shared_ptr<const Source> source_from_text(const std::string& text) {
  return source_from(parse_text(text), "");
}

std::shared_ptr<const Source> source_from_bytes(std::span<const char> bytes) {
  return source_from(parse(bytes), "");
}

}  // namespace podium::importer
