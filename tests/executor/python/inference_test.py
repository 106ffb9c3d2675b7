"""podium.InferenceSession: numbers, call forms, strategies, what arrays may be, how it ends."""

import gc
import importlib.util
import os
import resource
import signal
import threading
import time
import unittest

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper

import models
import podium

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


class Runs(unittest.TestCase):
    def test_a_dict_of_arrays_gives_a_dict_of_arrays(self):
        outputs = podium.InferenceSession(models.perceptron()).run({"x": X})
        self.assertEqual(list(outputs), ["scores"])
        np.testing.assert_allclose(outputs["scores"], models.scores_of(X), rtol=1e-6)

    def test_onnxruntimes_call_form_gives_lists(self):
        session = podium.InferenceSession(models.perceptron(), providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        self.assertEqual(name, "x")
        self.assertEqual(session.get_inputs()[0].type, "tensor(float)")
        self.assertEqual(session.get_inputs()[0].shape, [2, 4])
        self.assertEqual(session.get_outputs()[0].name, "scores")
        for names in (None, ["scores"]):
            (scores,) = session.run(names, {name: X})
            np.testing.assert_allclose(scores, models.scores_of(X), rtol=1e-5, atol=1e-5)
        with self.assertRaisesRegex(podium.Error, "'none' is no output"):
            session.run(["none"], {name: X})

    def test_a_dimension_without_number_takes_any(self):
        session = podium.InferenceSession(models.perceptron("N"))
        for batch in (1, 5, 3):
            x = np.random.default_rng(batch).random((batch, 4), np.float32)
            np.testing.assert_allclose(session.run({"x": x})["scores"], models.scores_of(x), rtol=1e-5)

    def test_a_pipeline_takes_the_micro_batches_of_a_step(self):
        session = podium.InferenceSession(
            models.perceptron(), device="ipu-pod16", virtual_graph_mode="auto", ipus=2, pipeline=True, batches_per_step=4
        )
        self.assertEqual(session.inputs[0].shape, [4, 2, 4])
        x = np.random.default_rng(0).random((4, 2, 4), np.float32)
        np.testing.assert_allclose(session.run({"x": x})["scores"], models.scores_of(x), rtol=1e-5)
        self.assertEqual(session.report()["processorsPerReplica"], 2)

    def test_options_may_have_poparts_names(self):
        options = {"virtualGraphMode": "Auto", "numIPUs": 2, "enablePipelining": True, "batchesPerStep": 4}
        session = podium.InferenceSession(models.perceptron(), options=options, batches_per_step=8)
        self.assertEqual(session.inputs[0].shape, [8, 2, 4], "a keyword goes before the options")
        with self.assertRaisesRegex(podium.Error, "options: .*'enablePipelinin', the nearest is 'enablePipelining'"):
            podium.InferenceSession(models.perceptron(), options={"enablePipelinin": True})

    def test_a_keyword_that_is_no_option_is_refused(self):
        with self.assertRaisesRegex(podium.Error, "'--pipelin', the nearest is '--pipeline'"):
            podium.InferenceSession(models.perceptron(), pipelin=True)

    def test_other_weights_are_set_where_they_are_not_constant(self):
        session = podium.InferenceSession(models.perceptron(), options={"constantWeights": False})
        session.set_weights({"w2": 2 * models.W2})
        np.testing.assert_allclose(session.run({"x": X})["scores"], 2 * models.scores_of(X), rtol=1e-5)
        with self.assertRaisesRegex(podium.Error, "'w3' is no weight"):
            session.set_weights({"w3": models.W2})

    def test_a_model_that_does_not_fit_says_so(self):
        model = models.one_op("Neg", TensorProto.FLOAT, [1 << 22])
        session = podium.InferenceSession(model, device=podium.Device("ipu-m2000", tile_memory_bytes=1024))
        self.assertFalse(session.can_run)
        self.assertFalse(session.report()["fits"])
        with self.assertRaisesRegex(podium.Error, "does not fit"):
            session.run({"x": np.zeros(1 << 22, np.float32)})

    def test_the_report_and_the_timeline_tell_of_the_run(self):
        session = podium.InferenceSession(models.perceptron(), events=True)
        session.run({"x": X})
        report = session.report()
        self.assertGreater(report["seconds"], 0)
        self.assertGreater(report["realSeconds"], 0)
        self.assertIn("time of a step", str(report))
        self.assertIn("<table>", session._repr_html_())
        self.assertGreater(len(session.timeline()["traceEvents"]), 3)
        with self.assertRaisesRegex(podium.Error, "events=True needed"):
            podium.InferenceSession(models.perceptron()).timeline()


class Arrays(unittest.TestCase):
    def run_op(self, x, op="Identity", element=TensorProto.FLOAT, **attributes):
        model = models.one_op(op, element, list(np.shape(x)), **attributes)
        return podium.InferenceSession(model).run({"x": x})["y"]

    def test_every_element_type_of_numpy_goes_in_and_out(self):
        for dtype in "?bBhHiIlLefd":
            x = np.arange(6).astype(dtype).reshape(2, 3)
            y = self.run_op(x, element=helper.np_dtype_to_tensor_dtype(x.dtype) if hasattr(
                helper, "np_dtype_to_tensor_dtype") else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[x.dtype])
            self.assertEqual(y.dtype, x.dtype)
            np.testing.assert_array_equal(y, x)

    def test_texts_go_in_and_out(self):
        for x in (np.array([["a", "ü"]]), np.array([["a", "ü"]], object)):
            y = self.run_op(x, element=TensorProto.STRING)
            self.assertEqual(y.tolist(), [["a", "ü"]])

    def test_bfloat16_comes_as_its_bits_without_ml_dtypes(self):
        bits = np.array([0x3F80, 0x4000], np.uint16)  # 1, 2
        y = self.run_op(bits, op="Neg", element=TensorProto.BFLOAT16)
        self.assertEqual(y.view(np.uint16).tolist(), [0xBF80, 0xC000])
        if importlib.util.find_spec("ml_dtypes"):
            return
        self.assertEqual(y.dtype, [("bfloat16", np.uint16)])
        self.assertEqual(self.run_op(y, op="Neg", element=TensorProto.BFLOAT16)["bfloat16"].tolist(), bits.tolist())
        with self.assertRaises(TypeError):
            y + y

    def test_says_what_to_install_for_bfloat16(self):
        line = r"input 'x': an array of float32 found, one of ml_dtypes.bfloat16 needed \(pip install ml_dtypes\), or its "
        with self.assertRaisesRegex(podium.Error, line + "bits in uint16"):
            self.run_op(np.float32([1]), element=TensorProto.BFLOAT16)

    def test_a_sequence_is_a_list(self):
        sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
        graph = helper.make_graph(
            [helper.make_node("SequenceLength", ["s"], ["n"]), helper.make_node("Identity", ["s"], ["t"])],
            "g",
            [sequence],
            [helper.make_tensor_value_info("n", TensorProto.INT64, []),
             helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])
        outputs = podium.InferenceSession(model).run({"s": [X, X[0]]})
        self.assertEqual(outputs["n"], 2)
        np.testing.assert_array_equal(outputs["t"][1], X[0])
        with self.assertRaisesRegex(podium.Error, "a list needed"):
            podium.InferenceSession(model).run({"s": X})

    def test_strides_byte_order_and_alignment_do_not_matter(self):
        raw = np.zeros(X.nbytes + 1, np.uint8)
        unaligned = raw[1:].view(np.float32).reshape(X.shape)
        unaligned[:] = X
        read_only = X.copy()
        read_only.setflags(write=False)
        for x in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1], X.astype(">f4"), unaligned,
                  read_only):
            np.testing.assert_array_equal(self.run_op(x, op="Neg"), -X)

    def test_what_does_not_fit_gets_one_line(self):
        session = podium.InferenceSession(models.perceptron())
        for feeds, text in (
            ({"x": X.astype(np.float64)}, r"input 'x': double\[2,4\] found, float\[2,4\] needed"),
            ({"x": X[:, :3]}, r"input 'x': float\[2,3\] found, float\[2,4\] needed"),
            ({}, "input 'x' is missing"),
            ({"y": X}, "'y' is no input, the nearest is 'x'"),
            ({"x": X, "y": X}, "'y' is no input"),
            ({"x": np.array([[None]])}, "input 'x': an array of objects found with a NoneType in it"),
            ({"x": object()}, "input 'x': "),
            ({"x": np.zeros((2, 4), "M8[s]")}, "input 'x': an array of datetime64.* found"),
            ({"x": np.zeros((2, 4), np.longdouble)}, "input 'x': an array of float128 found"),
            ({"x": np.zeros((2, 4), [("a", "f4")])}, "input 'x': an array of .* found"),
            ({1: X}, "no string|'x' is missing"),
        ):
            with self.subTest(text), self.assertRaisesRegex(podium.Error, text):
                session.run(feeds)
        with self.assertRaisesRegex(podium.Error, "feeds needed"):
            session.run(X)
        np.testing.assert_allclose(session.run({"x": X})["scores"], models.scores_of(X), rtol=1e-6)

    def test_an_output_is_the_callers(self):
        model = models.make(
            [helper.make_node("Identity", ["x"], ["same"]), helper.make_node("Identity", ["c"], ["constant"]),
             helper.make_node("Reshape", ["w", "shape"], ["view"])],
            [("x", TensorProto.FLOAT, [2, 4])],
            [(name, TensorProto.FLOAT, None) for name in ("same", "constant", "view")],
            [("c", np.ones(3, np.float32)), ("w", np.ones(4, np.float32)), ("shape", np.array([2, 2]))],
        )
        session = podium.InferenceSession(model)
        x = X.copy()
        first = session.run({"x": x})
        for array in first.values():
            array += 1
        np.testing.assert_array_equal(x, X)
        second = session.run({"x": x})
        np.testing.assert_array_equal(second["constant"], np.ones(3))
        np.testing.assert_array_equal(second["view"], np.ones((2, 2)))
        np.testing.assert_array_equal(first["same"], X + 1)

    def test_an_output_outlives_its_session_and_its_input(self):
        session = podium.InferenceSession(models.perceptron())
        x = X.copy()
        scores = session.run({"x": x})["scores"]
        later = session.run({"x": 2 * x})["scores"]
        del session, x
        gc.collect()
        np.testing.assert_allclose(scores, models.scores_of(X), rtol=1e-6)
        np.testing.assert_allclose(later, 2 * models.scores_of(X), rtol=1e-5)

    def test_a_hundred_megabytes_are_not_copied(self):
        count = 25 << 20
        session = podium.InferenceSession(models.one_op("Neg", TensorProto.FLOAT, [count]))
        x = np.ones(count, np.float32)
        addresses = [self._address_of_output(session, x) for _ in range(2)]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        addresses += [self._address_of_output(session, x) for _ in range(4)]
        self.assertEqual(set(addresses[2:]), set(addresses[:2]), "memory that nobody holds is used again")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
        self.assertLess(grown, 50 << 10, "in KiB: a copy would be 100 MiB")

    def _address_of_output(self, session, x):
        y = session.run({"x": x})["y"]
        self.assertFalse(y.flags.owndata)
        self.assertEqual(y[-1], -1)
        return y.ctypes.data


