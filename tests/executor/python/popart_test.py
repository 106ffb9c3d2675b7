"""PopART's interface: the shape of its scripts, and numbers that follow from their models."""

import os
import tempfile
import unittest

import numpy as np
import onnx
import podium
import podium.popart as popart

import models


def device(ipus=1, **options):
    return popart.DeviceManager().createIpuModelDevice({"numIPUs": ipus, **options})


def anchors_of(session, inputs):
    session.prepareDevice()
    session.weightsFromHost()
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO(inputs, anchors))
    return anchors


def two_layers(places=None):
    """x[2, 4] through two products to an L1 loss; `places` puts each product on an IPU."""
    builder = popart.Builder()
    x = builder.addInputTensor("FLOAT", [2, 4])
    values = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    weights = [builder.addInitializedInputTensor(values, "w0"), builder.addInitializedInputTensor(values.T.copy(), "w1")]
    made = x
    for i, weight in enumerate(weights):
        with builder.virtualGraph(i if places else 0), builder.pipelineStage(i if places else 0):
            made = builder.aiOnnx.tanh([builder.aiOnnx.matmul([made, weight])])
    with builder.virtualGraph(1 if places else 0), builder.pipelineStage(1 if places else 0):
        loss = builder.aiGraphcore.l1loss([made], 0.5, popart.ReductionType.Sum)
    return builder, x, weights, made, loss


def trained(pipelining, optimizer=None, steps=2, **settings):
    builder, x, weights, made, loss = two_layers(places=pipelining)
    options = popart.SessionOptions()
    options.enableGradientAccumulation = True
    options.accumulationFactor = 4
    if pipelining:
        options.enablePipelining = True
        options.virtualGraphMode = popart.VirtualGraphMode.Manual
    session = popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(2, {loss: popart.AnchorReturnType("Sum")}),
        loss,
        optimizer or popart.ConstSGD(0.1),
        device(2 if pipelining else 1),
        userOptions=options,
    )
    data = np.linspace(-1, 1, 2 * 4 * 8, dtype=np.float32).reshape(2, 4, 2, 4)
    for _ in range(steps):
        anchors = anchors_of(session, {x: data})
        session.weightsToHost()
    read = {weight: np.empty([4, 4], np.float32) for weight in weights}
    session.readWeights(popart.PyWeightsIO(read))
    return anchors[loss], [read[weight] for weight in weights], session, data, x


