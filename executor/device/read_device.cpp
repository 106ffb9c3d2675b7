// A device file is an object with a field for each row of fields.cpp; "base" names a preset that gives what
// the file leaves out. Reading checks unknown names first, then each field against its row's range, then what
// several fields must agree on (pairs of processors, whole link domains). Writing goes over the same rows.
#include "executor/device/read_device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "executor/device/fields.h"
#include "executor/device/presets.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/nearest.h"
#include "ir/nesting.h"
#include "ir/number_text.h"

namespace podium::device {
namespace {

using Json = nlohmann::ordered_json;

std::string range(const Field& field) {
  return fmt::format("a number from {} to {}{}{} needed", field.least, field.most,
                     field.unit.empty() ? "" : " ", field.unit);
}

template <class T>
void read_number(const Field& field, const Json& json, T& number) {
  const double value = json.is_number() ? json.get<double>() : std::nan("");
  const bool fits = value >= field.least && value <= field.most;  // NaN does not
  if (!fits) throw Error("field '{}' is {}, {}", field.name, json.dump(), range(field));
  if (std::is_integral_v<T> && value != std::floor(value)) {
    throw Error("field '{}' is {}, a whole number needed", field.name, json.dump());
  }
  number = static_cast<T>(value);
}

void read_word(const Field& field, const Json& json, bool& flag) {
  if (!json.is_boolean()) throw Error("field '{}' is {}, true or false needed", field.name, json.dump());
  flag = json.get<bool>();
}

template <class Word, std::size_t kCount>
void read_one_of(const std::array<Word, kCount>& words, const Field& field, const Json& json, Word& word) {
  const auto found = std::find_if(words.begin(), words.end(), [&](Word one) { return json == name_of(one); });
  if (found == words.end()) throw Error("field '{}' is {}, {} needed", field.name, json.dump(), field.what);
  word = *found;
}

void read_word(const Field& field, const Json& json, Topology& topology) {
  read_one_of(std::array{Topology::AllToAll, Topology::Ladder, Topology::Torus}, field, json, topology);
}

void read_word(const Field& field, const Json& json, Fusion& fusion) {
  read_one_of(std::array{Fusion::None, Fusion::Nodes, Fusion::All}, field, json, fusion);
}

void read_word(const Field& field, const Json& json, ProcessorKind& kind) {
  using enum ProcessorKind;
  read_one_of(std::array{Ipu, Gpu, Tpu, Cpu}, field, json, kind);
}

// What a processor is called changes no time, and files from before do not say it.
bool is_optional(const Field& field) { return std::holds_alternative<Access<ProcessorKind>>(field.access); }

void read_field(const Field& field, const Json& json, Device& device) {
  std::visit(
      [&]<class T>(Access<T> access) {
        if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
          read_word(field, json, access(device));
        } else {
          read_number(field, json, access(device));
        }
      },
      field.access);
}

std::string text_of(const Json& json, std::string_view key) {
  const Json& text = json.at(std::string(key));
  if (!text.is_string()) throw Error("field '{}' is {}, text needed", key, text.dump());
  return text.get<std::string>();
}

void check_pod(const Device& device) {
  if (device.processors > device.link_domain && device.processors % device.link_domain != 0) {
    throw Error("field 'processors' is {}, a multiple of linkDomain, {}, needed", device.processors,
                device.link_domain);
  }
  if (device.topology == Topology::AllToAll || device.processors == 1) return;
  if (device.processors % 2 != 0) {
    throw Error("field 'processors' is {}, an even number (or 1) needed: a {} consists of pairs",
                device.processors, name_of(device.topology));
  }
  if (device.link_domain > 1 && device.link_domain % 2 != 0) {
    throw Error("field 'linkDomain' is {}, an even number (or 1) needed: a {} consists of pairs",
                device.link_domain, name_of(device.topology));
  }
}

// "h100:nodes=16", "h100:processors=1".
Device of_another_size(Device device, const std::string& name, const std::string& size) {
  const auto equals = size.find('=');
  const std::string what = size.substr(0, equals);
  constexpr int kMost = 1 << 20;
  const std::string_view digits =
      equals == std::string::npos ? "" : std::string_view(size).substr(equals + 1);
  const auto count = ir::number_of(digits, 1, kMost / device.processors_per_host);
  if ((what != "nodes" && what != "processors") || !count)
    throw Error("device '{}': ':{}' found, ':nodes=N' or ':processors=N' needed", name, size);
  device.processors = what == "nodes" ? *count * device.processors_per_host : *count;
  device.name = name;
  try {
    check_pod(device);
  } catch (const Error& error) {
    throw error.at(fmt::format("device '{}'", name));
  }
  return device;
}

// Nothing when no preset has the name.
std::optional<Device> preset_named(const std::string& name) {
  if (const Device* preset = find_preset(name)) return *preset;
  const auto colon = name.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const Device* preset = find_preset(name.substr(0, colon));
  if (preset == nullptr) return std::nullopt;
  return of_another_size(*preset, name, name.substr(colon + 1));
}

constexpr std::string_view kHostThreads = "host:threads=";

bool is_host(std::string_view name) { return name == kHost || name.starts_with(kHostThreads); }

std::string file_named(const std::string& name) {
  if (!is_host(name)) return name;
  std::string file = host_file(name);
  if (!ir::is_there(file))
    throw Error("device '{}': {} not found, this machine needs to be measured first: podium calibrate{}",
                name, file, name == kHost ? "" : " --threads " + name.substr(kHostThreads.size()));
  return file;
}

Device base_named(const std::string& name) {
  if (const std::optional<Device> preset = preset_named(name)) return *preset;
  throw Error("field 'base' is '{}', the name of a preset needed (nearest: '{}')", name,
              ir::nearest(name, preset_names()));
}

void refuse_unknown_fields(const Json& json) {
  std::vector<std::string_view> names{"name", "base"};
  for (const Field& field : fields()) names.push_back(field.name);
  for (const auto& [key, value] : json.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    throw Error("unknown field '{}', nearest is '{}'", key, ir::nearest(key, names));
  }
}

Json read_object(const std::string& text) try {
  ir::check_nesting(text, ir::kDeepestJson);
  Json json = Json::parse(text);
  if (!json.is_object()) throw Error("found JSON that is no object, an object of device fields needed");
  return json;
} catch (const Json::parse_error& error) {
  throw Error("not JSON at byte {}, an object of device fields needed", error.byte);
} catch (const Json::out_of_range&) {
  throw Error("a number is too large for any field");
}

}  // namespace

