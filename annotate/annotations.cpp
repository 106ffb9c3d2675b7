#include "annotate/annotations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "annotate/pattern_names.h"
#include "ir/nearest.h"

namespace podium::annotate {
namespace {

const ir::AttributeValue* find(const ir::Op& op, std::string_view name) {
  const auto found = std::find_if(op.attributes.begin(), op.attributes.end(),
                                  [&](const ir::Attribute& attribute) { return attribute.name == name; });
  return found == op.attributes.end() ? nullptr : &found->value;
}

template <class T>
const T* find_as(const ir::Op& op, std::string_view name, std::string_view needed) {
  const ir::AttributeValue* value = find(op, name);
  if (value == nullptr) return nullptr;
  if (const T* typed = std::get_if<T>(value)) return typed;
  throw Error("{} is {}, {} needed", name, to_string(*value), needed);
}

std::optional<int> read_int(const ir::Op& op, std::string_view name, int most, std::string_view what) {
  const auto* value = find_as<std::int64_t>(op, name, "a whole number");
  if (value == nullptr) return {};
  if (*value >= 0 && *value <= most) return static_cast<int>(*value);
  if (most == std::numeric_limits<int>::max()) {
    throw Error("bad {} {} found, 0 or more needed", what, *value);
  }
  throw Error("bad {} {} found, 0 to {} needed", what, *value, most);
}

std::optional<int> read_number(const ir::Op& op, std::string_view name, std::string_view plain,
                               std::string_view what) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const auto first = read_int(op, name, kMost, what);
  const auto second = read_int(op, plain, kMost, what);
  if (first && second && *first != *second) {
    throw Error("{} {} and {} {} found, one {} needed", name, *first, plain, *second, what);
  }
  return first ? first : second;
}

template <class Enum>
std::optional<Enum> read_enum(const ir::Op& op, std::string_view name, Enum last, std::string_view what) {
  const auto value = read_int(op, name, static_cast<int>(last), what);
  if (!value) return {};
  return static_cast<Enum>(*value);
}

std::optional<ir::TensorLocation> read_location(const ir::Op& op) {
  const auto* values = find_as<ir::IntList>(op, kOutputLocation, "six whole numbers");
  if (values == nullptr) return {};
  constexpr std::int64_t kMostReplicas = std::numeric_limits<int>::max();
  const ir::IntList most{1, 1, 1, 1, static_cast<int>(ir::GroupType::None), kMostReplicas};
  const auto fits = [](std::int64_t value, std::int64_t limit) { return value >= 0 && value <= limit; };
  if (values->size() != most.size() || !std::equal(values->begin(), values->end(), most.begin(), fits)) {
    throw Error(
        "{} is {}, [storage 0-1, load tiles 0-1, storage tiles 0-1, sharded 0-1, group type 0-3, group size] "
        "needed",
        kOutputLocation, ir::to_string(ir::AttributeValue(*values)));
  }
  const ir::IntList& v = *values;
  return ir::TensorLocation{.storage = static_cast<ir::Storage>(v[0]),
                            .load_tiles = static_cast<ir::TileSet>(v[1]),
                            .storage_tiles = static_cast<ir::TileSet>(v[2]),
                            .sharded = v[3] != 0,
                            .domain = {static_cast<ir::GroupType>(v[4]), static_cast<int>(v[5])}};
}

void check_inplace(const ir::Op& op) {
  const auto* names = find_as<ir::StringList>(op, kInplaceNames, "a list of strings");
  const auto* priorities = find_as<ir::FloatList>(op, kInplacePriorities, "a list of floats");
  if ((names == nullptr) != (priorities == nullptr)) {
    throw Error("{} found without {}, either both or neither needed",
                names != nullptr ? kInplaceNames : kInplacePriorities,
                names != nullptr ? kInplacePriorities : kInplaceNames);
  }
  if (names != nullptr && names->size() != priorities->size()) {
    throw Error("{} names in {} and {} numbers in {} found, as many of each needed", names->size(),
                kInplaceNames, priorities->size(), kInplacePriorities);
  }
}

void check_known(std::string_view annotation, std::string_view what, std::string_view name,
                 const std::vector<std::string_view>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw Error("invalid {} name '{}' in {}, the nearest is '{}'", what, name, annotation,
              ir::nearest(name, known));
}

}  // namespace

bool is_placement(std::string_view annotation) {
  return std::find(kPlacementAnnotations.begin(), kPlacementAnnotations.end(), annotation) !=
         kPlacementAnnotations.end();
}

Annotations read_annotations(const ir::Op& op) {
  Annotations read;
  if (op.attributes.empty()) return read;
  read.processor = read_number(op, kVirtualGraph, kPlainVirtualGraph, "virtual graph");
  read.stage = read_number(op, kPipelineStage, kPlainPipelineStage, "pipeline stage");
  read.phase = read_number(op, kExecutionPhase, kPlainExecutionPhase, "execution phase");
  read.tiles = read_enum(op, kTileSet, ir::TileSet::IO, "tile set");
  read.recompute = read_enum(op, kRecompute, ir::Recompute::Recomputed, "recompute type");
  read.output_location = read_location(op);
  if (const float* priority = find_as<float>(op, kPriority, "a float")) {
    if (!std::isfinite(*priority)) throw Error("{} is {}, a finite number needed", kPriority, *priority);
    read.priority = *priority;
  }
  return read;
}

void check_compiler_hints(const ir::Op& op) {
  check_inplace(op);
  if (const auto* patterns = find_as<ir::StringList>(op, kExcludePatterns, "a list of strings")) {
    for (const std::string& pattern : *patterns)
      check_known(kExcludePatterns, "pattern", pattern, pattern_names());
  }
  if (const auto* mode = find_as<std::string>(op, kSerializeMode, "a string")) {
    static const std::vector<std::string_view> kModes{"none", "input_channels", "reducing_dim",
                                                      "output_channels"};
    check_known(kSerializeMode, "mode", *mode, kModes);
  }
}

ir::IntList location_to_ints(const ir::TensorLocation& location) {
  return {static_cast<int>(location.storage),       static_cast<int>(location.load_tiles),
          static_cast<int>(location.storage_tiles), location.sharded ? 1 : 0,
          static_cast<int>(location.domain.type),   location.domain.size};
}

}  // namespace podium::annotate
