"""Trains 784-64-10 on MNIST with plain NumPy and writes it as ONNX with 100 digits of the test set.

The model takes raw IDX bytes: image uint8[N,28,28] and label uint8[N]; it gives digit int64[N] and
accuracy float. Usage: make_demo_model.py FOLDER_WITH_MNIST OUTPUT_FOLDER
"""
import pathlib
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHIPPED = 100
SHIPPED_TO_TRAIN = 1000


def read_idx(path):
    data = path.read_bytes()
    rank = data[3]
    dims = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(dims)


def write_idx(path, array):
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(head + array.tobytes())


def train(images, labels, epochs=12, batch=100, rate=0.1, momentum=0.9):
    random = np.random.default_rng(0)
    x = images.reshape(len(images), 784).astype(np.float32) / 255
    sizes = (784, 64, 10)
    weights = [random.uniform(-1, 1, (a, b)).astype(np.float32) * np.sqrt(6 / (a + b)) for a, b in zip(sizes, sizes[1:])]
    biases = [np.zeros(b, np.float32) for b in sizes[1:]]
    parameters = [weights[0], biases[0], weights[1], biases[1]]
    speed = [np.zeros_like(p) for p in parameters]
    for epoch in range(epochs):
        order = random.permutation(len(x))
        for start in range(0, len(x), batch):
            rows = order[start : start + batch]
            hidden = np.maximum(x[rows] @ parameters[0] + parameters[1], 0)
            logits = hidden @ parameters[2] + parameters[3]
            error = np.exp(logits - logits.max(1, keepdims=True))
            error /= error.sum(1, keepdims=True)
            error[np.arange(len(rows)), labels[rows]] -= 1
            error /= len(rows)
            back = (error @ parameters[2].T) * (hidden > 0)
            gradients = [x[rows].T @ back, back.sum(0), hidden.T @ error, error.sum(0)]
            for i, gradient in enumerate(gradients):
                speed[i] = momentum * speed[i] - rate * 0.7**epoch * gradient
                parameters[i] += speed[i].astype(np.float32)
    return parameters


def build(parameters):
    names = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    initializers = [numpy_helper.from_array(p.astype(np.float32), n) for p, n in zip(parameters, names)]
    initializers.append(numpy_helper.from_array(np.array(1 / 255, np.float32), "scale"))
    nodes = [
        helper.make_node("Cast", ["image"], ["pixels"], "cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["pixels", "scale"], ["scaled"], "normalize"),
        helper.make_node("Flatten", ["scaled"], ["flat"], "flatten", axis=1),
        helper.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["hidden"], "fc1"),
        helper.make_node("Relu", ["hidden"], ["active"], "relu"),
        helper.make_node("Gemm", ["active", "fc2.weight", "fc2.bias"], ["logits"], "fc2"),
        helper.make_node("ArgMax", ["logits"], ["digit"], "argmax", axis=1, keepdims=0),
        helper.make_node("Cast", ["label"], ["wanted"], "cast_label", to=TensorProto.INT64),
        helper.make_node("Equal", ["digit", "wanted"], ["right"], "compare"),
        helper.make_node("Cast", ["right"], ["hit"], "cast_right", to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["hit"], ["accuracy"], "mean", keepdims=0),
    ]
    inputs = [
        helper.make_tensor_value_info("image", TensorProto.UINT8, ["N", 28, 28]),
        helper.make_tensor_value_info("label", TensorProto.UINT8, ["N"]),
    ]
    outputs = [
        helper.make_tensor_value_info("digit", TensorProto.INT64, ["N"]),
        helper.make_tensor_value_info("accuracy", TensorProto.FLOAT, []),
    ]
    graph = helper.make_graph(nodes, "mnist-demo", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="make_demo_model")
    model.ir_version = 7
    onnx.checker.check_model(model)
    return model


def main():
    source, target = (pathlib.Path(p) for p in sys.argv[1:3])
    images, labels = (read_idx(source / f"train-{n}-ubyte") for n in ("images-idx3", "labels-idx1"))
    test_images, test_labels = (read_idx(source / f"t10k-{n}-ubyte") for n in ("images-idx3", "labels-idx1"))
    parameters = train(images, labels)
    x = test_images.reshape(len(test_images), 784).astype(np.float32) / 255
    logits = np.maximum(x @ parameters[0] + parameters[1], 0) @ parameters[2] + parameters[3]
    print(f"accuracy on {len(x)} test images: {(logits.argmax(1) == test_labels).mean():.4f}")
    target.mkdir(parents=True, exist_ok=True)
    onnx.save(build(parameters), str(target / "mnist-demo.onnx"))
    write_idx(target / "digits-images-idx3-ubyte", test_images[:SHIPPED])
    write_idx(target / "digits-labels-idx1-ubyte", test_labels[:SHIPPED])
    write_idx(target / "digits-train-images-idx3-ubyte", images[:SHIPPED_TO_TRAIN])
    write_idx(target / "digits-train-labels-idx1-ubyte", labels[:SHIPPED_TO_TRAIN])


if __name__ == "__main__":
    main()
