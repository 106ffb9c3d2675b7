"""A classifier of digits: load, place, compare, look, train, save. python3 digits.py MODEL.onnx IMAGES LABELS FOLDER"""

import os
import sys

import numpy as np

import podium

model_file, images_file, labels_file, folder = sys.argv[1:]
images = np.fromfile(images_file, np.uint8, offset=16).reshape(-1, 1, 28, 28)
labels = np.fromfile(labels_file, np.uint8, offset=8)

# Load: symbolic dimensions get their numbers here.
model = podium.load(model_file)
print(model.info()["parameters"], "parameters;", ", ".join(f"{value.name} {value.shape}" for value in model.inputs))

# Place: the first layers on processor 0, all others on 1; or by cost, as here.
model.annotate(auto="pipeline", ipus=2)
print("stages:", [record["stage"] for record in model.placement()])

# Compare: what an update of 4 micro-batches costs, and whether every strategy gives the same numbers.
training = dict(loss="cross-entropy", target="label", optimizer=podium.AdamW(lr=1e-3))
for record in podium.compare(model, train=True, ipus=2, accumulate=4, estimate=True, **training)[:3]:
    print(f"{record['name']}: {1e3 * record['seconds']:.2f} ms, {record['bottleneck']}")

# Look: a report of the strategy that is chosen, as a page.
chosen = dict(virtual_graph_mode="manual", pipeline=True, accumulate=4, batches_per_step=2)
session = podium.TrainingSession(model, **chosen, **training, reduction="mean")
session.report().html(os.path.join(folder, "report.html"))

# Train.
for epoch in range(4):
    losses = list(session.train({"image": images, "label": labels}, shuffle=epoch))
    session.set_optimizer(podium.AdamW(lr=1e-3 * 0.7**epoch))
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}")

# Save: a model that any ONNX runtime runs.
session.save(os.path.join(folder, "trained.onnx"))
trained = podium.InferenceSession(os.path.join(folder, "trained.onnx"))
(image,) = trained.get_inputs()
right = [
    trained.run(None, {image.name: images[start : start + 40]})[0].argmax(1) == labels[start : start + 40]
    for start in range(0, 1000, 40)
]
print(f"{100 * np.mean(right):.0f} % are right")
