// A model as Python holds it: as it was read, with the annotations that were added since.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/cli/options.h"
#include "executor/python/settings.h"
#include "importer/import.h"

namespace podium::python {

/// A value at the door of a model or a session.
struct Port {
  std::string name;
  ir::Type type;
};

/// Whoever works without the interpreter's lock works on a copy of imported().
class Model {
 public:
  Model(std::string name, importer::Model model);

  /// Of files, "bytes" of a model in memory.
  const std::string& name() const { return name_; }
  const importer::Model& imported() const { return model_; }

  std::vector<Port> inputs() const;
  /// Of inferred types.
  std::vector<Port> outputs() const;
  /// Rules as `podium annotate --from` reads them. A refused list changes nothing.
  void annotate(const std::string& rules);
  /// Takes the annotations of `placed`, which was made of this model.
  void take_annotations(importer::Model placed) { model_ = std::move(placed); }
  void clear_annotations();
  /// A JSON list, one record an op: name, type, ipu, stage, phase, tiles, recompute, whether they are
  /// inherited.
  std::string placement() const;

  /// The model as it was read, with its annotations.
  void save(const std::string& path) const;

 private:
  std::string name_;
  importer::Model model_;
  std::vector<ir::Op> before_;
};

/// The JSON of `podium info --report`.
std::string info_of(importer::Model model);

}  // namespace podium::python
