"""ONNX's own runner (onnx.backend.test) over podium.backend: its node, simple and converted cases."""

import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

import models
import podium.backend

# Debian's onnx 1.12 names it, numpy 1.24 has it no more.
if not hasattr(np, "object"):
    np.object = object

import onnx.backend.test  # noqa: E402

# Why a case of the package says nothing of a backend.
NOT_TESTED = {
    # Values are random; ONNX defines no generator.
    r"test_bernoulli": "random values",
    # Expected numbers were computed with epsilon 0.01, which the model leaves out.
    r"test_adam_multiple": "wrong expectation",
    # Expected bfloat16 numbers were cut off instead of rounded, and lie in uint16.
    r"test_cast(like)?_FLOAT_to_BFLOAT16": "wrong expectation",
    # The runner takes the length of the scalars in the sequence that comes back.
    r"test_loop16_seq_none": "the runner fails",
}


class OfOurs(unittest.TestCase):
    def test_prepares_and_runs_models_of_any_shape(self):
        prepared = podium.backend.prepare(models.perceptron("N"))
        for batch in (1, 3):
            x = np.ones((batch, 4), np.float32)
            np.testing.assert_allclose(prepared.run([x])[0], models.scores_of(x), rtol=1e-6)
            self.assertEqual(prepared.run(x).scores.shape, (batch, 2))

    def test_runs_a_node(self):
        node = helper.make_node("Add", ["a", "b"], ["c"])
        (c,) = podium.backend.run_node(node, [np.ones(3, np.float32), np.ones(3, np.float32)])
        self.assertEqual(c.tolist(), [2, 2, 2])

    def test_rounds_bfloat16_as_onnx_reads_it(self):
        model = models.one_op("Neg", TensorProto.BFLOAT16, [3])
        (y,) = podium.backend.run_model(model, [np.array([1.0, 3.14159, np.inf], np.float32)])
        self.assertEqual(np.asarray(y, np.float32).tolist(), [-1.0, -3.140625, -np.inf])

    def test_supports_the_cpu(self):
        self.assertTrue(podium.backend.supports_device("CPU"))
        self.assertFalse(podium.backend.supports_device("CUDA"))


def load_tests(loader, tests, pattern):
    runner = onnx.backend.test.BackendTest(podium.backend, __name__)
    for name, case in runner.test_cases.items():
        if "Real" in name:  # models that it would download
            continue
        for test in loader.loadTestsFromTestCase(case):
            method = test._testMethodName
            if method.endswith("_cpu") and not any(re.match(one, method) for one in NOT_TESTED):
                tests.addTest(test)
    return tests


if __name__ == "__main__":
    unittest.main()
