"""podium.TrainingSession against the equations, and how its weights come and go."""

import os
import tempfile
import unittest

import numpy as np

import models
import podium

X = np.random.default_rng(0).random((8, 4), np.float32)
Y = np.random.default_rng(1).random((8, 2), np.float32)


def session(batch=8, **keywords):
    keywords.setdefault("optimizer", podium.SGD(lr=0.1))
    return podium.TrainingSession(models.perceptron(batch), loss="mse", target="y", **keywords)


def sgd(w1, w2, rate):
    """One step of the mean squared error in double."""
    h = X @ w1
    r = np.maximum(h, 0)
    back = 2 * (r @ w2 - Y) / Y.size
    return w1 - rate * X.T @ (back @ w2.T * (h > 0)), w2 - rate * r.T @ back


class Trains(unittest.TestCase):
    def test_a_step_is_that_of_its_equation(self):
        trained = session()
        self.assertEqual({port.name: port.shape for port in trained.inputs}, {"x": [8, 4], "y": [8, 2]})
        loss = trained.step({"x": X, "y": Y})
        self.assertAlmostEqual(loss, float(np.mean((models.scores_of(X) - Y) ** 2)), places=5)
        w1, w2 = sgd(models.W1.astype(np.float64), models.W2.astype(np.float64), 0.1)
        np.testing.assert_allclose(trained.weights()["w1"], w1, atol=1e-6)
        np.testing.assert_allclose(trained.weights()["w2"], w2, atol=1e-6)

    def test_an_estimate_has_no_weights(self):
        estimate = session(estimate=True)
        weights = {"w1": models.W1, "w2": models.W2}
        for ask in (estimate.weights, estimate.optimizer_state, lambda: estimate.set_weights(weights),
                    lambda: estimate.save("nowhere.onnx"), lambda: estimate.load("nowhere.onnx")):
            with self.assertRaisesRegex(podium.Error, "the session only estimates"):
                ask()

    def test_another_learning_rate_holds_from_the_next_step_on(self):
        trained = session()
        trained.step({"x": X, "y": Y})
        trained.set_optimizer(podium.SGD(lr=0.01))
        trained.step({"x": X, "y": Y})
        w1, w2 = sgd(models.W1.astype(np.float64), models.W2.astype(np.float64), 0.1)
        w1, w2 = sgd(w1, w2, 0.01)
        np.testing.assert_allclose(trained.weights()["w2"], w2, atol=1e-6)
        with self.assertRaises(podium.Error):
            trained.set_optimizer(podium.Adam(lr=0.01))

    def test_goes_through_arrays_and_iterables(self):
        by_arrays = session(batch=2, options={"enableGradientAccumulation": True, "accumulationFactor": 2})
        self.assertEqual(by_arrays.samples_per_step(), 4)
        losses = list(by_arrays.train({"x": X, "y": Y}, epochs=3))
        self.assertEqual(len(losses), 6)
        self.assertLess(losses[-1], losses[0])
        by_batches = session(batch=2, options={"enableGradientAccumulation": True, "accumulationFactor": 2})
        batches = [{"x": X[:4], "y": Y[:4]}, {"x": X[4:], "y": Y[4:]}]
        self.assertEqual(list(by_batches.train(batches, epochs=3)), losses)
        shuffled = session(batch=2, options={"enableGradientAccumulation": True, "accumulationFactor": 2})
        self.assertNotEqual(list(shuffled.train({"x": X, "y": Y}, epochs=3, shuffle=1)), losses)

    def test_an_exception_of_the_data_ends_training_and_leaves_the_session(self):
        def batches():
            yield {"x": X, "y": Y}
            raise RuntimeError("no more")

        trained = session()
        losses = []
        with self.assertRaisesRegex(RuntimeError, "no more"):
            for loss in trained.train(batches()):
                losses.append(loss)
        self.assertEqual((len(losses), trained.steps), (1, 1))
        trained.step({"x": X, "y": Y})
        self.assertEqual(trained.steps, 2)

    def test_labels_of_any_integer_type_are_taken(self):
        labels = np.arange(8) % 2
        losses = set()
        for dtype in (np.int64, np.int32, np.uint8):
            trained = podium.TrainingSession(
                models.perceptron(8), loss="cross-entropy", target="label", optimizer="adamw,lr=0.01"
            )
            losses.add(trained.step({"x": X, "label": labels.astype(dtype)}))
        self.assertEqual(len(losses), 1)
        with self.assertRaisesRegex(podium.Error, "input 'label'"):
            trained.step({"x": X, "label": labels.astype(np.float32)})

    def test_a_pipeline_gives_the_weights_of_one_processor(self):
        options = {"enableGradientAccumulation": True, "accumulationFactor": 4, "accumulationAndReplicationReductionType": "Mean"}
        one = session(batch=2, options=options)
        pipelined = session(batch=2, options=options, virtual_graph_mode="auto", ipus=2, pipeline=True)
        for trained in (one, pipelined):
            trained.step({"x": X, "y": Y})
        for name, weight in one.weights().items():
            np.testing.assert_allclose(pipelined.weights()[name], weight, atol=1e-6)


class Saves(unittest.TestCase):
    def test_what_any_runtime_runs_and_a_session_goes_on_from(self):
        straight = session(optimizer=podium.Adam(lr=0.01))
        for _ in range(4):
            straight.step({"x": X, "y": Y})
        first = session(optimizer=podium.Adam(lr=0.01))
        for _ in range(2):
            first.step({"x": X, "y": Y})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trained.onnx")
            first.save(path)
            scores = podium.InferenceSession(path, dims=None).run({"x": X})["scores"]
            w = first.weights()
            np.testing.assert_allclose(scores, np.maximum(X @ w["w1"], 0) @ w["w2"], rtol=1e-5)
            loaded = session(optimizer=podium.Adam(lr=0.01))
            loaded.load(path)
            resumed = session(optimizer=podium.Adam(lr=0.01), resume=path)
        for trained in (loaded, resumed):
            for _ in range(2):
                trained.step({"x": X, "y": Y})
            for name, weight in straight.weights().items():
                np.testing.assert_array_equal(trained.weights()[name], weight)

    def test_weights_and_states_are_set_and_are_copies(self):
        trained = session(optimizer=podium.SGD(lr=0.1, momentum=0.9))
        trained.set_weights({"w1": np.zeros((4, 3), np.float32)})
        self.assertEqual(np.abs(trained.weights()["w1"]).sum(), 0)
        trained.weights()["w1"][:] = 7
        self.assertEqual(np.abs(trained.weights()["w1"]).sum(), 0)
        self.assertGreater(len(trained.optimizer_state()), 0)
        with self.assertRaises(podium.Error):
            trained.set_weights({"w1": np.zeros((3, 4), np.float32)})


class Optimizers(unittest.TestCase):
    def test_every_one_of_the_command_line_has_a_class(self):
        from podium._native import _podium

        classes = {podium.SGD, podium.Adam, podium.AdamW, podium.AdaMax, podium.Lamb, podium.AdaGrad, podium.RMSProp,
                   podium.AdaDelta, podium.Lion}
        self.assertEqual({one._name for one in classes}, set(_podium.optimizer_names()))
        for one in classes:
            session(optimizer=one(lr=0.01)).step({"x": X, "y": Y})

    def test_a_wrong_name_or_value_is_refused_when_it_is_made(self):
        with self.assertRaisesRegex(podium.Error, "nearest is 'momentum'"):
            podium.SGD(momentun=0.9)
        with self.assertRaisesRegex(podium.Error, "adamw"):
            podium.Optimizer("adamv")


if __name__ == "__main__":
    unittest.main()