Device parse_device(const std::string& text) {
  const Json json = read_object(text);
  refuse_unknown_fields(json);
  Device device = json.contains("base") ? base_named(text_of(json, "base")) : Device{};
  if (json.contains("name")) device.name = text_of(json, "name");
  for (const Field& field : fields()) {
    if (const auto found = json.find(field.name); found != json.end()) {
      read_field(field, *found, device);
    } else if (!json.contains("base") && !is_optional(field)) {
      throw Error("field '{}' is missing: give it, or 'base', the name of a preset", field.name);
    }
  }
  check_pod(device);
  return device;
}

std::string host_with(int threads) { return fmt::format("{}{}", kHostThreads, threads); }

std::string host_file(std::string_view name) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const bool has_cache = cache != nullptr && *cache != '\0';
  if (!has_cache && (home == nullptr || *home == '\0'))
    throw Error("device '{}': neither XDG_CACHE_HOME nor HOME is set, one of them needed for its file", name);
  const std::string folder = has_cache ? std::string(cache) : std::string(home) + "/.cache";
  if (name == kHost) return folder + "/podium/host.json";
  const std::string_view digits = name.substr(kHostThreads.size());
  const auto threads = ir::number_of(digits, 1, std::numeric_limits<int>::max());
  if (!threads) throw Error("device '{}': '{}' found, a number of threads needed", name, digits);
  return fmt::format("{}/podium/host-{}.json", folder, *threads);
}

Device read_device(const std::string& name) {
  if (const std::optional<Device> preset = preset_named(name)) return *preset;
  const std::string file = file_named(name);
  if (!ir::is_there(file)) {
    throw Error("device '{}' is neither a preset (nearest: '{}') nor a readable file", name,
                ir::nearest(name, preset_names()));
  }
  const std::string text = ir::read_small_file(file);
  try {
    Device device = parse_device(text);
    if (device.name.empty()) device.name = name;
    return device;
  } catch (const Error& error) {
    if (file == name) throw error.at(file);
    throw Error("device '{}': {}: {}; podium calibrate writes it anew", name, file, error.what());
  }
}

std::string to_json(const Device& device) {
  Device copy = device;  // fields give access to what may be written
  Json json{{"name", device.name}};
  for (const Field& field : fields()) {
    std::visit(
        [&]<class T>(Access<T> access) {
          if constexpr (std::is_enum_v<T>) {
            json[std::string(field.name)] = name_of(access(copy));
          } else {
            json[std::string(field.name)] = access(copy);
          }
        },
        field.access);
  }
  return json.dump(2) + "\n";
}

namespace {

// Whether `other` differs from `device` in nothing but how many processors there are and how they are wired.
bool is_of_family(const Device& device, Device other) {
  other.name = device.name;
  other.processors = device.processors;
  other.topology = device.topology;
  return to_json(other) == to_json(device);
}

// Racks are whole, and whoever has no gateway has one rack.
std::string with_more_nodes(const Device& preset, std::int64_t processors) {
  const std::int64_t most = preset.gateway.bytes_per_second > 0 ? 1 << 20 : preset.link_domain;
  const std::int64_t unit = processors > preset.link_domain ? preset.link_domain : 1;
  const std::int64_t whole = (processors + unit - 1) / unit * unit;
  const std::int64_t nodes = (whole + preset.processors_per_host - 1) / preset.processors_per_host;
  if (nodes * preset.processors_per_host > most) return "";
  const std::string name = fmt::format("{}:nodes={}", preset.name, nodes);
  try {
    read_device(name);
  } catch (const Error&) {
    return "";
  }
  return name;
}

}  // namespace

std::string larger_machine(const Device& device, std::int64_t processors) {
  const Device* preset = find_preset(device.name.substr(0, device.name.find(':')));
  if (preset == nullptr || !is_of_family(*preset, device)) return "";
  const Device* smallest = preset->processors >= processors ? preset : nullptr;
  const Device* largest = preset;
  for (const std::string_view name : preset_names()) {
    const Device& other = *find_preset(name);
    if (!is_of_family(*preset, other)) continue;
    if (other.processors > largest->processors) largest = &other;
    const bool is_smaller = smallest == nullptr || other.processors < smallest->processors;
    if (other.processors >= processors && is_smaller) smallest = &other;
  }
  return smallest != nullptr ? smallest->name : with_more_nodes(*largest, processors);
}

}  // namespace podium::device
