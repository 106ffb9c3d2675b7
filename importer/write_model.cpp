// The file is parsed again and edited in place, so that all else stays as it was: attributes of nodes (found
// by a path of index or name through bodies), values of initializers, extra initializers. New data stay
// inside the model while it fits protobuf; external data are copied, new values in their places, to a file
// beside the new model, under a name that is free, which the model's metadata keep. Both are written under
// other names first and then renamed: a failure leaves what was there. Then the data go that were the
// replaced model's own, where no model beside it reads them.
#include "importer/write_model.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "importer/attribute_proto.h"
#include "importer/output_file.h"
#include "importer/source.h"
#include "importer/write_sharding.h"
#include "ir/printable.h"

namespace podium::importer {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

std::string shown(const NodeStep& step) {
  const std::size_t* index = std::get_if<std::size_t>(&step.node);
  return index != nullptr ? fmt::format("{}", *index) : "'" + std::get<std::string>(step.node) + "'";
}

onnx::NodeProto& find_node(onnx::GraphProto& graph, const NodeStep& step) {
  if (const std::size_t* index = std::get_if<std::size_t>(&step.node)) {
    const std::size_t count = graph.node_size();
    if (*index >= count) throw Error("node {} found in an edit, the graph has {} nodes", *index, count);
    return *graph.mutable_node(static_cast<int>(*index));
  }
  onnx::NodeProto* found = nullptr;
  for (auto& node : *graph.mutable_node()) {
    if (node.name() != std::get<std::string>(step.node)) continue;
    if (found != nullptr) throw Error("node {}: there are two of that name, an index needed", shown(step));
    found = &node;
  }
  if (found == nullptr) throw Error("node {}: there is none of that name", shown(step));
  return *found;
}

onnx::GraphProto& find_body(onnx::NodeProto& node, const NodeStep& step) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == step.body && attribute.has_g()) return *attribute.mutable_g();
  }
  throw Error("node '{}' has no body '{}'", node.name(), step.body);
}

onnx::NodeProto& find_node(onnx::ModelProto& proto, const std::vector<NodeStep>& path) {
  IR_CHECK(!path.empty());
  onnx::NodeProto* node = &find_node(*proto.mutable_graph(), path[0]);
  for (std::size_t i = 1; i < path.size(); ++i) node = &find_node(find_body(*node, path[i]), path[i]);
  return *node;
}

void remove_attribute(onnx::NodeProto& node, const std::string& name) {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i) {
    if (attributes.Get(i).name() == name) attributes.DeleteSubrange(i, 1);
  }
}

void set_attribute(onnx::NodeProto& node, const ir::Attribute& attribute) {
  for (auto& proto : *node.mutable_attribute()) {
    if (proto.name() != attribute.name) continue;
    proto = attribute_to_proto(attribute);
    return;
  }
  *node.add_attribute() = attribute_to_proto(attribute);
}

void edit_nodes(onnx::ModelProto& proto, const std::vector<NodeEdit>& edits) {
  for (const NodeEdit& edit : edits) {
    onnx::NodeProto& node = find_node(proto, edit.node);
    for (const std::string& name : edit.clear) remove_attribute(node, name);
    for (const ir::Attribute& attribute : edit.set) set_attribute(node, attribute);
  }
}

void set_data(TensorProto& proto, const ir::Tensor& value) {
  TensorProto data = tensor_to_proto(value, "");
  proto.clear_float_data();
  proto.clear_double_data();
  proto.clear_int32_data();
  proto.clear_int64_data();
  proto.clear_uint64_data();
  proto.clear_raw_data();
  proto.mutable_string_data()->Swap(data.mutable_string_data());
  if (data.has_raw_data()) proto.mutable_raw_data()->swap(*data.mutable_raw_data());
}

bool is_external(const TensorProto& proto) { return proto.data_location() == TensorProto::EXTERNAL; }

// New values that belong in external data, by the proto whose data they are.
using ExternalValues = std::unordered_map<const TensorProto*, const ir::Tensor*>;