class Builders(unittest.TestCase):
    def test_name_tensors_as_popart_does(self):
        builder = popart.Builder()
        info = popart.TensorInfo("FLOAT", [2])
        self.assertEqual([builder.addInputTensor(info) for _ in range(2)], ["input", "input/1"])
        weight = builder.addInitializedInputTensor(np.ones(2, np.float32), "w")
        self.assertEqual([weight, builder.addInitializedInputTensor(np.ones(2, np.float32))], ["w", "init_input"])
        with builder.nameScope("layer"):
            self.assertEqual(builder.aiOnnx.add(["input", weight], "sum"), "layer/sum/Add:0")
        self.assertEqual(builder.aiOnnx.add(["input", weight]), "Add:0")
        self.assertEqual(builder.aiOnnx.add(["input", weight]), "Add:0/1")

    def test_take_attributes_by_place_and_by_name(self):
        builder = popart.Builder()
        x = builder.addInputTensor("FLOAT", [2, 3])
        y = builder.aiOnnx.gemm([x, x], 2.0, 0.5, False, True, "g")
        node = onnx.load_model_from_string(builder.getModelProto()).graph.node[0]
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        self.assertEqual(attributes, {"alpha": 2.0, "beta": 0.5, "transA": 0, "transB": 1})
        self.assertEqual(y, "g/Gemm:0")
        self.assertEqual(builder.aiOnnx.softmax([y], "s"), "s/Softmax:0")
        self.assertEqual(builder.getTensorShape(y), [2, 2])
        self.assertEqual(builder.getTensorDtypeString(builder.aiOnnx.cast([y], "FLOAT16")), "float16")

    def test_make_ops_that_take_their_attributes_as_popart_orders_them(self):
        x = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
        image = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
        sums = np.stack([x.sum(0), np.zeros(4, np.float32)])
        cases = {
            "split": (x, lambda b, i: b.aiOnnx.split(i, 2, 1, [1, 3])[1], x[:, 1:]),
            "topk": (x, lambda b, i: b.aiOnnx.topk([*i, b.aiOnnx.constant(np.array([1]))], 1)[0], x[:, 3:]),
            "averagepool": (image, lambda b, i: b.aiOnnx.averagepool(i, [2, 2], 0, 0, [0] * 4, [4, 4]), [[[[2.5]]]]),
            "reducesum": (x, lambda b, i: b.aiOnnx.reducesum(i, [0], False), x.sum(0)),
            "transpose": (x, lambda b, i: b.aiOnnx.transpose(i, [1, 0]), x.T),
            "logical_not": (x, lambda b, i: b.aiOnnx.logical_not([b.aiOnnx.less([*i, *i])]), x > 0),
            "subsample": (x, lambda b, i: b.aiGraphcore.subsample(i, [2, 3]), x[::2, ::3]),
            "slice": (x, lambda b, i: b.aiGraphcore.slice(i, [2], [1], [0]), x[1:2]),
            "sort": (x, lambda b, i: b.aiGraphcore.sort(i, 1, True)[0], x[:, ::-1]),
            "init": (
                x,
                lambda b, i: b.aiOnnx.add([*i, b.aiGraphcore.init([2, 4], popart.DataType.FLOAT, popart.InitType.Zero)]),
                x,
            ),
            "scatterreduce": (
                x,
                lambda b, i: b.aiGraphcore.scatterreduce(
                    [*i, b.aiOnnx.constant(np.zeros([2, 4], np.int32))], 2, 0, popart.ScatterReduction.Sum
                ),
                sums,
            ),
        }
        for name, (array, make, wanted) in cases.items():
            with self.subTest(name):
                builder = popart.Builder()
                fed = builder.addInputTensor(popart.TensorInfo(array))
                made = make(builder, [fed])
                session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(2, [made]), device())
                found = anchors_of(session, {fed: np.stack([array, array])})[made]
                np.testing.assert_array_equal(found[1], wanted)
                self.assertEqual(session.getInfo(made).shape(), list(np.shape(wanted)))

    def test_annotate_by_contexts_and_by_tensors(self):
        builder = popart.Builder()
        x = builder.addInputTensor("FLOAT", [2])
        with builder.virtualGraph(1), builder.pipelineStage(2), builder.executionPhase(3):
            with builder.virtualGraph(4), builder.recomputeOutput(popart.RecomputeType.Recompute):
                y = builder.aiOnnx.relu([x])
            self.assertEqual(builder.getVirtualGraph(), 1)
        self.assertEqual((builder.getVirtualGraph(y), builder.getPipelineStage(y), builder.getExecutionPhase(y)), (4, 2, 3))
        self.assertTrue(builder.getRecomputeOutputInBackwardPass(y))
        builder.virtualGraph(y, 0)
        self.assertEqual(builder.getVirtualGraph(y), 0)
        with self.assertRaisesRegex(popart.popart_exception, "Virtual graph not set in current scope"):
            builder.getVirtualGraph()
        with self.assertRaisesRegex(podium.Error, "no op makes it"):
            builder.virtualGraph(x, 0)

    def test_make_subgraphs(self):
        builder = popart.Builder()
        x = builder.addInputTensor("FLOAT", [2])
        body = builder.createSubgraphBuilder()
        a, b = body.addUntypedInputTensor(), body.addUntypedInputTensor()
        body.addOutputTensor(body.aiOnnx.sub([a, b]))
        (y,) = builder.aiGraphcore.call([x, builder.aiGraphcore.scale([x], 3.0)], 1, body)
        flag = builder.addInputTensor("BOOL", [])
        branches = []
        for factor in (10.0, 100.0):
            branch = builder.createSubgraphBuilder()
            branch.addInputTensorFromParentGraph(y)
            branch.addOutputTensor(branch.aiGraphcore.scale([y], factor))
            branches.append(branch)
        (z,) = builder.aiOnnx.logical_if([flag], 1, *branches)
        session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [z]), device())
        for is_true, factor in ((True, -200), (False, -20)):
            fed = {x: np.array([1, 2], np.float32), flag: np.array(is_true)}
            np.testing.assert_array_equal(anchors_of(session, fed)[z], np.array([1, 2]) * factor)

    def test_name_what_is_missing(self):
        builder = popart.Builder()
        for wrong, found in (
            (lambda: builder.aiOnnx.matmull(["x", "y"]), "no op 'matmull', the nearest is 'matmul'"),
            (lambda: builder.aiOnnx.relu(["x"], alpha=1), "no attribute 'alpha'"),
            (lambda: builder.aiOnnx.softmax(["x"], axis="last"), "attribute 'axis' is 'last', a value of type INT needed"),
            (lambda: builder.aiOnnx.transpose(["x"], 3), "attribute 'perm' is 3, a value of type INTS needed"),
            (lambda: builder.aiOnnxOpset11.relu(["x"]), "already defined as 10"),
            (lambda: builder.frobnicate(), "no 'frobnicate'"),
            (lambda: setattr(popart.SessionOptions(), "enablePipelines", True), "nearest is 'enablePipelining'"),
            (lambda: popart.AnchorReturnType("Every", 2), "Invalid anchor return type ID supplied: Every"),
            (lambda: popart.AnchorReturnType("EveryN"), "Must specify return period"),
            (lambda: popart.SGD({"defaultLearningRate": 0.1}), "a pair"),
            (lambda: device(tiles=3), "no option 'tiles'"),
        ):
            with self.assertRaisesRegex(podium.Error, found):
                wrong()
        with self.assertRaisesRegex(AttributeError, "podium.popart has no 'popxl'"):
            popart.popxl


