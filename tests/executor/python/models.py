"""Small models that the tests share."""

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def make(nodes, inputs, outputs, constants=(), opset=17) -> ModelProto:
    """Inputs and outputs are (name, element type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    return model


W1 = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
W2 = np.linspace(1, -1, 6, dtype=np.float32).reshape(3, 2)


def perceptron(batch=2) -> ModelProto:
    """x[batch, 4] -> scores[batch, 2] through "fc1", "act", "fc2"."""
    return make(
        [
            helper.make_node("MatMul", ["x", "w1"], ["h"], name="fc1"),
            helper.make_node("Relu", ["h"], ["r"], name="act"),
            helper.make_node("MatMul", ["r", "w2"], ["scores"], name="fc2"),
        ],
        [("x", TensorProto.FLOAT, [batch, 4])],
        [("scores", TensorProto.FLOAT, [batch, 2])],
        [("w1", W1), ("w2", W2)],
    )


def scores_of(x):
    """What the perceptron gives."""
    return np.maximum(x @ W1, 0) @ W2


def one_op(op, element, shape, out_element=None, **attributes) -> ModelProto:
    """y = op(x)."""
    return make(
        [helper.make_node(op, ["x"], ["y"], **attributes)],
        [("x", element, shape)],
        [("y", out_element or element, None)],
    )