ExternalValues replace_initializers(onnx::GraphProto& graph,
                                    const std::map<std::string, ir::Tensor>& values) {
  std::unordered_map<std::string, TensorProto*> by_name;
  for (auto& tensor : *graph.mutable_initializer()) by_name.emplace(tensor.name(), &tensor);
  ExternalValues external;
  for (const auto& [name, value] : values) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) throw Error("initializer '{}': there is none of that name", name);
    TensorProto& proto = *found->second;
    const ir::Type old =
        ir::Type::tensor(data_type_from(proto.data_type()), {proto.dims().begin(), proto.dims().end()});
    if (old != value.type_and_dims()) {
      throw Error("initializer '{}': {} found, {} needed", name, to_string(value.type_and_dims()),
                  to_string(old));
    }
    if (is_external(proto)) {
      external.emplace(&proto, &value);
    } else {
      set_data(proto, value);
    }
  }
  return external;
}

bool fit_inside(const onnx::ModelProto& model, const ModelEdits& edits) {
  std::size_t bytes = model.ByteSizeLong();
  for (const auto& [name, value] : edits.extra_initializers) bytes += value.bytes();
  return bytes <= edits.most_inside;
}

TensorProto without_data(const ir::Tensor& value, const std::string& name) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(value.type()));
  for (std::int64_t size : value.dims()) proto.add_dims(size);
  proto.set_data_location(TensorProto::EXTERNAL);
  return proto;
}

// Adds initializers and gives those that became external. Before version 4 an initializer had to be an input
// of the graph.
ExternalValues add_initializers(onnx::ModelProto& model, const ModelEdits& edits) {
  const std::map<std::string, ir::Tensor>& values = edits.extra_initializers;
  ExternalValues external;
  if (values.empty()) return external;
  auto& initializers = *model.mutable_graph()->mutable_initializer();
  for (int i = initializers.size() - 1; i >= 0; --i) {
    if (values.contains(initializers.Get(i).name())) initializers.DeleteSubrange(i, 1);
  }
  const bool is_inside = fit_inside(model, edits);
  for (const auto& [name, value] : values) {
    TensorProto& proto = *initializers.Add();
    proto = is_inside ? tensor_to_proto(value, name) : without_data(value, name);
    if (!is_inside) external.emplace(&proto, &value);
  }
  constexpr std::int64_t kInitializersNeedNoInput = 4;
  model.set_ir_version(std::max(model.ir_version(), kInitializersNeedNoInput));
  return external;
}

using TensorVisitor = std::function<void(TensorProto&)>;

void visit_tensors(onnx::GraphProto& graph, const TensorVisitor& visit);

void visit_tensors(onnx::SparseTensorProto& sparse, const TensorVisitor& visit) {
  visit(*sparse.mutable_values());
  visit(*sparse.mutable_indices());
}

void visit_tensors(onnx::NodeProto& node, const TensorVisitor& visit) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t()) visit(*attribute.mutable_t());
    for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
    if (attribute.has_sparse_tensor()) visit_tensors(*attribute.mutable_sparse_tensor(), visit);
    for (auto& sparse : *attribute.mutable_sparse_tensors()) visit_tensors(sparse, visit);
    if (attribute.has_g()) visit_tensors(*attribute.mutable_g(), visit);
    for (auto& body : *attribute.mutable_graphs()) visit_tensors(body, visit);
  }
}

void visit_tensors(onnx::GraphProto& graph, const TensorVisitor& visit) {
  for (auto& tensor : *graph.mutable_initializer()) visit(tensor);
  for (auto& sparse : *graph.mutable_sparse_initializer()) visit_tensors(sparse, visit);
  for (auto& node : *graph.mutable_node()) visit_tensors(node, visit);
}

void visit_tensors(onnx::ModelProto& model, const TensorVisitor& visit) {
  visit_tensors(*model.mutable_graph(), visit);
  for (auto& function : *model.mutable_functions()) {
    for (auto& node : *function.mutable_node()) visit_tensors(node, visit);
  }
  for (auto& training : *model.mutable_training_info()) {
    if (training.has_initialization()) visit_tensors(*training.mutable_initialization(), visit);
    if (training.has_algorithm()) visit_tensors(*training.mutable_algorithm(), visit);
  }
}

// Writes external data to one file and points their protos at it. Tensors that shared data share them again.
class DataMover {
 public:
  DataMover(ExternalFiles& from, OutputFile& to, std::string location, const ExternalValues& replaced)
      : from_(from), to_(to), location_(std::move(location)), replaced_(replaced) {}

  void move(TensorProto& proto) {
    if (!is_external(proto)) return;
    const auto replacement = replaced_.find(&proto);
    if (replacement != replaced_.end()) {
      const TensorProto data = tensor_to_proto(*replacement->second, "");
      return point(proto, append(data.raw_data()), data.raw_data().size());
    }
    const ExternalRange range = external_range(proto);
    const auto [known, is_new] = moved_.try_emplace({range.location, range.offset, range.length});
    if (is_new) known->second = append(external_bytes(*from_.open(range.location), range));
    point(proto, known->second, range.length);
  }

