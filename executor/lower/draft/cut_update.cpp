// The sections of an update, where n - 1 weights have something off chip or in shards. Owner 0 has the
// variables of all other weights, owners 1 to n - 1 are these weights, owner n has the variables of no
// weight.
//
//   0              leads to no update, or to several and computes with no variable that comes and goes
//   1 to n         leads to several updates and computes with such variables of owner 0 to n - 1
//   n + 1          the same with those of several owners: norms of everything
//   n + 2 + 2 k    updates of owner k; the next section resets its accumulators
//
// An op comes no earlier than what it reads. Where that brings an op behind the section that changes a
// variable which it reads, the update is not cut.
#include "executor/lower/draft/cut_update.h"

#include <algorithm>
#include <optional>

namespace podium::lower {
namespace {

using ir::OpId;
using ir::ValueId;

// Whose variables an op leads to, or computes with: an owner, or one of these.
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

struct Owners {
  std::vector<int> of_variable;
  int nobody = 1;  ///< the owner of what belongs to no weight, the last one

  explicit Owners(const Variables& all) : of_variable(all.all().size(), 0) {
    const std::vector<PlacedVariable>& variables = all.all();
    std::vector<bool> comes(variables.size(), false);
    for (const PlacedVariable& one : variables) {
      if (one.weight && comes_and_goes(all, one)) comes[*one.weight] = true;
    }
    for (std::size_t v = 0; v < variables.size(); ++v) {
      if (comes[v]) of_variable[v] = nobody++;
    }
    for (std::size_t v = 0; v < variables.size(); ++v) {
      of_variable[v] = variables[v].weight ? of_variable[*variables[v].weight] : nobody;
    }
  }
};

class Cutter {
 public:
  Cutter(const PlacedGraph& placed, const Variables& variables)
      : placed_(placed), graph_(placed.graph()), variables_(variables), owners_(variables) {}

  /// Nothing where the order of the sections would change what an op reads.
  std::optional<UpdateSections> run() const {
    const ir::IdMap<OpId, int> leads_to = find_leads();
    ir::IdMap<ValueId, int> needs(std::ssize(graph_.values), kNobody);
    ir::IdMap<ValueId, int> made_in(std::ssize(graph_.values), 0);
    UpdateSections sections{.of_op = ir::IdMap<OpId, int>(std::ssize(graph_.ops), 0), .count = count()};
    for (OpId op : graph_.op_ids()) {
      if (!placed_.is_outer(op)) continue;
      int whose = kNobody;
      int& section = sections.of_op[op];
      for (ValueId id : inputs_of(graph_[op])) {
        join(whose, comes(id) ? owner_of(id) : needs[id]);
        section = std::max(section, made_in[id]);
      }
      section = std::max(section, section_of(op, leads_to[op], whose));
      for (ValueId id : outputs_of(graph_[op])) {
        needs[id] = whose;
        made_in[id] = section;
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
  int owner_of(ValueId id) const {
    const int variable = variable_of(id);
    return variable < 0 ? kNobody : owners_.of_variable[variable];
  }
  bool comes(ValueId id) const {
    const int variable = variable_of(id);
    return variable >= 0 && comes_and_goes(variables_, variables_.all()[variable]);
  }

  // Whose updates each outer op leads to.
  ir::IdMap<OpId, int> find_leads() const {
    ir::IdMap<OpId, int> of_op(std::ssize(graph_.ops), kNobody);
    ir::IdMap<ValueId, int> of_value(std::ssize(graph_.values), kNobody);
    for (OpId op : backwards(graph_)) {
      if (!placed_.is_outer(op)) continue;
      for (ValueId id : outputs_of(graph_[op])) {
        join(of_op[op], of_value[id]);
        join(of_op[op], owner_of(id));
      }
      for (ValueId id : inputs_of(graph_[op])) join(of_value[id], of_op[op]);
    }
    return of_op;
  }

  int shared_by_all() const { return owners_.nobody + 1; }
  int update_of(int owner) const { return shared_by_all() + 1 + 2 * owner; }
  int count() const { return update_of(owners_.nobody + 1); }

  int section_of(OpId op, int leads_to, int needs) const {
    if (leads_to == kNobody) return 0;
    if (leads_to == kSeveral) return needs == kSeveral ? shared_by_all() : needs + 1;
    return update_of(leads_to) + (variables_.is_reset(op) ? 1 : 0);
  }

  // Ops read a variable in the section that changes it at the latest.
  bool keeps_what_is_read(const UpdateSections& sections) const {
    std::vector<int> changes_in(variables_.all().size(), sections.count);
    ir::IdMap<ValueId, bool> is_new(std::ssize(graph_.values), false);
    for (OpId op : graph_.op_ids()) {
      if (!placed_.is_outer(op)) continue;
      for (ValueId id : outputs_of(graph_[op])) {
        is_new[id] = true;
        if (const int variable = variable_of(id); variable >= 0) {
          int& section = changes_in[variable];
          section = std::min(section, sections.of_op[op]);
        }
      }
    }
    for (OpId op : graph_.op_ids()) {
      if (!placed_.is_outer(op)) continue;
      for (ValueId id : inputs_of(graph_[op])) {
        const int variable = is_new[id] ? -1 : variable_of(id);
        if (variable >= 0 && sections.of_op[op] > changes_in[variable]) return false;
      }
    }
    return true;
  }

  const PlacedGraph& placed_;
  const ir::Graph& graph_;
  const Variables& variables_;
  const Owners owners_;
};

UpdateSections uncut(const ir::Graph& graph, const Variables& variables) {
  UpdateSections sections{.of_op = ir::IdMap<OpId, int>(std::ssize(graph.ops)), .count = 2};
  for (OpId op : graph.op_ids()) sections.of_op[op] = variables.is_reset(op) ? 1 : 0;
  return sections;
}

}  // namespace

UpdateSections cut_update(const PlacedGraph& placed, const Variables& variables) {
  const std::vector<PlacedVariable>& all = variables.all();
  const bool any = std::any_of(all.begin(), all.end(),
                               [&](const PlacedVariable& one) { return comes_and_goes(variables, one); });
  std::optional<UpdateSections> cut;
  if (any) cut = Cutter(placed, variables).run();
  return cut ? *std::move(cut) : uncut(placed.graph(), variables);
}

}  // namespace podium::lower
