// The sessions that Python holds: each with a lock of its own and the real times of its report.
#pragma once

#include <pybind11/pybind11.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/python/model.h"
#include "executor/python/settings.h"
#include "executor/report/report.h"
#include "executor/session/session.h"
#include "executor/session/training_session.h"

namespace podium::python {

/// What both sessions tell.
template <class Session>
class Running {
 public:
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  /// The JSON of --report.
  std::string report();
  /// The JSON of --trace. Error when the session was made without events.
  std::string trace();
  /// The table that the command line prints.
  std::string table();
  Notes notes();
  bool can_run() const { return session().can_run(); }

 protected:
  Running(const Model& model, Settings settings);

  const Session& session() const { return *session_; }
  report::RunReport facts() const;
  void check_can_run() const;
  const sim::Timeline& timeline() const;

  std::string model_;
  Settings settings_;
  std::int64_t samples_;
  std::optional<Session> session_;
  double prepare_seconds_ = 0;
  double run_seconds_ = 0;
  std::mutex busy_;
};

class Inference : public Running<InferenceSession> {
 public:
  Inference(const Model& model, Settings settings);

  pybind11::list run(const pybind11::dict& feeds);
  void set_weights(const pybind11::dict& values);
};

class Training : public Running<TrainingSession> {
 public:
  /// `changing` names values of the optimizer that may change between steps.
  Training(const Model& model, Settings settings, const std::vector<std::string>& changing);

  pybind11::list run(const pybind11::dict& feeds);
  double loss();
  std::vector<double> losses();
  std::int64_t steps();
  pybind11::dict weights();
  pybind11::dict optimizer_state();
  void set_weights(const pybind11::dict& values);
  /// The text of --optimizer.
  void set_optimizer(const std::string& optimizer, const std::vector<std::string>& changing);
  void save(const std::string& path);
  /// Weights and states of a model that save wrote.
  void load(const std::string& path);
};

}  // namespace podium::python