 private:
  std::uint64_t append(std::span<const char> bytes) {
    constexpr std::uint64_t kAlignment = 64;  // so that a reader can use the mapped data as they lie
    const std::uint64_t offset = to_.align(kAlignment);
    to_.write(bytes);
    return offset;
  }

  void point(TensorProto& proto, std::uint64_t offset, std::uint64_t length) const {
    proto.clear_external_data();
    const auto add = [&](const char* key, std::string value) {
      auto& entry = *proto.add_external_data();
      entry.set_key(key);
      entry.set_value(std::move(value));
    };
    add("location", location_);
    add("offset", std::to_string(offset));
    add("length", std::to_string(length));
  }

  ExternalFiles& from_;
  OutputFile& to_;
  std::string location_;
  const ExternalValues& replaced_;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::uint64_t> moved_;
};

bool has_external_data(onnx::ModelProto& proto) {
  bool found = false;
  visit_tensors(proto, [&](TensorProto& tensor) { found = found || is_external(tensor); });
  return found;
}

bool is_same_folder(const std::string& a, const std::string& b) {
  const auto canonical = [](const std::string& folder) {
    std::error_code ignored;
    return fs::weakly_canonical(folder.empty() ? "." : folder, ignored);
  };
  return canonical(a) == canonical(b);
}

// The entry of a model's metadata that names the file of data that was written with it, for it alone.
constexpr const char* kOwnData = "podium.external_data";

std::string own_data(const onnx::ModelProto& model) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == kOwnData) return entry.value();
  }
  return "";
}

void set_own_data(onnx::ModelProto& model, const std::string& name) {
  auto& entries = *model.mutable_metadata_props();
  for (int i = entries.size() - 1; i >= 0; --i) {
    if (entries.Get(i).key() == kOwnData) entries.DeleteSubrange(i, 1);
  }
  if (name.empty()) return;
  auto& entry = *entries.Add();
  entry.set_key(kOwnData);
  entry.set_value(name);
}

// Whether there is a file that could be data of a model at `path`, before that is read.
bool has_data_beside(const fs::path& path) {
  const std::string begin = path.filename().string() + ".data";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    if (at->path().filename().string().starts_with(begin)) return true;
  }
  return false;
}

// The data that the model in `file`, which is or was to be at `path`, has for itself; "" for none. What is
// not named after the path is nobody's: a model must not choose which file is removed.
std::string own_data_of(const std::string& file, const std::string& path) {
  try {
    const std::string name = own_data(load_source(file, LargeData::InFile)->proto);
    const bool is_named_after_it = name.starts_with(fs::path(path).filename().string() + ".data");
    return is_named_after_it && fs::path(name).filename() == name ? name : "";
  } catch (const Error&) {
    return "";  // it is no model
  }
}

// The data of the model that is at `path` so far.
std::string own_data_at(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed) || !has_data_beside(path)) return "";
  return own_data_of(path, path);
}

// What keeps a name for data that are not there yet: it tells the process that writes them.
constexpr std::string_view kKept = "podium writes data, process ";

bool is_kept_by_the_dead(const fs::path& file) {
  constexpr std::uintmax_t kMostBytes = kKept.size() + 10;
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  if (failed || size <= kKept.size() || size > kMostBytes) return false;
  std::string text(size, '\0');
  std::ifstream(file, std::ios::binary).read(text.data(), static_cast<std::streamsize>(size));
  return text.starts_with(kKept) && is_left_behind(file, std::string_view(text).substr(kKept.size()));
}

// The data that a model which was never finished would have had, in the folder of its place.
std::vector<std::string> data_of_the_dead(const std::string& path) {
  std::vector<std::string> found;
  for (const fs::path& unfinished : unfinished_by_the_dead(path))
    found.push_back(own_data_of(unfinished.string(), path));
  return found;
}

