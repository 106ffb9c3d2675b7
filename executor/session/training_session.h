// The public way in to train: a model, a loss and an optimizer become a Program that changes the model's
// weights.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/schedule/bounds.h"
#include "executor/session/session.h"
#include "executor/session/variable_store.h"
#include "ir/optimizer.h"

namespace podium {

struct TrainingOptions {
  SessionOptions session =
      {};                 ///< the strategy with batchesPerStep and accumulationFactor, the device, the seed
  std::string loss = {};  ///< name of a tensor of the model with one number (see add_loss)
  ir::Optimizer optimizer = ir::make_optimizer("SGD");
  /// Names, or globs, of the initializers that are trained. None: every one that the loss depends on and that
  /// choose_weights takes for a weight.
  std::vector<std::string> weights = {};
  /// Names, or globs, of those among them that are not.
  std::vector<std::string> frozen = {};
};

/// Gives `model` the weights of `saved`, a model that model_to_file wrote, and the optimizer state beside
/// them, so that a session goes on where the saved one was. Error for a weight that `saved` does not have in
/// the same shape.
void resume(importer::Model& model, const importer::Model& saved);

/// Trains a model under a strategy on the processors of a device. One run is a step: batchesPerStep updates
/// of the weights, each from accumulationFactor micro-batches on every replica.
class TrainingSession {
 public:
  /// As an InferenceSession, with derivatives and updates. Optimizer state is taken from initializers that no
  /// node reads and that have PopART's names (Accl1___w, Step___w, ...). Error also for a loss that is not
  /// one number or depends on no weight, an op without derivative on its way, and an optimizer that does not
  /// fit.
  /// A weight that only groups of replicas share (the model's metadata __comm_group_type and
  /// __comm_group_size) has an initializer with a leading axis of groups. Each group has its own value and
  /// optimizer state and learns from its own data alone.
  TrainingSession(importer::Model model, const TrainingOptions& options);
  ~TrainingSession();
  TrainingSession(TrainingSession&&) noexcept;

  /// What run takes: the model's inputs.
  const std::vector<executor::HostTensor>& inputs() const;
  /// The inputs that hold ids, for those who draw their data.
  const IdCounts& ids() const;
  /// What run gives: the model's outputs, the loss and the anchors.
  const std::vector<executor::HostTensor>& outputs() const { return program().outputs; }

  /// `inputs` in the order of inputs(), each [batches per step][accumulation][replicas][micro-batch...],
  /// without the replicas where it is broadcast; only the number of elements counts. The outputs, laid out
  /// like that without leading dimensions of one, stay valid until the next run. Error for a wrong number or
  /// type, and when the loss is NaN or infinite: then the weights are of no use any more.
  std::span<const ir::Datum> run(std::span<const ir::Datum> inputs);
  /// The mean over what came back of the loss in the last run, 0 where nothing did (synthetic data).
  double loss() const;
  /// What came back of it, in the order of the micro-batches.
  std::span<const double> losses() const;
  std::int64_t steps() const;  ///< runs so far

  /// The trained weights as they are now, and the statistics that ops keep, by the names of the initializers.
  /// Error, as of all below that get or set values, where the session cannot run.
  TensorsByName weights(Retrieval retrieval = Retrieval::OnePerGroup) const;
  /// Of weights(), what ops keep themselves. Each replica keeps its own; these are the first one's.
  TensorsByName statistics() const;
  /// The first of the weights and of what else training keeps that holds NaN or infinity, if any.
  std::optional<std::string> first_infinite() const;
  /// Whether all processors that compute with a weight have the same numbers of it, as they do after each
  /// run.
  bool copies_agree() const;
  /// By PopART's names; what is accumulated between updates is no part of it.
  TensorsByName optimizer_state(Retrieval retrieval = Retrieval::OnePerGroup) const;
  /// Sets weights or optimizer state, a value a group of replicas where not all share it. Error for a name
  /// that is none of them, and for another type or shape.
  void set_weights(const TensorsByName& values);
  /// Other values of the optimizer from the next run on. Error when more than values that are not constant
  /// differ, and for a value out of its range.
  void update_optimizer(const ir::Optimizer& optimizer);
  /// As the next run uses it; its globs are written out.
  const ir::Optimizer& optimizer() const;
  /// Writes the model as it was read, with the weights as they are now, and the optimizer state as
  /// initializers that no node reads: any ONNX runtime runs it, `resume` goes on from it. A failure leaves
  /// what was there.
  void model_to_file(const std::string& path) const;

  // As of an InferenceSession.
  const executor::Program& program() const;
  /// As InferenceSession::clocked_program.
  const executor::Program& clocked_program() const;
  const Strategy& strategy() const;
  /// What tensors that are cut over devices need of other devices.
  const std::vector<annotate::Resharding>& reshardings() const;
  const sim::Timeline* timeline() const;
  /// The same Program on another device, of a session that only estimates.
  sim::Timeline clocked_on(const device::Device& device) const;
  /// Of a clocked pipeline that runs empty before each update: the seconds of a run that no schedule of the
  /// same chunks, kind of backward pass and memory gets below. Nothing of other strategies.
  const std::optional<schedule::Bound>& bound() const;
  bool can_run() const;
  const Notes& notes() const;
  /// nullptr without SessionOptions::watches.
  const Watched* watched() const;
  std::int64_t peak_bytes(int processor) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace podium
