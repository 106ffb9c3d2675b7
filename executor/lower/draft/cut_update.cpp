#include "executor/lower/draft/cut_update.h"

#include <algorithm>
#include <optional>

#include "ir/at.h"

namespace podium::lower {
namespace {

using ir::Op;
using ir::ValueId;

// Whose variables an op leads to, or computes with: a turn of the weights, or one of these.
constexpr int kNobody = -1;
constexpr int kSeveral = -2;

void join(int& whose, int other) {
  if (other == kNobody || other == whose) return;
  whose = whose == kNobody ? other : kSeveral;
}

// Whether an update brings a variable, or gathers what it becomes.
bool comes_and_goes(const Variables& variables, const PlacedVariable& one) {
  return one.location.storage == ir::Storage::OffChip || variables.whole(one.value) != nullptr;
}

// The turn of each variable: 0 for those of weights with everything whole and on chip, then one for each
// other weight, then those of no weight.
struct Turns {
  std::vector<int> of_variable;
  int weights = 1;  ///< the turn of what belongs to no weight

  explicit Turns(const Variables& all) : of_variable(all.all().size(), 0) {
    const std::vector<PlacedVariable>& variables = all.all();
    std::vector<bool> comes(variables.size(), false);
    for (const PlacedVariable& one : variables) {
      if (one.weight && comes_and_goes(all, one)) comes[*one.weight] = true;
    }
    for (std::size_t v = 0; v < variables.size(); ++v) {
      if (comes[v]) of_variable[v] = weights++;
    }
    for (std::size_t v = 0; v < variables.size(); ++v) {
      of_variable[v] = variables[v].weight ? of_variable[*variables[v].weight] : weights;
    }
  }
};

class Cutter {
 public:
  Cutter(const ir::Graph& graph, const Variables& variables)
      : graph_(graph), variables_(variables), turns_(variables) {}

  /// Nothing where the order of the sections would change what an op reads.
  std::optional<UpdateSections> run() const {
    const std::vector<int> leads_to = find_leads();
    std::vector<int> needs(graph_.values.size(), kNobody);
    std::vector<int> made_in(graph_.values.size(), 0);
    UpdateSections sections{.of_op = std::vector<int>(graph_.ops.size(), 0), .count = 3 * turns_.weights + 4};
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!variables_.is_outer(i)) continue;
      const Op& op = graph_.ops[i];
      int whose = kNobody;
      int& section = sections.of_op[i];
      for (ValueId id : op.inputs) {
        if (!id.valid()) continue;
        join(whose, comes(id) ? turn_of(id) : needs[at(id)]);
        section = std::max(section, made_in[at(id)]);
      }
      section = std::max(section, section_of(i, leads_to[i], whose));
      for (ValueId id : op.outputs) {
        if (!id.valid()) continue;
        needs[at(id)] = whose;
        made_in[at(id)] = section;
      }
    }
    if (!keeps_what_is_read(sections)) return std::nullopt;
    return sections;
  }

 private:
  // The place among all variables of what a value is, or becomes; -1 for every other value.
  int variable_of(ValueId id) const {
    const ValueId variable = variables_.updated(id).value_or(id);
    return variables_.is_variable(variable) ? variables_.place(variable) : -1;
  }
  int turn_of(ValueId id) const {
    const int variable = variable_of(id);
    return variable < 0 ? kNobody : turns_.of_variable[variable];
  }
  bool comes(ValueId id) const {
    const int variable = variable_of(id);
    return variable >= 0 && comes_and_goes(variables_, variables_.all()[variable]);
  }

  // Whose updates each outer op leads to.
  std::vector<int> find_leads() const {
    std::vector<int> of_op(graph_.ops.size(), kNobody);
    std::vector<int> of_value(graph_.values.size(), kNobody);
    for (std::size_t i = graph_.ops.size(); i-- > 0;) {
      if (!variables_.is_outer(i)) continue;
      for (ValueId id : graph_.ops[i].outputs) {
        if (!id.valid()) continue;
        join(of_op[i], of_value[at(id)]);
        join(of_op[i], turn_of(id));
      }
      for (ValueId id : graph_.ops[i].inputs) {
        if (id.valid()) join(of_value[at(id)], of_op[i]);
      }
    }
    return of_op;
  }

  // Of what several need: what computes with no variable that comes and goes, with those of one weight, with
  // those of several. Then two sections for each turn: the update and the reset.
  int section_of(std::size_t op, int leads_to, int needs) const {
    if (leads_to == kNobody) return 0;
    if (leads_to == kSeveral) return needs == kSeveral ? turns_.weights + 1 : needs + 1;
    return turns_.weights + 2 + 2 * leads_to + (variables_.is_reset(op) ? 1 : 0);
  }

  // Ops read a variable in the section that changes it at the latest.
  bool keeps_what_is_read(const UpdateSections& sections) const {
    std::vector<int> changes_in(variables_.all().size(), sections.count);
    std::vector<bool> is_new(graph_.values.size(), false);
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!variables_.is_outer(i)) continue;
      for (ValueId id : graph_.ops[i].outputs) {
        if (!id.valid()) continue;
        is_new[at(id)] = true;
        if (const int variable = variable_of(id); variable >= 0) {
          int& section = changes_in[variable];
          section = std::min(section, sections.of_op[i]);
        }
      }
    }
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!variables_.is_outer(i)) continue;
      for (ValueId id : graph_.ops[i].inputs) {
        const int variable = id.valid() && !is_new[at(id)] ? variable_of(id) : -1;
        if (variable >= 0 && sections.of_op[i] > changes_in[variable]) return false;
      }
    }
    return true;
  }

  const ir::Graph& graph_;
  const Variables& variables_;
  const Turns turns_;
};

UpdateSections uncut(const ir::Graph& graph, const Variables& variables) {
  UpdateSections sections{.of_op = {}, .count = 2};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) sections.of_op.push_back(variables.is_reset(i) ? 1 : 0);
  return sections;
}

}  // namespace

UpdateSections cut_update(const ir::Graph& graph, const Variables& variables) {
  const std::vector<PlacedVariable>& all = variables.all();
  const bool any = std::any_of(all.begin(), all.end(),
                               [&](const PlacedVariable& one) { return comes_and_goes(variables, one); });
  std::optional<UpdateSections> cut;
  if (any) cut = Cutter(graph, variables).run();
  return cut ? *std::move(cut) : uncut(graph, variables);
}

}  // namespace podium::lower
