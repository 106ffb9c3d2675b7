"""The weights of a model in 8 or 4 bits, in the ways in which exporters write them; bench_peers.py times these.

`int8`: a DequantizeLinear in front of each product, whose columns have a scale each. `dynamic-int8`: the other operand in
8 bits, too, by DynamicQuantizeLinear, and a MatMulInteger or, with a zero point of the weights, a ConvInteger, as ONNX
Runtime's own tool writes them. `int4`: a MatMulNBits, whose columns have a scale for each 32 weights."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

KINDS = ("int8", "dynamic-int8", "int4")
BLOCK = 32  # weights of 4 bits that share a scale


def quantize(source, kind, target):
    model = onnx.load(source)
    graph = model.graph
    known = {tensor.name: tensor for tensor in graph.initializer}
    transposed = {node.output[0]: known[node.input[0]] for node in graph.node
                  if node.op_type == "Transpose" and node.input[0] in known}
    nodes, added = [], []
    for node in graph.node:
        if kind == "dynamic-int8" and node.op_type == "Conv" and node.input[1] in known:
            nodes += dynamic_convolution(node, numpy_helper.to_array(known[node.input[1]]), added)
            continue
        weights = weights_of(node, known, transposed)
        if weights is None or (kind == "int4" and weights.shape[0] % BLOCK != 0):
            nodes.append(node)
            continue
        name = f"quantized_{len(added)}"
        bias = node.input[2] if len(node.input) > 2 else None
        product = node.output[0] + "_product" if bias else node.output[0]
        if kind == "int4":
            nodes += four_bit_product(node.input[0], weights, name, product, added)
        else:
            scale = (np.abs(weights).max(axis=0) / 127).astype(np.float32)
            scale[scale == 0] = 1
            added += [numpy_helper.from_array(np.round(weights / scale).astype(np.int8), name),
                      numpy_helper.from_array(scale, name + "_scale")]
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
    if kind == "int4":
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
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
            *scaled_sums(name, y)]


def scaled_sums(name, y):
    return [helper.make_node("Cast", [name + "_sums"], [name + "_wide"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", [name + "_x_scale", name + "_scale"], [name + "_scales"]),
            helper.make_node("Mul", [name + "_wide", name + "_scales"], [y])]


def dynamic_convolution(node, weights, added):
    name = f"quantized_{len(added)}"
    low, high = min(0, float(weights.min())), max(0, float(weights.max()))
    scale = (high - low) / 255 or 1
    zero = round(-low / scale)
    added += [numpy_helper.from_array(np.clip(np.round(weights / scale) + zero, 0, 255).astype(np.uint8), name),
              numpy_helper.from_array(np.uint8(zero), name + "_zero"),
              numpy_helper.from_array(np.float32(scale), name + "_scale")]
    sums = helper.make_node("ConvInteger", [name + "_x", name, name + "_x_zero", name + "_zero"], [name + "_sums"])
    sums.attribute.extend(node.attribute)
    bias = node.input[2] if len(node.input) > 2 else None
    product = node.output[0] + "_product" if bias else node.output[0]
    nodes = [helper.make_node("DynamicQuantizeLinear", [node.input[0]],
                              [name + "_x", name + "_x_scale", name + "_x_zero"]),
             sums, *scaled_sums(name, product)]
    if bias:
        shape = np.array([1, -1] + [1] * (weights.ndim - 2), np.int64)
        added.append(numpy_helper.from_array(shape, name + "_shape"))
        nodes += [helper.make_node("Reshape", [bias, name + "_shape"], [name + "_bias"]),
                  helper.make_node("Add", [product, name + "_bias"], node.output)]
    return nodes


def four_bit_product(x, weights, name, y, added):
    inner, columns = weights.shape
    blocks = weights.T.reshape(columns, inner // BLOCK, BLOCK)
    scale = (np.abs(blocks).max(axis=2) / 7).astype(np.float32)
    scale[scale == 0] = 1
    numbers = (np.round(blocks / scale[..., None]) + 8).astype(np.uint8)
    added += [numpy_helper.from_array(numbers[..., 0::2] | numbers[..., 1::2] << 4, name),
              numpy_helper.from_array(scale.reshape(-1), name + "_scale")]
    return [helper.make_node("MatMulNBits", [x, name, name + "_scale"], [y], domain="com.microsoft", K=inner, N=columns,
                             bits=4, block_size=BLOCK)]
