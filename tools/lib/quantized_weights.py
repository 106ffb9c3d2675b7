"""The weights of a model's products in 8 bits, in the two ways in which exporters write them; bench_peers.py times both.

`int8`: a DequantizeLinear in front of each product. `dynamic-int8`: its other operand in 8 bits, too, by
DynamicQuantizeLinear, and a MatMulInteger, as ONNX Runtime's own tool writes it. Each column has a scale of its own."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

KINDS = ("int8", "dynamic-int8")


def quantize(source, kind, target):
    model = onnx.load(source)
    graph = model.graph
    known = {tensor.name: tensor for tensor in graph.initializer}
    transposed = {node.output[0]: known[node.input[0]] for node in graph.node
                  if node.op_type == "Transpose" and node.input[0] in known}
    nodes, added = [], []
    for node in graph.node:
        weights = weights_of(node, known, transposed)
        if weights is None:
            nodes.append(node)
            continue
        name = f"quantized_{len(added)}"
        scale = (np.abs(weights).max(axis=0) / 127).astype(np.float32)
        scale[scale == 0] = 1
        added += [numpy_helper.from_array(np.round(weights / scale).astype(np.int8), name),
                  numpy_helper.from_array(scale, name + "_scale")]
        bias = node.input[2] if len(node.input) > 2 else None
        product = node.output[0] + "_product" if bias else node.output[0]
        make = dequantized_product if kind == "int8" else dynamic_product
        nodes += make(node.input[0], name, product)
        if bias:
            nodes.append(helper.make_node("Add", [product, bias], node.output))
    read = {name for node in nodes for name in node.input} | {output.name for output in graph.output}
    nodes = [node for node in nodes if any(name in read for name in node.output)]
    kept = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept + added)
    onnx.save(model, target)


def weights_of(node, known, transposed):
    """The matrix of a MatMul or Gemm, [inner, columns]; None where it is not known."""
    if node.op_type not in ("MatMul", "Gemm"):
        return None
    name = node.input[1]
    is_turned = name in transposed
    if not is_turned and (name not in known or len(known[name].dims) != 2):
        return None
    weights = numpy_helper.to_array(transposed[name] if is_turned else known[name])
    flags = {attribute.name: attribute.i for attribute in node.attribute}
    return weights.T if is_turned != bool(flags.get("transB", 0)) else weights


def dequantized_product(x, name, y):
    return [helper.make_node("DequantizeLinear", [name, name + "_scale"], [name + "_wide"], axis=1),
            helper.make_node("MatMul", [x, name + "_wide"], [y])]


def dynamic_product(x, name, y):
    return [helper.make_node("DynamicQuantizeLinear", [x], [name + "_x", name + "_x_scale", name + "_x_zero"]),
            helper.make_node("MatMulInteger", [name + "_x", name, name + "_x_zero"], [name + "_sums"]),
            helper.make_node("Cast", [name + "_sums"], [name + "_wide"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", [name + "_x_scale", name + "_scale"], [name + "_scales"]),
            helper.make_node("Mul", [name + "_wide", name + "_scales"], [y])]
