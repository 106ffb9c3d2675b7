// Follows the values of a run from op to op.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "executor/compare/plain_op.h"
#include "executor/program.h"
#include "executor/report/oracle.h"
#include "executor/session/variable_store.h"
#include "executor/session/watched.h"

namespace podium::compare {

/// What a run takes, and what else the numbers of a session follow from.
struct Course {
  int batches = 1;       ///< of a run
  int accumulation = 1;  ///< micro-batches of each, on every replica
  int replicas = 1;
  bool shares_state = false;  ///< each replica holds a part of what training keeps
  /// Gradients are added to a state of the optimizer, there or by one processor: in whatever share replicas
  /// start with of it, and each scaled for itself.
  bool adds_to_state = false;
  numeric::PrepareOptions prepare = {};

  int micro_batches() const { return batches * accumulation * replicas; }
};

/// What one run gave, and what it was given.
struct RunData {
  std::span<const executor::HostTensor> inputs = {};
  std::span<const ir::Datum> given = {};
  std::span<const executor::HostTensor> outputs = {};
  std::span<const ir::Datum> results = {};
};

/// Holds each value that a session's run makes against what its op makes of the session's own operands on one
/// processor, so that the first op that computes something else is found, whatever was rounded before it. An
/// op whose sum the strategy adds up in another order may differ within its bound. What depends on no such
/// sum has to be, to the bit, what a run on one processor has under that name, where it has one.
class Follower {
 public:
  /// `watched` outlives the follower, and is that of the session.
  Follower(const Watched& watched, const Course& course);

  /// Before the first run: the session's variables by name. Those that are not there are as the graph says.
  void start(const TensorsByName& variables);
  /// One run; `plain` are the outputs of one processor in it, by name, with the same micro-batches in order.
  /// Ends early where the values part. `fed` are Watched::fed of this run.
  void follow(const RunData& run, const TensorsByName& plain);
  /// What a variable is by now, in the first replica; nullptr where it is none of the graph.
  const ir::Tensor* variable(const std::string& name) const;
  /// Whether it follows from no sum that was added up in another order.
  bool is_exact(const std::string& name) const;
  /// The values part here: `found` is what the session has of a variable.
  void part_at(const std::string& name, const ir::Tensor& found, const ir::Tensor& expected, std::string when,
               std::string remark = {});

  const report::OracleVerdict& verdict() const { return verdict_; }
  report::OracleVerdict& verdict() { return verdict_; }

 private:
  /// Where in a run an op computes.
  struct Moment {
    int batch = 0;
    int micro_batch = 0;  ///< of the batch
    int replica = 0;
    bool in_update = false;
  };
  /// The values of one replica.
  struct Replica {
    ir::IdMap<ir::ValueId, ir::Datum> data;
    ir::IdMap<ir::ValueId, bool> exact;
    std::map<ir::ValueId, ir::Datum> magnitudes;  ///< of what accumulates
  };
  struct Explanation {
    std::string why;
    std::optional<ir::Tensor> bound;
    bool is_estimate = false;
  };

  void follow_batch(int batch);
  void take_inputs(const Moment& moment);
  void follow_op(ir::OpId op, const Moment& moment);
  void judge(ir::OpId op, std::size_t output, const Moment& moment, const ir::Tensor& found,
             const std::vector<ir::Datum>& made, const Operands& operands);
  Explanation explain(ir::OpId op, std::size_t output, const Moment& moment,
                      const std::vector<ir::Datum>& made, const Operands& operands) const;
  static bool is_of_model(const std::string& name);
  void hold_against_plain(ir::OpId op, ir::ValueId id, const Moment& moment, const ir::Tensor& found);
  void accumulate(ir::OpId op, const Moment& moment);
  void take_reduced(int batch);
  void judge_reduced(ir::ValueId id, int batch);
  void apply_updates(const Moment& moment);
  void note(ir::OpId op, ir::ValueId id, const ir::Tensor& found, const ir::Tensor& expected,
            const Explanation& explanation);
  void part(ir::OpId op, ir::ValueId id, const Moment& moment, const ir::Tensor& found,
            const ir::Tensor& expected, std::int64_t element, std::string remark = {});
  void tell(const std::string& name, const ir::Tensor& found, const ir::Tensor& expected,
            std::int64_t element, std::string when, std::string remark);

  Operands operands_of(const ir::Op& op, const Replica& replica) const;
  Operands magnitudes_of(const ir::Op& op, const Replica& replica) const;
  std::optional<ir::Tensor> row(ir::ValueId id, const Moment& moment) const;
  std::string text_of(const Moment& moment) const;
  annotate::Cut cut_of(ir::OpId op) const {
    return watched_.cuts.empty() ? annotate::Cut::Whole : watched_.cuts[op.number()];
  }
  bool is_outer(ir::OpId op) const { return ir::is_outer(graph_[op]); }
  kernels::Moment drawn_at(const Moment& moment) const;

  const Watched& watched_;
  const ir::Graph& graph_;
  Course course_;
  PlainOps ops_;
  ir::IdMap<ir::ValueId, ir::OpId> makers_;
  ir::IdMap<ir::ValueId, bool> accumulated_;
  std::set<ir::ValueId> variables_;
  std::vector<Replica> replicas_;
  std::map<ir::ValueId, ir::Datum> in_turn_;  ///< what accumulates, of all replicas' micro-batches in turn
  RunData run_;
  std::map<std::string, std::size_t> outputs_;  ///< by name, their places in a run's results
  const TensorsByName* plain_ = nullptr;
  std::uint64_t runs_ = 0;  ///< micro-batches of a replica in the runs before
  int step_ = 0;
  report::OracleVerdict verdict_;
};

}  // namespace podium::compare
