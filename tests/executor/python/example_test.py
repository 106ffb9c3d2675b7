"""models/examples/python/digits.py, as its README has it, on the digits that come with Podium."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import podium

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
MODELS = os.environ.get("PODIUM_MODELS", os.path.join(ROOT, "build/release/podium-models"))


class Example(unittest.TestCase):
    def test_places_compares_trains_and_saves(self):
        data = os.path.join(ROOT, "models/data")
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "cnn.onnx")
            subprocess.run([MODELS, "mnist-cnn", "batch=40", "pixels=byte", "-o", model], check=True, capture_output=True)
            script = os.path.join(ROOT, "models/examples/python/digits.py")
            digits = [os.path.join(data, f"digits-train-{part}-ubyte") for part in ("images-idx3", "labels-idx1")]
            found = subprocess.run([sys.executable, script, model, *digits, folder], capture_output=True, text=True,
                                   check=False)
            self.assertEqual(found.returncode, 0, found.stderr)
            right = int(re.search(r"(\d+) % are right", found.stdout).group(1))
            self.assertGreater(right, 75, found.stdout)
            losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", found.stdout)]
            self.assertEqual(losses, sorted(losses, reverse=True))
            with open(os.path.join(folder, "report.html"), encoding="utf-8") as page:
                self.assertIn("pipelined over 2", page.read())
            trained = podium.load(os.path.join(folder, "trained.onnx"))
            self.assertEqual([value.name for value in trained.inputs + trained.outputs], ["image", "logits"])


if __name__ == "__main__":
    unittest.main()