class Sessions(unittest.TestCase):
    def test_return_anchors_as_they_are_asked_for(self):
        data = np.arange(1, 9, dtype=np.float32)
        cases = (("All", [], data), ("EveryN", [4], [4, 8]), ("Final", [], 8), ("Sum", [], 36))
        for name, period, wanted in cases:
            builder = popart.Builder()
            x = builder.addInputTensor("FLOAT", [])
            y = builder.aiOnnx.identity([x])
            flow = popart.DataFlow(8, {y: popart.AnchorReturnType(name, *period)})
            session = popart.InferenceSession(builder.getModelProto(), flow, device())
            np.testing.assert_array_equal(anchors_of(session, {x: data})[y], wanted)

    def test_pipelines_give_the_numbers_of_one_ipu(self):
        (one_loss, one, *_), (loss, weights, session, *_) = trained(False), trained(True)
        np.testing.assert_allclose(loss, one_loss, rtol=1e-6)
        for found, wanted in zip(weights, one):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
        self.assertEqual(len(session.getReport()["processors"]), 2)
        self.assertIn("samples per second", session.getSummaryReport())
        self.assertGreater(session.getCycleCount(), 0)

    def test_train_by_the_equations_of_the_optimizer(self):
        builder = popart.Builder()
        x = builder.addInputTensor("FLOAT", [2])
        w = builder.addInitializedInputTensor(np.array([1, 2], np.float32))
        loss = builder.aiGraphcore.identityloss([builder.aiOnnx.mul([x, w])], popart.ReductionType.Sum)
        optimizer = popart.SGD({"defaultLearningRate": (0.5, False), "lossScaling": (20, True)})
        optimizer.insertSpecific(w, {"weightDecay": (0.1, True)})
        session = popart.TrainingSession(builder.getModelProto(), popart.DataFlow(1, {}), loss, optimizer, device())
        anchors_of(session, {x: np.array([3, 4], np.float32)})
        faster = popart.SGD({"defaultLearningRate": (1.0, False), "lossScaling": (20, True)})
        faster.insertSpecific(w, {"weightDecay": (0.1, True)})
        session.updateOptimizerFromHost(faster)
        session.run(popart.PyStepIO({x: np.array([1, 1], np.float32)}, {}))
        session.weightsToHost()
        found = np.empty(2, np.float32)
        session.readWeights(popart.PyWeightsIO({w: found}))
        first = np.array([1, 2]) * (1 - 0.5 * 0.1) - 0.5 * np.array([3, 4])
        np.testing.assert_allclose(found, first * (1 - 0.1) - 1, rtol=1e-6)

    def test_take_every_optimizer(self):
        adam = {"defaultLearningRate": (0.01, False), "defaultBeta1": (0.7, True), "defaultEps": (1e-5, True)}
        rms = {"defaultLearningRate": (0.01, False), "defaultAlpha": (0.7, True)}
        clip = [popart.ClipNormSettings.clipAllWeights(0.5)]
        moved = set()
        for optimizer in (
            popart.SGD({"defaultLearningRate": (0.1, True), "defaultMomentum": (0.9, True)}, clip),
            popart.SGD({"defaultMomentum": (0.9, True)}, accumulatorAndMomentum=popart.SGDAccumulatorAndMomentum.Separate),
            *(popart.Adam(adam, mode=mode) for mode in popart.AdamMode),
            popart.Adam({**adam, "defaultWeightDecay": (0.1, True)}, popart.AdamMode.Adam),
            popart.Adam(
                {**adam, "defaultWeightDecay": (0.1, True)}, popart.AdamMode.Adam, popart.WeightDecayMode.L2Regularization
            ),
            *(popart.Adaptive(rms, mode=mode) for mode in popart.AdaptiveMode),
            popart.Adaptive(rms, popart.AdaptiveMode.RMSProp, rmspropTFVariant=True),
        ):
            moved.add(trained(False, optimizer)[1][0].tobytes())
        self.assertEqual(len(moved), 14)

    def test_train_then_infer_with_the_weights(self):
        builder, x, weights, made, loss = two_layers()
        options = popart.SessionOptions()
        options.constantWeights = False
        infer = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [made]), device(), userOptions=options)
        train = popart.TrainingSession(
            builder.getModelProto(), popart.DataFlow(1, [made]), loss, popart.ConstSGD(0.1), device()
        )
        data = {x: np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)}
        before = anchors_of(infer, data)[made]
        anchors_of(train, data)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trained.onnx")
            train.modelToHost(path)
            infer.resetHostWeights(path)
        after = anchors_of(infer, data)[made]
        self.assertFalse(np.allclose(before, after))
        np.testing.assert_allclose(after, anchors_of(train, data)[made], rtol=1e-6)

    def test_refuse_other_weights_where_they_are_constant(self):
        builder, x, weights, made, _ = two_layers()
        session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [made]), device())
        with self.assertRaisesRegex(podium.Error, "Cannot call resetHostWeights when constantWeights is set"):
            session.resetHostWeights(builder.getModelProto())

    def test_run_in_phases_with_weights_off_chip(self):
        builder = popart.Builder()
        x = made = builder.addInputTensor("FLOAT16", [4, 8, 8])
        values = np.random.default_rng(1).random([3, 8, 8]).astype(np.float16)
        for i in range(3):
            with builder.executionPhase(i):
                made = builder.aiOnnx.matmul([made, builder.addInitializedInputTensor(values[i])])
        options = popart.SessionOptions()
        options.constantWeights = False
        options.executionPhaseSettings.phases = 3
        options.virtualGraphMode = popart.VirtualGraphMode.ExecutionPhases
        options.numIOTiles = 128
        options.weightTensorLocationSettings.location.storage = popart.TensorStorage.OffChip
        machine = popart.DeviceManager().acquireAvailableDevice(2, pattern=popart.SyncPattern.ReplicaAndLadder)
        session = popart.InferenceSession(
            builder.getModelProto(), popart.DataFlow(2, [made]), machine, userOptions=options
        )
        data = np.random.default_rng(2).random([2, 4, 8, 8]).astype(np.float16)
        wanted = data.astype(np.float32)
        for weight in values:
            wanted = wanted @ weight.astype(np.float32)
        np.testing.assert_allclose(anchors_of(session, {x: data})[made], wanted, rtol=5e-3)
        self.assertIn("off chip", session.getReport()["strategy"])

    def test_give_and_take_micro_batches_by_callbacks(self):
        builder = popart.Builder()
        x = builder.addInputTensor("FLOAT", [2])
        y = builder.aiOnnx.neg([x])
        session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(3, [y]), device())
        session.prepareDevice()
        given, taken = iter(np.arange(6, dtype=np.float32).reshape(3, 2)), []

        def output(name):
            taken.append(np.empty(2, np.float32))
            return taken[-1]

        session.run(popart.PyStepIOCallback(lambda *_: next(given), lambda _: None, output, lambda _: None))
        np.testing.assert_array_equal(taken, -np.arange(6).reshape(3, 2))

    def test_say_what_does_not_fit(self):
        builder, x, weights, made, loss = two_layers()
        session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(3, [made]), device())
        for inputs, found in (
            ({x: np.zeros([2, 4], np.float32)}, "Expected 24, but received 8"),
            ({}, "input 'input' is missing"),
            ({x: np.zeros([3, 2, 4], np.float32), "z": np.zeros(1)}, "'z' has been provided"),
        ):
            with self.assertRaisesRegex(podium.Error, found):
                session.run(popart.PyStepIO(inputs, {}))
        big = popart.Builder()
        y = big.aiOnnx.matmul([big.addInputTensor("FLOAT", [4, 4096]), big.addInitializedInputTensor(np.ones([4096, 4096], np.float32))])
        small = popart.InferenceSession(big.getModelProto(), popart.DataFlow(1, [y]), device(tilesPerIPU=4))
        with self.assertRaises(popart.OutOfMemoryException):
            small.prepareDevice()

    def test_note_what_has_no_effect(self):
        builder, x, weights, made, loss = two_layers()
        options = popart.SessionOptions()
        options.enableStochasticRounding = True
        patterns = popart.Patterns(popart.PatternsLevel.Default).enablePattern("PadConv", False)
        patterns.InPlace = False
        session = popart.InferenceSession(
            builder.getModelProto(), popart.DataFlow(1, [made]), device(), None, patterns, options
        )
        notes = "\n".join(session.notes)
        self.assertIn("enableStochasticRounding", notes)
        self.assertIn("patterns PadConv, InPlace: no effect", notes)


    def test_divide_a_batch_over_replicas_and_micro_batches(self):
        data = np.random.default_rng(0).random([2, 16, 4]).astype(np.float32)
        for reduction in (popart.ReductionType.Sum, popart.ReductionType.Mean):
            found = []
            for replicas, accumulated in ((1, 1), (4, 1), (1, 4), (2, 2)):
                builder = popart.Builder()
                x = builder.addInputTensor("FLOAT", [16 // replicas // accumulated, 4])
                w = builder.addInitializedInputTensor(np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4))
                y = builder.aiOnnx.tanh([builder.aiOnnx.matmul([x, w])])
                loss = builder.aiGraphcore.l1loss([y], 0.1, reduction)
                options = popart.SessionOptions()
                options.enableReplicatedGraphs, options.replicatedGraphCount = replicas > 1, replicas
                options.enableGradientAccumulation, options.accumulationFactor = accumulated > 1, accumulated
                options.accumulationAndReplicationReductionType = reduction
                proto, flow, sgd = builder.getModelProto(), popart.DataFlow(2), popart.ConstSGD(0.1)
                session = popart.TrainingSession(proto, flow, loss, sgd, device(replicas), userOptions=options)
                anchors_of(session, {x: data})
                session.weightsToHost()
                found.append(np.empty([4, 4], np.float32))
                session.readWeights(popart.PyWeightsIO({w: found[-1]}))
            for weight in found[1:]:
                np.testing.assert_allclose(weight, found[0], rtol=1e-5, atol=1e-7)

    def test_read_weights_of_groups_and_of_replicas(self):
        values = np.array([[1, 2], [3, 4]], np.float32)
        for kind, groups in ((popart.CommGroupType.Consecutive, [0, 0, 1, 1]), (popart.CommGroupType.Orthogonal, [0, 1, 0, 1])):
            builder = popart.Builder()
            x = builder.addInputTensor("FLOAT", [2])
            group = popart.CommGroup(kind, 2)
            every = popart.VariableSettings(group, popart.VariableRetrievalMode.AllReplicas)
            self.assertEqual(every.shapeOnHost([2], 4), [4, 2])
            one = builder.addInitializedInputTensor(values, popart.VariableSettings(group))
            many = builder.addInitializedInputTensor(values, every)
            y = builder.aiOnnx.add([builder.aiOnnx.mul([x, one]), many])
            loss = builder.aiGraphcore.identityloss([y], popart.ReductionType.Sum)
            options = popart.SessionOptions()
            options.enableReplicatedGraphs, options.replicatedGraphCount = True, 4
            proto, flow, sgd = builder.getModelProto(), popart.DataFlow(1, [y]), popart.ConstSGD(0.5)
            session = popart.TrainingSession(proto, flow, loss, sgd, device(4), userOptions=options)
            anchors = anchors_of(session, {x: np.ones([4, 2], np.float32)})
            np.testing.assert_array_equal(anchors[y], 2 * values[groups])
            session.weightsToHost()
            read = {one: np.empty([2, 2], np.float32), many: np.empty([4, 2], np.float32)}
            session.readWeights(popart.PyWeightsIO(read))
            np.testing.assert_array_equal(read[one], values - 1)
            np.testing.assert_array_equal(read[many], values[groups] - 1)

    def test_go_on_from_a_model_whose_shapes_are_open(self):
        made = models.perceptron("n")
        builder = popart.Builder(made.SerializeToString())
        label = builder.addInputTensor("INT32", ["n"])
        loss = builder.aiGraphcore.nllloss([builder.aiOnnx.softmax(["scores"], 1), label], popart.ReductionType.Sum)
        shapes = popart.InputShapeInfo()
        shapes.add("x", popart.TensorInfo("FLOAT", [2, 4]))
        flow = popart.DataFlow(1, [loss, "scores"])
        make = popart.TrainingSession
        with self.assertRaisesRegex(podium.Error, "'input' must be specified in InputShapeInfo"):
            make(builder.getModelProto(), flow, loss, popart.ConstSGD(0.1), device(), shapes)
        shapes.add(label, popart.TensorInfo("INT32", [2]))
        session = make(builder.getModelProto(), flow, loss, popart.ConstSGD(0.1), device(), shapes)
        x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
        anchors = anchors_of(session, {"x": x, label: np.array([0, 1], np.int32)})
        scores = models.scores_of(x)
        wanted = np.log(np.exp(scores).sum(1)) - scores[[0, 1], [0, 1]]
        np.testing.assert_allclose(anchors["scores"], scores, rtol=1e-5)
        np.testing.assert_allclose(anchors[loss], wanted.sum(), rtol=1e-5)

    def test_train_the_sum_of_losses_that_are_objects(self):
        data = {"x": np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4), "label": np.array([0, 3], np.int32)}
        shapes = popart.InputShapeInfo()
        shapes.add("label", popart.TensorInfo("INT32", [2]))
        options = popart.SessionOptions()
        options.virtualGraphMode = popart.VirtualGraphMode.Manual
        optimizer = popart.ConstSGD(0.1)
        found = []
        for as_objects in (True, False):
            builder = popart.Builder()
            x = builder.addInputTensor("FLOAT", [2, 4], "x")
            weight = builder.addInitializedInputTensor(np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4), "w")
            with builder.virtualGraph(0):
                scores = builder.aiOnnx.matmul([x, weight])
            with builder.virtualGraph(1):
                probs = builder.aiOnnx.softmax([scores])
                if not as_objects:
                    label = builder.addInputTensor("INT32", [2], "label")
                    nll = builder.aiGraphcore.nllloss([probs, label], popart.ReductionType.Mean, 1)
                    total = builder.aiOnnx.add([nll, builder.aiGraphcore.l1loss([scores], 0.1, popart.ReductionType.Sum)])
            if as_objects:
                losses = [
                    popart.NllLoss(probs, "label", "nll", 1, popart.ReductionType.Mean),
                    popart.L1Loss(scores, "l1", 0.1),
                ]
                for loss in losses:
                    loss.virtualGraph(1)
                nll = losses[0].output(0)
                session = popart.TrainingSession(
                    fnModel=builder.getModelProto(),
                    dataFeed=popart.DataFlow(1, [nll]),
                    losses=losses,
                    optimizer=optimizer,
                    deviceInfo=device(2),
                    inputShapeInfo=shapes,
                    userOptions=options,
                )
            else:
                session = popart.TrainingSession(
                    builder.getModelProto(), popart.DataFlow(1, [nll]), total, optimizer, device(2), userOptions=options
                )
            steps = []
            for _ in range(2):
                steps.append(anchors_of(session, data)[nll])
                session.weightsToHost()
            read = {"w": np.empty([4, 4], np.float32)}
            session.readWeights(popart.PyWeightsIO(read))
            found.append((*steps, read["w"]))
        for one, other in zip(*found):
            np.testing.assert_array_equal(one, other)
        self.assertNotEqual(found[0][0], found[0][1])

    def test_refuse_losses_that_are_none(self):
        builder, _, _, made, _ = two_layers()
        flow = popart.DataFlow(1, [made])
        for losses, line in (
            ([], "loss: none found"),
            ([made], "losses: str found"),
            (popart.NllLoss(made, "label", "nll"), "loss 'nll': 'label' is no tensor of the model"),
        ):
            with self.assertRaisesRegex(podium.Error, line):
                popart.TrainingSession(builder.getModelProto(), flow, losses, popart.ConstSGD(0.1), device())

    def test_evaluate_losses_that_are_objects(self):
        builder = popart.Builder()
        x = builder.addInputTensor("FLOAT", [2], "x")
        y = builder.aiOnnx.neg([x])
        loss = popart.IdentityLoss(y, "loss", popart.ReductionType.Mean)
        session = popart.InferenceSession(
            fnModel=builder.getModelProto(), dataFeed=popart.DataFlow(1, ["loss"]), losses=[loss], deviceInfo=device()
        )
        self.assertEqual(anchors_of(session, {x: np.array([1, 2], np.float32)})["loss"], -1.5)

    def test_drop_in_training_alone(self):
        ones = np.ones([4, 64], np.float32)
        for shaped in (False, True):
            builder = popart.Builder()
            x = builder.addInputTensor("FLOAT", [4, 64])
            w = builder.addInitializedInputTensor(ones)
            y = builder.aiOnnx.mul([x, w])
            y = builder.aiGraphcore.shapeddropout([y], [4, 1], 0.5) if shaped else builder.aiOnnx.dropout([y], 1, 0.5)[0]
            loss = builder.aiGraphcore.identityloss([y])
            proto, flow = builder.getModelProto(), popart.DataFlow(1, [y])
            train = popart.TrainingSession(proto, flow, loss, popart.ConstSGD(0.1), device())
            values = set(np.unique(anchors_of(train, {x: ones})[y]))
            self.assertTrue(values <= {0, 2} and (shaped or len(values) == 2), values)
            np.testing.assert_array_equal(anchors_of(popart.InferenceSession(proto, flow, device()), {x: ones})[y], ones)

    def test_draw_the_same_numbers_for_a_seed(self):
        builder = popart.Builder()
        x = builder.addInputTensor("FLOAT", [64])
        w = builder.addInitializedInputTensor(np.ones(64, np.float32))
        (y,) = builder.aiOnnx.dropout([builder.aiOnnx.mul([x, w])], 1, 0.5)
        loss = builder.aiGraphcore.identityloss([y])
        found = []
        for seed in (1, 1, 2):
            session = popart.TrainingSession(
                builder.getModelProto(), popart.DataFlow(1, [y]), loss, popart.ConstSGD(0.1), device()
            )
            session.setRandomSeed(seed)
            found.append(anchors_of(session, {x: np.ones(64, np.float32)})[y].tolist())
        self.assertEqual(found[0], found[1])
        self.assertNotEqual(found[0], found[2])
        with self.assertRaisesRegex(podium.Error, "before the first one needed"):
            session.setRandomSeed(3)


class Transformers(unittest.TestCase):
    def test_convert_floats_to_halfs(self):
        builder, x, weights, made, loss = two_layers()
        transformer = popart.GraphTransformer(builder.getModelProto())
        transformer.convertFloatsToHalfs()
        session = popart.InferenceSession(transformer.getModelProto(), popart.DataFlow(1, [made]), device())
        data = np.linspace(-1, 1, 8, dtype=np.float16).reshape(2, 4)
        found = anchors_of(session, {x: data})[made]
        wide = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [made]), device())
        self.assertEqual(found.dtype, np.float16)
        np.testing.assert_allclose(found, anchors_of(wide, {x: data.astype(np.float32)})[made], atol=5e-3)


if __name__ == "__main__":
    unittest.main()
