#include <onnx/defs/printer.h>
#include <onnx/onnx_pb.h>

#include <span>
#include <sstream>
#include <unordered_map>

#include "importer/idx.h"
#include "importer/import.h"
#include "importer/npy.h"
#include "importer/parse_around_data.h"
#include "importer/read_tensor.h"
#include "importer/sharding.h"
#include "ir/infer.h"
#include "tests/fuzz/target.h"

namespace podium::fuzz {
namespace {

// Ops of ONNX's cases and what no case shows: functions, bodies, sparse and external data.
Corpus models() {
  Corpus corpus = corpus_files("importer");
  for (std::string& model : case_models(std::size_t{64} << 10)) corpus.push_back(std::move(model));
  return corpus;
}

void infer_types(const std::string& bytes) {
  importer::Model model = importer::import_bytes(bytes);
  ir::infer(model.graph);
}

// What is left out of a model, put back into it, makes the model that all of the bytes are.
void parse_around(const std::string& bytes) {
  constexpr std::size_t kLarge = 8;
  std::unordered_map<const onnx::TensorProto*, std::span<const char>> left;
  const auto around = importer::parse_around_data(bytes, kLarge, left);
  if (!around) return;
  onnx::ModelProto restored = *around;
  for (int i = 0; i < restored.graph().initializer_size(); ++i) {
    const auto found = left.find(&around->graph().initializer(i));
    if (found == left.end()) continue;
    const std::string data(found->second.begin(), found->second.end());
    restored.mutable_graph()->mutable_initializer(i)->set_raw_data(data);
  }
  onnx::ModelProto whole;
  IR_CHECK(whole.ParseFromString(bytes), "a model that the whole parser does not take");
  IR_CHECK(restored.SerializeAsString() == whole.SerializeAsString(), "another model");
}

Corpus cuts() { return cut_models(std::size_t{2} << 10); }

void read_cuts(const std::string& bytes) { importer::read_sharding(importer::import_bytes(bytes)); }

Corpus texts() {
  Corpus corpus = corpus_files("text");
  for (const std::string& bytes : case_models(2000)) {
    onnx::ModelProto model;
    std::ostringstream text;
    text << "<ir_version: 10, opset_import: [\"\" : 21]>\n";
    if (model.ParseFromString(bytes)) text << model.graph();
    corpus.push_back(text.str());
  }
  return corpus;
}

std::string npy_of(std::string_view header, std::string_view elements) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes.append(header).append(elements);
}

Corpus npy_files() {
  Corpus corpus = corpus_files("npy");
  for (std::string_view type : {"<f4", "<f8", "<i8", "|b1", "<f2", "|u1", "<c8", "<U3", "|S4", ">i4", "|O"}) {
    for (std::string_view order : {"True", "False"}) {
      corpus.push_back(npy_of("{'descr': '" + std::string(type) +
                                  "', 'fortran_order': " + std::string(order) + ", 'shape': (2, 3), }\n",
                              std::string(96, '\1')));
    }
  }
  corpus.push_back(npy_of("{'descr': '<i4', 'fortran_order': False, 'shape': (), }\n", "1234"));
  return corpus;
}

Corpus idx_files() {
  Corpus corpus = corpus_files("idx");
  for (char type : {'\x08', '\x09', '\x0b', '\x0c', '\x0d', '\x0e'}) {
    corpus.push_back(std::string("\0\0", 2) + type + std::string("\2\0\0\0\2\0\0\0\3", 9) +
                     std::string(48, '\7'));
  }
  return corpus;
}

Corpus tensors() {
  Corpus corpus;
  for (int type = 1; type <= 24; ++type) {
    onnx::TensorProto tensor;
    tensor.set_data_type(type);
    tensor.add_dims(2);
    tensor.add_dims(1);
    tensor.set_raw_data(std::string(32, '\1'));
    corpus.push_back(tensor.SerializeAsString());
    tensor.clear_raw_data();
    for (int i = 0; i < 2; ++i) {
      tensor.add_float_data(1);
      tensor.add_int32_data(1);
      tensor.add_int64_data(1);
      tensor.add_double_data(1);
      tensor.add_uint64_data(1);
      tensor.add_string_data("a");
    }
    corpus.push_back(tensor.SerializeAsString());
  }
  return corpus;
}

// The model says which type a file beside it must have.
void read_tensors(const std::string& bytes) {
  const ir::Type tensor = ir::Type::tensor(ir::DataType::Float);
  for (const ir::Type& type : {tensor, ir::Type::sequence(tensor), ir::Type::optional(tensor)}) {
    try {
      importer::read_datum(bytes, type);
    } catch (const Error&) {
      // Refused as this type.
    }
  }
}

}  // namespace

std::vector<Target> file_targets() {
  return {
      {"importer", models, mutate_model, [](const std::string& bytes) { importer::import_bytes(bytes); }},
      {"infer", models, mutate_model, infer_types},
      {"around-data", models, mutate_model, parse_around},
      {"sharding", cuts, mutate_model, read_cuts},
      {"text", texts, mutate_text, [](const std::string& text) { importer::import_text(text); }},
      {"npy", npy_files, mutate_bytes, [](const std::string& bytes) { importer::tensor_from_npy(bytes); }},
      {"idx", idx_files, mutate_bytes, [](const std::string& bytes) { importer::tensor_from_idx(bytes); }},
      {"tensors", tensors, mutate_bytes, read_tensors},
  };
}

}  // namespace podium::fuzz
