// Variables as a session's user sees them: by name, with all that replicas have of them (semantics,
// section 6.3).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "annotate/partition.h"
#include "executor/numeric/engine.h"
#include "executor/session/saved_states.h"
#include "importer/import.h"
#include "ir/placement.h"

namespace podium {

using TensorsByName = std::map<std::string, ir::Tensor>;
using GroupsByName = std::map<std::string, ir::ReplicaGroup, std::less<>>;

/// What comes back of a variable: one value a group of replicas that share it, [groups, ...], of one group
/// the value alone; or one a replica, [replicas, ...]; or that of the first replica alone.
enum class Retrieval : std::uint8_t { OnePerGroup, AllReplicas, FirstReplica };

/// The weights of which groups of replicas have values of their own, as the model's metadata say. Error for
/// groups that do not divide the replicas.
GroupsByName own_groups(const importer::ModelInfo& info, int replicas);

/// Initializers of such weights, and of their optimizer state, which no op reads, have a leading axis of
/// groups. Takes it off, leaves the value of the first group, and gives the whole tensors. Error for one
/// without that axis.
TensorsByName take_group_values(importer::Model& model, const GroupsByName& groups, int replicas);

/// The model as the first replica sees it: no weight has groups.
importer::Model of_first_replica(importer::Model model, int replicas);

/// Finds variables in an engine.
class VariableStore {
 public:
  VariableStore() = default;
  /// `variables` are those of the Program; parts of `cut` are known by the name of the whole.
  VariableStore(const std::vector<NamedVariable>& variables, const std::vector<annotate::CutVariable>& cut,
                const GroupsByName& groups, const executor::Program& program);

  bool contains(const std::string& name) const { return find_cut(name) != nullptr || places_.contains(name); }
  ir::Tensor contents(const numeric::Engine& engine, const std::string& name,
                      Retrieval retrieval = Retrieval::OnePerGroup) const;
  /// Whether every processor that has the variable has the same numbers.
  bool copies_agree(const numeric::Engine& engine, const std::string& name) const;
  /// The value has the form of OnePerGroup. Error for another type or shape.
  void set(numeric::Engine& engine, const std::string& name, const ir::Tensor& value) const;

 private:
  struct Place {
    std::vector<executor::Slot> slots;     ///< on each processor that has it
    std::vector<std::vector<int>> groups;  ///< the replicas that share it
  };
  const annotate::CutVariable* find_cut(const std::string& name) const;

  std::map<std::string, Place> places_;
  std::map<std::string, annotate::CutVariable> cut_;  ///< by name
};

}  // namespace podium