class Calls(unittest.TestCase):
    def test_a_run_costs_little_more_than_in_cpp(self):
        session = podium.InferenceSession(models.perceptron(), threads=1)
        beside = []
        for _ in range(3000):
            start = time.perf_counter()
            session.run({"x": X})
            beside.append(time.perf_counter() - start)
        wall = sorted(beside)[len(beside) // 4]
        inside = sorted(self._inside(session) for _ in range(200))[50]
        self.assertLess(wall - inside, 20e-6, f"{1e6 * wall:.1f} us, of which {1e6 * inside:.1f} in C++")

    @staticmethod
    def _inside(session):
        session.run({"x": X})
        return session.report()["realSeconds"]

    def test_threads_share_a_session(self):
        session = podium.InferenceSession(models.perceptron())
        wrong = []

        def work(scale):
            x = (scale * X).astype(np.float32)
            for _ in range(200):
                if not np.allclose(session.run({"x": x})["scores"], models.scores_of(x), rtol=1e-4, atol=1e-5):
                    wrong.append(scale)

        threads = [threading.Thread(target=work, args=(scale,)) for scale in (1, 2, 3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_report_can_be_had_while_a_session_runs(self):
        session = podium.InferenceSession(models.perceptron("N"))
        self.assertNotIn("time of a step", str(session.report()), "data decide sizes: no run, no times")
        threads = [threading.Thread(target=session.run, args=({"x": X},)) for _ in range(8)]
        for thread in threads:
            thread.start()
            session.report()
            session.notes
        for thread in threads:
            thread.join()
        self.assertGreater(session.report()["seconds"], 0)

    def test_models_are_annotated_while_others_make_sessions(self):
        model = podium.load(models.perceptron())
        made = []
        threads = [
            threading.Thread(target=lambda: made.append(podium.InferenceSession(model).run({"x": X}))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
            model.annotate("*", ipu=0)
            model.annotate(auto="shard", ipus=2)
        for thread in threads:
            thread.join()
        self.assertEqual(len(made), 8)

    def test_other_threads_go_on_while_a_session_runs(self):
        session = podium.InferenceSession(
            models.perceptron(), options={"syntheticDataMode": "Zeros", "batchesPerStep": 300000}
        )
        thread = threading.Thread(target=session.run, args=({},))
        thread.start()
        turns = 0
        while thread.is_alive():
            turns += 1
            time.sleep(1e-4)
        self.assertGreater(turns, 5)

    def test_an_interrupt_ends_a_run_and_the_session_runs_again(self):
        session = podium.InferenceSession(
            models.perceptron(), options={"syntheticDataMode": "Zeros", "batchesPerStep": 200_000_000}
        )

        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            for _ in range(2):
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                start = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    session.run({})
                self.assertLess(time.monotonic() - start, 20, "the run itself takes minutes")
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_an_interrupt_ends_a_loop_inside_an_op(self):
        model = onnx.parser.parse_model(
            """<ir_version: 10, opset_import: ["" : 21]>
            g (float[1] x) => (float[1] y) {
              n = Constant <value = int64 {4611686018427387904}> ()
              go = Constant <value = bool {1}> ()
              y = Loop <body = b (int64 i, bool c, float[1] v) => (bool d, float[1] w) {
                d = Identity (c)
                w = Add (v, v)
              }> (n, go, x)
            }"""
        )

        def interrupt(*_):
            raise KeyboardInterrupt

        session = podium.InferenceSession(model)
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            start = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                session.run({"x": np.ones(1, np.float32)})
            self.assertLess(time.monotonic() - start, 5)
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_a_forked_process_is_told_to_spawn(self):
        session = podium.InferenceSession(models.perceptron())
        session.run({"x": X})
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                session.run({"x": X})
                os.write(write, b"ran")
            except podium.Error as error:
                os.write(write, str(error).encode())
            os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with os.fdopen(read, "rb") as pipe:
            self.assertIn(b"'spawn'", pipe.read())


if __name__ == "__main__":
    unittest.main()