// A name for new data that nothing has: the model that is at `path` needs its own until the new one is there.
class DataName {
 public:
  explicit DataName(const std::string& path) {
    constexpr int kMostNames = 100'000;
    for (int i = 1; i < kMostNames; ++i) {
      path_ = fmt::format("{}.data{}", path, i == 1 ? "" : std::to_string(i));
      if (is_kept_by_the_dead(path_)) ::unlink(path_.c_str());
      // A file keeps the name from others who look for one.
      const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file >= 0) {
        unfinished_.emplace(path_.string());
        const std::string kept = fmt::format("{}{}", kKept, ::getpid());
        const bool failed = ::write(file, kept.data(), kept.size()) != std::ssize(kept);
        const int error = errno;
        ::close(file);
        errno = error;
        if (!failed) return;
        ::unlink(path_.c_str());
      }
      if (errno != EEXIST)
        throw Error("{}: cannot be written: {}", path_.string(), std::generic_category().message(errno));
    }
    throw Error("{}.data to {} are all there: no name for the data found", path, path_.string());
  }
  ~DataName() {
    if (!is_used_) ::unlink(path_.c_str());
  }
  DataName(const DataName&) = delete;
  DataName& operator=(const DataName&) = delete;

  const fs::path& path() const { return path_; }
  /// From here on a signal leaves the file: the model that reads it may be there already.
  void hand_over() { unfinished_.reset(); }
  void keep() { is_used_ = true; }

 private:
  fs::path path_;
  std::optional<UnfinishedFile> unfinished_;
  bool is_used_ = false;
};

// Whether a file beside `model` may be a model that reads the data: their name is in it, or it is not known.
bool may_have_readers(const fs::path& folder, const std::string& model, const std::string& data) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    const fs::path& other = at->path();
    const bool is_model = other.extension() == ".onnx" || other.extension() == ".onnxtxt";
    if (!is_model || other.filename() == model) continue;
    if (at->file_size(failed) > kMostBytes || failed) return true;
    try {
      const MappedFile file(other.string());
      const std::string_view bytes(file.bytes().data(), file.bytes().size());
      if (bytes.find(data) != std::string_view::npos) return true;
    } catch (const Error&) {
      return true;
    }
  }
  return static_cast<bool>(failed);
}

// Only what was written for the model that was at `path`, and what no other model there reads.
void remove_replaced_data(const std::string& path, const std::string& replaced) {
  if (replaced.empty()) return;
  std::error_code ignored;
  const fs::path place = fs::absolute(path, ignored);
  if (!may_have_readers(place.parent_path(), place.filename().string(), replaced))
    fs::remove(place.parent_path() / replaced, ignored);
}

void write_proto(const onnx::ModelProto& proto, OutputFile& file) {
  const std::size_t bytes = proto.ByteSizeLong();
  if (std::cmp_greater(bytes, std::numeric_limits<int>::max())) {
    throw Error("the model has {} bytes, at most {} needed: larger weights go in external data", bytes,
                std::numeric_limits<int>::max());
  }
  proto.SerializeToOstream(&file.stream());
}

}  // namespace

void write_model(const Model& model, const std::string& path, const ModelEdits& edits) try {
  IR_CHECK(model.source != nullptr);
  const Source& source = *model.source;
  onnx::ModelProto proto = whole_proto(source);
  edit_nodes(proto, edits.nodes);
  write_sharding(edits.sharding, proto, edits.dropped);
  ExternalValues replaced = add_initializers(proto, edits);
  replaced.merge(replace_initializers(*proto.mutable_graph(), edits.initializers));
  const bool stays = replaced.empty() && is_same_folder(source.folder, fs::path(path).parent_path());
  const std::vector<std::string> unfinished = data_of_the_dead(path);
  std::optional<DataName> name;
  std::optional<OutputFile> data;
  set_own_data(proto, stays ? own_data_at(path) : "");
  if (!stays && has_external_data(proto)) {
    name.emplace(path);
    const std::string location = name->path().filename();
    DataMover mover(*source.files, data.emplace(name->path()), location, replaced);
    visit_tensors(proto, [&](TensorProto& tensor) { mover.move(tensor); });
    set_own_data(proto, location);
  }
  OutputFile file(path);
  write_proto(proto, file);
  file.stream().flush();  // it tells of the data, should the process end before it has its own name
  if (data) data->commit();
  if (name) name->hand_over();
  const std::string replaced_data = own_data_at(path);  // another process may just have written it
  file.commit();
  if (name) name->keep();
  if (!stays) remove_replaced_data(path, replaced_data);
  for (const std::string& dead : unfinished) {
    if (dead != own_data_at(path)) remove_replaced_data(path, dead);
  }
} catch (const Error& error) {
  throw Error(ir::one_line(error.what())).at(ir::one_line(path));
}

}  // namespace podium::importer
