// What each op of a run costs: the tables and the JSON of `podium profile` (fields: README.md in this
// folder).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "executor/device/device.h"

namespace podium::report {

enum class Pass : std::uint8_t { Forward, Backward, Update };
std::string_view name_of(Pass pass);

/// A kernel: an op, or several that the device's compiler makes one of. Figures are those of a step, all runs
/// together, on one replica.
struct ProfiledOp {
  std::string name;  ///< of its first op
  std::string type;  ///< "MatMul+Add"
  /// What stands before the last part of the name, "" of a name in one part; of an op that training appends,
  /// the layer of the weight that it updates or of the op that it derives from.
  std::string layer;
  std::string block;
  int processor = 0;
  std::optional<std::int64_t> stage = {};  ///< of the pipeline, as the way there counts them and goes on back
  Pass pass = Pass::Forward;
  std::int64_t runs = 0;
  double seconds = 0;
  double flop = 0;
  double bytes = 0;          ///< of what it reads and writes
  double ideal_seconds = 0;  ///< of the flop at the processor's peak rate for their types
};

/// An op of the engine on this machine's processor, which may be several of the model in one.
struct RealOp {
  std::string name;
  std::string type;
  std::int64_t runs = 0;
  double seconds = 0;
};

struct Profile {
  std::string model;
  std::string strategy;
  std::string device;
  double step_seconds = 0;
  std::vector<ProfiledOp> ops = {};
  std::vector<RealOp> real = {};  ///< with --real
};

enum class ProfileOrder : std::uint8_t { Time, Flop, Bytes, Name };

struct ProfileView {
  ProfileOrder order = ProfileOrder::Time;
  int rows = 25;          ///< of a table; 0: all
  std::size_t width = 0;  ///< of a line; 0: any
  device::ProcessorKind kind = device::ProcessorKind::Ipu;
};

/// "encoder/layer.0" of "/encoder/layer.0/MatMul": names are taken apart at '/', else at '.'.
std::string layer_of(const std::string& name);

/// Tables of ops, layers, and passes and processors; with real times, also of the engine's ops.
std::string profile_tables(const Profile& profile, const ProfileView& view);

/// An entry of `ops[]` in a report.
nlohmann::json to_json(const ProfiledOp& op);
/// An entry of `realOps[]`.
nlohmann::json to_json(const RealOp& op);
nlohmann::json profile_json(const Profile& profile);

}  // namespace podium::report
