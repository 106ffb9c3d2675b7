"""podium.load, and what a model tells, takes and writes; podium.Device."""

import os
import tempfile
import unittest

import numpy as np
import onnx

import models
import podium


class Loads(unittest.TestCase):
    def test_from_a_path_bytes_and_a_proto(self):
        proto = models.perceptron()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(proto, path)
            for source in (path, proto.SerializeToString(), proto):
                model = podium.load(source)
                self.assertEqual([value.name for value in model.inputs], ["x"])
                self.assertEqual(model.outputs[0].shape, [2, 2])
                self.assertEqual(model.outputs[0].dtype, "float32")

    def test_binds_symbolic_dimensions(self):
        proto = models.perceptron("N")
        self.assertEqual(podium.load(proto).inputs[0].shape, [None, 4])
        self.assertEqual(podium.load(proto, dims={"N": 7}).outputs[0].shape, [7, 2])
        with self.assertRaisesRegex(podium.Error, "M"):
            podium.load(proto, dims={"M": 7})

    def test_what_is_no_model_is_refused(self):
        for source, text in ((b"nonsense", ""), ("/nowhere/model.onnx", "/nowhere/model.onnx"), (3, "int found, a path")):
            with self.subTest(source), self.assertRaisesRegex(podium.Error, text):
                podium.load(source)

    def test_tells_ops_and_parameters(self):
        info = podium.load(models.perceptron()).info()
        self.assertEqual(info["ops"], {"MatMul": 2, "Relu": 1})
        self.assertEqual(info["parameters"], 18)


class Annotates(unittest.TestCase):
    def places(self, model, *keys):
        return {record["node"]: tuple(record[key] for key in keys) for record in model.placement()}

    def test_by_patterns_dicts_and_rules(self):
        for annotate in (
            lambda model: model.annotate("fc2", ipu=1).annotate("fc1", "act", ipu=0),
            lambda model: model.annotate({"fc*": {"ipu": 0}, "act": {"ipu": 0}, "fc2": {"ipu": 1}}),
            lambda model: model.annotate([{"match": "*", "ipu": 0}, {"match": "fc2", "ipu": 1}]),
        ):
            model = podium.load(models.perceptron())
            annotate(model)
            self.assertEqual(self.places(model, "ipu"), {"fc1": (0,), "act": (0,), "fc2": (1,)})

    def test_in_scopes_which_nest(self):
        model = podium.load(models.perceptron())
        with model.on("fc1", ipu=0, stage=0):
            model.annotate("act")
        with model.on(ipu=1):
            with model.on(stage=1):
                model.annotate("fc2")
        self.assertEqual(self.places(model, "ipu", "stage"), {"fc1": (0, 0), "act": (0, 0), "fc2": (1, 1)})

    def test_by_cost(self):
        model = podium.load(models.perceptron())
        model.annotate(auto="pipeline", ipus=2, device="ipu-pod16")
        self.assertEqual({place for place in self.places(model, "ipu", "stage").values()}, {(0, 0), (1, 1)})
        self.assertEqual(self.places(model.clear_annotations(), "ipu"), {"fc1": (0,), "act": (0,), "fc2": (0,)})

    def test_a_wrong_rule_changes_nothing(self):
        model = podium.load(models.perceptron())
        for rules, text in (
            ({"fc9": {"ipu": 1}}, "fc9"),
            ([{"match": "*", "ipu": 0}, {"match": "fc2", "ipu": -1}], "ipu"),
            ([{"match": "fc2", "ipi": 1}], "'ipi'"),
        ):
            with self.subTest(text), self.assertRaisesRegex(podium.Error, text):
                model.annotate(rules)
        with self.assertRaisesRegex(podium.Error, "nothing to annotate"):
            model.annotate()
        self.assertTrue(all(record["ipu"] == 0 for record in model.placement()))

    def test_is_saved_and_read_again(self):
        model = podium.load(models.perceptron()).annotate({"*": {"ipu": 0}, "fc2": {"ipu": 1}})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "placed.onnx")
            model.save(path)
            saved = onnx.load(path)
            numbers = {node.name: onnx.helper.get_attribute_value(node.attribute[0]) for node in saved.graph.node}
            self.assertEqual(numbers, {"fc1": 0, "act": 0, "fc2": 1})
            self.assertEqual(podium.load(path).placement()[-1]["ipu"], 1)


class Devices(unittest.TestCase):
    def test_are_read_changed_and_written(self):
        device = podium.Device("ipu-pod16")
        self.assertEqual(device.processors, 16)
        device.clock_hertz = 1.85e9
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.json")
            device.save(path)
            self.assertEqual(podium.Device(path), device)
        self.assertNotEqual(podium.Device("ipu-pod16"), device)
        self.assertIn("ipu-pod16", podium.Device.presets())

    def test_a_field_that_is_none_or_out_of_range_is_refused(self):
        device = podium.Device()
        with self.assertRaisesRegex(podium.Error, "clockHerz"):
            device.clockHerz = 1.0
        with self.assertRaisesRegex(podium.Error, "field 'processors' is 0"):
            device.processors = 0
        with self.assertRaises(AttributeError):
            device.clock_herz
        with self.assertRaisesRegex(podium.Error, "ipu-pod17"):
            podium.Device("ipu-pod17")

    def test_a_faster_clock_takes_less_time(self):
        seconds = [
            podium.estimate(models.perceptron(512), device=podium.Device("ipu-m2000", clock_hertz=clock))["seconds"]
            for clock in (1e9, 2e9)
        ]
        self.assertGreater(seconds[0], seconds[1])


class Compares(unittest.TestCase):
    def test_gives_records_with_the_difference_to_one_processor(self):
        records = podium.compare(models.perceptron(), ipus=2)
        self.assertGreater(len(records), 5)
        self.assertEqual(len(records.full), len(records))
        one = next(record for record in records if record["name"] == "one processor")
        self.assertEqual(one["difference"], 0)
        self.assertGreater(one["seconds"], 0)
        self.assertTrue(all(record["refused"] or record["difference"] < 1e-6 for record in records))

    def test_takes_strategies_of_ones_own_and_training(self):
        strategies = [{"name": "a"}, {"name": "b", "options": {"virtualGraphMode": "Auto", "numIPUs": 2}}]
        records = podium.compare(
            models.perceptron(), strategies=strategies, train=True, loss="mse", target="y", optimizer=podium.Adam(lr=0.1)
        )
        self.assertEqual({record["name"] for record in records}, {"a", "b"})
        self.assertTrue(all(record["difference"] is not None for record in records))

    def test_an_estimate_computes_nothing(self):
        report = podium.estimate(models.perceptron(), ipus=2, virtual_graph_mode="auto")
        self.assertTrue(report["estimate"])
        self.assertGreater(report["seconds"], 0)
        self.assertGreater(podium.estimate(models.perceptron(), loss="mse", target="y")["seconds"], 0)

    def test_a_report_is_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.html")
            podium.estimate(models.perceptron()).html(path)
            with open(path, encoding="utf-8") as page:
                self.assertIn("one processor", page.read())


if __name__ == "__main__":
    unittest.main()
