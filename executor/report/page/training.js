// What happened while the model trained.
import {chart} from "./chart.js";
import {el, section} from "./dom.js";
import {colourOf} from "./colours.js";
import {count, duration, percentage} from "./format.js";
import {table} from "./table.js";

const shareText = (value) => (value === undefined || value === null ? "" : percentage(value));
const numberText = (value) => (value === undefined || value === null ? "" : value.toFixed(4));

/// Curves over steps and the table of epochs.
export function trainingPart(report) {
  const {steps, epochs} = report.training;
  const ofSteps = (key) => steps.map((step, i) => [i + 1, step[key]]);
  const ofEpochs = (key) =>
    epochs.filter((epoch) => epoch[key] !== undefined).map((epoch) => [epoch.steps, epoch[key]]);
  const last = epochs[epochs.length - 1];
  const real = epochs.reduce((sum, epoch) => sum + epoch.realSeconds, 0);
  const simulated = epochs.reduce((sum, epoch) => sum + epoch.simulatedSeconds, 0);
  const has = (key) => epochs.some((epoch) => epoch[key] !== undefined);
  const rows = epochs.map((epoch, i) => ({...epoch, number: i + 1}));
  return [
    el(
      "p",
      {class: "verdict"},
      last
        ? `After ${count(last.steps)} step${last.steps === 1 ? "" : "s"} the loss is ${last.loss.toFixed(4)}${last.accuracy === undefined ? "" : `, ${percentage(last.accuracy)} right`}${last.heldOutAccuracy === undefined ? "" : `; ${percentage(last.heldOutAccuracy)} right of what was held out`}. It took ${duration(real)} on this machine, and would take ${duration(simulated)} on ${report.device}.`
        : "No epoch ended.",
    ),
    section(
      "Training",
      el(
        "div",
        {class: "charts"},
        chart({
          last: steps.length,
          title: "loss",
          lines: [
            {name: "loss of a step", colour: colourOf(4), points: ofSteps("loss")},
            {name: "mean of an epoch", colour: colourOf(0), points: ofEpochs("loss")},
            {name: "held-out loss", colour: colourOf(5), dash: "6 3", points: ofEpochs("heldOutLoss")},
          ],
        }),
        chart({
          last: steps.length,
          title: "accuracy",
          figure: (share) => `${Number((100 * share).toPrecision(3))}%`,
          lines: [
            {name: "training", colour: colourOf(0), points: ofEpochs("accuracy")},
            {name: "held out", colour: colourOf(5), dash: "6 3", points: ofEpochs("heldOutAccuracy")},
          ],
        }),
        chart({
          last: steps.length,
          title: "learning rate",
          lines: [{name: "learning rate", colour: colourOf(2), points: ofSteps("learningRate")}],
        }),
        chart({
          last: steps.length,
          title: "norm of all gradients",
          lines: [{name: "before it is clipped", colour: colourOf(3), points: ofSteps("gradientNorm")}],
        }),
        chart({
          last: steps.length,
          title: "milliseconds on this machine",
          lines: [
            {
              name: "a step",
              colour: colourOf(7),
              points: steps.map((step, i) => [i + 1, 1e3 * step.realSeconds]),
            },
          ],
        }),
      ),
      table({
        name: "epochs",
        caption: "Epochs",
        rows,
        columns: [
          {head: "epoch", value: (epoch) => epoch.number},
          {head: "steps so far", value: (epoch) => epoch.steps},
          {head: "loss", value: (epoch) => epoch.loss ?? NaN, text: (epoch) => numberText(epoch.loss)},
          has("accuracy") && {
            head: "accuracy",
            value: (epoch) => epoch.accuracy ?? -1,
            text: (epoch) => shareText(epoch.accuracy),
          },
          has("heldOutLoss") && {
            head: "held-out loss",
            value: (epoch) => epoch.heldOutLoss ?? -1,
            text: (epoch) => numberText(epoch.heldOutLoss),
          },
          has("heldOutAccuracy") && {
            head: "held-out accuracy",
            value: (epoch) => epoch.heldOutAccuracy ?? -1,
            text: (epoch) => shareText(epoch.heldOutAccuracy),
          },
          {
            head: "real time",
            value: (epoch) => epoch.realSeconds,
            text: (epoch) => duration(epoch.realSeconds),
          },
          {
            head: "simulated time",
            value: (epoch) => epoch.simulatedSeconds,
            text: (epoch) => duration(epoch.simulatedSeconds),
          },
        ].filter(Boolean),
      }),
    ),
  ];
}
