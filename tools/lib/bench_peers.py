"""Podium beside ONNX Runtime and PyTorch on the same files; tools/bench-peers calls it.

Each program is a process of its own in each round. Podium's inference is `podium run`, its training `import podium`.
The time of a round is the median of its runs. Start is the whole process with one run: the median of as many, in turn,
after one that nobody counts. Memory is the most that the process ever held."""
import argparse
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import quantized_weights

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build", "release")
LIB = os.path.join(ROOT, "tools", "lib")
PEERS = os.environ.get("PODIUM_PEERS", "")

INFERENCE = ["resnet50", "resnet50 batch=8", "resnet18", "mobilenet-v2", "unet", "bert form=ops", "gpt2 form=ops",
             "gpt2 form=ops sequence=1 past=128", "gpt2 form=ops sequence=1 past=128 int8",
             "gpt2 form=ops sequence=1 past=128 dynamic-int8", "gpt2 form=ops sequence=1 past=128 int4",
             "resnet18 dynamic-int8", "lstm", "lstm batch=8", "mnist-mlp batch=8", "mnist-cnn batch=40"]
TRAINING = ["resnet18 batch=8 norm=training", "resnet50 batch=8 norm=training",
            "bert form=ops layers=2 hidden=512 heads=8 batch=8", "mnist-cnn batch=40", "mnist-mlp batch=8",
            "lstm batch=8"]


def podium_inference(case, threads, seconds, folder):
    report = os.path.join(folder, "report.json")
    repeat = 1 if seconds == 0 else max(5, min(20000, int(seconds * 1e3 / case.get("guess", 50))))
    # A machine on which each of the models fits: what does not is not run.
    command = [os.path.join(BUILD, "podium"), "run", case["model"], "--threads", str(threads), "--repeat", str(repeat),
               "--device", "a100-80", "--inputs", case["folder"], "--report", report, "--quiet"]
    command += ["--cache", os.path.join(folder, "cache")] if case.get("cache") else []
    used = run(command, {})
    if "error" in used:
        return used
    with open(report) as file:
        found = json.load(file)
    case["flop"] = found["flop"]
    case["guess"] = found["realPercentiles"]["p50"] * 1e3 if repeat > 1 else case.get("guess", 50)
    return {**used, "milliseconds": found["realPercentiles"]["p50"] * 1e3 if repeat > 1 else None}


TRAIN = """
import json, sys, time, statistics
import numpy as np
import podium
spec = json.load(open(sys.argv[1]))
feeds = {e["name"]: np.fromfile(e["file"], e["type"]).reshape(e["dims"]) for e in spec["inputs"]}
session = podium.TrainingSession(spec["model"], loss_tensor="loss", optimizer=podium.Adam(lr=1e-5),
                                 threads=spec["threads"], device="a100-80")
session.step(feeds)
times, begin = [], time.perf_counter()
while spec["seconds"] > 0 and (len(times) < 5 or time.perf_counter() - begin < spec["seconds"]):
    start = time.perf_counter()
    session.step(feeds)
    times.append((time.perf_counter() - start) * 1e3)
print(json.dumps({"milliseconds": statistics.median(times) if times else None, "flop": session.report()["flop"]}))
"""


def podium_training(case, threads, seconds, folder):
    used = run(["/usr/bin/python3", "-c", TRAIN, spec_of(case, threads, seconds, folder)],
               {"PYTHONPATH": os.path.join(BUILD, "python")})
    case["flop"] = used.get("flop", 0)
    return used


def podium(case, threads, seconds, folder):
    return (podium_training if case["train"] else podium_inference)(case, threads, seconds, folder)


def onnx_runtime(case, threads, seconds, folder):
    if case["train"]:
        return {"error": "inference only"}
    return run(["node", os.path.join(LIB, "bench_ort.cjs"), spec_of(case, threads, seconds, folder)], {})


def has_avx512():
    with open("/proc/cpuinfo") as file:
        return "avx512f" in file.read()


def pytorch(case, threads, seconds, folder):
    library = os.path.join(PEERS, "libsgemm_by_onednn.so")
    kept = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
            "MALLOC_TOP_PAD_": str(1 << 26), "LD_PRELOAD": library,
            "OMP_NUM_THREADS": str(threads)}
    if has_avx512():  # which it leaves alone by itself
        kept["ATEN_CPU_CAPABILITY"] = "avx512"
    return run(["/usr/bin/python3", os.path.join(LIB, "bench_torch.py"), spec_of(case, threads, seconds, folder)], kept)


