#include "importer/tensor_file.h"

#include <filesystem>

#include "importer/datum_proto.h"
#include "importer/external_data.h"
#include "importer/idx.h"
#include "importer/npy.h"
#include "importer/output_file.h"
#include "importer/source.h"
#include "importer/tensor_proto.h"
#include "ir/printable.h"

namespace podium::importer {
namespace {

ir::Tensor read_array(std::span<const char> bytes, const std::string& ending) {
  const bool is_npy = std::string_view(bytes.data(), bytes.size()).starts_with(kNpyMagic);
  if (is_npy || ending == ".npy") return tensor_from_npy(bytes);
  if (looks_like_idx(bytes)) return tensor_from_idx(bytes);
  throw Error("is neither .npy nor .pb nor IDX");
}

}  // namespace

ir::Datum read_tensor_file(const std::string& path, const ir::Type& type) try {
  const MappedFile file(path);
  const std::string ending = std::filesystem::path(path).extension();
  if (ending == ".pb") return datum_from_bytes({file.bytes().begin(), file.bytes().end()}, type);
  const ir::Type& element = type.kind == ir::Kind::Optional && type.inner ? *type.inner : type;
  if (!element.is_tensor()) throw Error("a tensor found, {} needed", to_string(type));
  return as_declared(read_array(file.bytes(), ending), element.element);
} catch (const Error& error) {
  throw Error(ir::one_line(error.what())).at(ir::one_line(path));
}

void write_npy(const ir::Tensor& tensor, const std::string& path) try {
  const std::string header = npy_header(tensor);
  OutputFile file(path);
  file.write(header);
  file.write({static_cast<const char*>(tensor.raw()), tensor.bytes()});
  file.commit();
} catch (const Error& error) {
  throw error.at(path);
}

}  // namespace podium::importer