PROGRAMS = {"podium": podium, "onnxruntime": onnx_runtime, "pytorch": pytorch}


def spec_of(case, threads, seconds, folder):
    path = os.path.join(folder, "spec.json")
    with open(path, "w") as file:
        json.dump({key: case[key] for key in ("model", "inputs", "train")} | {"threads": threads, "seconds": seconds},
                  file)
    return path


def run(command, environment):
    """What the process prints last, the time that it took and its peak memory."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **environment})
    printed = process.stdout.read()
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    used = {"start": (time.perf_counter() - start) * 1e3, "megabytes": usage.ru_maxrss / 1024}
    lines = printed.strip().splitlines()
    if lines and lines[-1].startswith("{"):
        used.update(json.loads(lines[-1]))
    elif process.returncode != 0:
        used["error"] = (said.strip().splitlines() or ["no word"])[-1]
    return used


def make_case(text, train, folder):
    name = text.replace(" ", ",") + (",train" if train else "")
    path = os.path.join(folder, name + ".onnx")
    words = text.split() + (["loss=cross-entropy"] if train else [])
    kinds = [word for word in words if word in quantized_weights.KINDS]
    made = path if not kinds else os.path.join(folder, "whole.onnx")
    words = [word for word in words if word not in kinds]
    subprocess.run([os.path.join(BUILD, "podium-models"), *words, "-o", made], check=True)
    for kind in kinds:
        elsewhere(quantized_weights.quantize, made, kind, path)
    return {"name": text + (" (training)" if train else ""), "model": path, "train": train, "given": None}


def real_cases():
    cache = os.path.join(os.environ.get("PODIUM_CACHE", os.path.expanduser("~/.cache/podium")), "real-models")
    if not os.path.isdir(cache):
        return []
    cases = []
    for name in sorted(os.listdir(cache)):
        given = os.path.join(cache, name, "test_data_set_0")
        if os.path.isfile(os.path.join(given, "input_0.pb")):
            cases.append({"name": name, "model": os.path.join(cache, name, "model.onnx"), "train": False,
                          "given": given})
    return cases


def elsewhere(function, *arguments):
    """What the function gives in a process of its own: the memory that this one ever held counts for each that it
    starts."""
    with concurrent.futures.ProcessPoolExecutor(1) as process:
        return process.submit(function, *arguments).result()


def filled(case, folder):
    """With inputs as NAME.npy for Podium and raw for the others: those that came with the model, else random ones."""
    import onnx
    from onnx import numpy_helper
    model = onnx.load(case["model"], load_external_data=False)
    own = {tensor.name for tensor in model.graph.initializer}
    case["folder"] = os.path.join(folder, re.sub("[^a-z0-9]", "-", case["name"]))
    os.makedirs(case["folder"], exist_ok=True)
    case["inputs"] = []
    numbers = np.random.default_rng(0)
    for i, value in enumerate(v for v in model.graph.input if v.name not in own):
        if case["given"]:
            tensor = onnx.TensorProto()
            with open(os.path.join(case["given"], f"input_{i}.pb"), "rb") as file:
                tensor.ParseFromString(file.read())
            array = numpy_helper.to_array(tensor)
        else:
            dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            kind = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[value.type.tensor_type.elem_type]
            array = (numbers.standard_normal(dims) if kind.kind == "f" else numbers.integers(0, 2, dims)).astype(kind)
        np.save(os.path.join(case["folder"], value.name + ".npy"), array)
        raw = os.path.join(case["folder"], f"{i}.raw")
        array.tofile(raw)
        case["inputs"].append({"name": value.name, "type": str(array.dtype), "dims": list(array.shape), "file": raw})
    return case


def peak_gflops():
    printed = subprocess.run([os.path.join(BUILD, "tests", "podium_bench"), "--seconds", "0.01", "tiny-adds"],
                             capture_output=True, text=True).stdout
    return float(re.search(r"limit ([0-9.]+) GFLOP", printed).group(1))


def rotated(names, turn):
    """Each begins in some turns: whoever comes behind a large process waits while the system clears its memory."""
    names = list(names)
    first = turn % max(1, len(names))
    return names[first:] + names[:first]


def rounds_of(case, threads, settings, folder):
    """For each program its figures: medians of the rounds, of starts, and the memory of a run alone."""
    found = {}
    for turn in range(settings.rounds + 1):
        for name in rotated(PROGRAMS if turn == 0 else found, turn):
            first = PROGRAMS[name](case, threads, 0, folder)
            if "error" in first:
                print(f"{case['name']}, {threads} threads: {name} has no figures: {first['error']}", file=sys.stderr)
            elif turn == 0:
                found[name] = {"starts": [], "megabytes": 0, "rounds": []}
            else:
                found[name]["starts"].append(first["start"])
                found[name]["megabytes"] = max(found[name]["megabytes"], first["megabytes"])
    for turn in range(settings.rounds):
        for name in rotated(found, turn):
            used = PROGRAMS[name](case, threads, settings.seconds, folder)
            found[name]["rounds"].append(used["milliseconds"])
    return found


def row_of(case, threads, found, peak):
    row = {"model": case["name"], "threads": threads, "programs": {}}
    own = found.get("podium")
    for name, figures in found.items():
        entry = {"milliseconds": statistics.median(figures["rounds"]), "start": statistics.median(figures["starts"]),
                 "megabytes": figures["megabytes"]}
        if name != "podium" and own:
            ratios = sorted(peer / ours for peer, ours in zip(figures["rounds"], own["rounds"]))
            entry["ratio"] = statistics.median(ratios)
            entry["spread"] = [ratios[0], ratios[-1]]
        row["programs"][name] = entry
    if own:
        row["percentOfPeak"] = 100 * case["flop"] / statistics.median(own["rounds"]) / 1e6 / peak / threads
    return row


def line_of(row):
    text = f"{row['model']:<50} {row['threads']}"
    for name in PROGRAMS:
        entry = row["programs"].get(name)
        if entry is None:
            text += f"{'-':>44}" if name != "podium" else f"{'-':>36}"
            continue
        ratio = ""
        if name != "podium":
            ratio = f"{entry['ratio']:5.2f} ({entry['spread'][0]:.2f}-{entry['spread'][1]:.2f})" \
                if "ratio" in entry else ""
            ratio = f"{ratio:>18}"
        else:
            ratio = f"{row['percentOfPeak']:9.1f}%"
        text += f"{entry['milliseconds']:>10.3f}{ratio}{entry['start']:>8.0f}{entry['megabytes']:>8.0f}"
    return text


def main():
    parser = argparse.ArgumentParser(prog="tools/bench-peers", description=__doc__)
    parser.add_argument("--threads", default="1,2", help="numbers of threads")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a program in a round")
    parser.add_argument("--only", default="", help="models with this text in their name")
    parser.add_argument("--cache", action="store_true", help="Podium keeps packed weights from one process to the next")
    parser.add_argument("--json", help="file that gets the figures")
    settings = parser.parse_args()
    peak = peak_gflops()
    print(f"multiply-add limit {peak:.0f} GFLOP/s a core; ms: median of {settings.rounds} rounds; ratio: the peer's "
          "time over Podium's, median and range of the rounds;\nstart: ms of a process with one run; MB: the most "
          "that it held")
    head = f"{'model':<50} T{'podium ms':>10}{'of peak':>10}{'start':>8}{'MB':>8}"
    for name in ("onnxruntime", "pytorch"):
        head += f"{name:>10.10}{'ratio':>18}{'start':>8}{'MB':>8}"
    print(head)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        names = [(text, False) for text in INFERENCE] + [(text, True) for text in TRAINING]
        wanted = [(text, train) for text, train in names
                  if settings.only in text + (" (training)" if train else "")]
        makers = [lambda text=text, train=train: make_case(text, train, folder) for text, train in wanted]
        makers += [lambda case=case: case for case in real_cases() if settings.only in case["name"]]
        if not makers:
            sys.exit(f"error: --only {settings.only}: no model has this in its name")
        for make in makers:
            case = make()
            case["cache"] = settings.cache
            case = elsewhere(filled, case, folder)
            for threads in (int(word) for word in settings.threads.split(",")):
                row = row_of(case, threads, rounds_of(case, threads, settings, folder), peak)
                rows.append(row)
                print(line_of(row), flush=True)
    if settings.json:
        with open(settings.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
