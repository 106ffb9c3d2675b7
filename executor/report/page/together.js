// Two strategies on one axis of time: what their processors do in a step, and the memory of the fullest one.
import {colour, el, picture} from "./dom.js";
import {kBusy} from "./colours.js";
import {byteCount, duration, shortText} from "./format.js";
import {processorWord} from "./processors.js";
import {drawByteTicks, timeTicks} from "./ticks.js";

const kTogetherLeft = 72;
const kTogetherLane = 10;
const kTogetherHead = 20;
const kTogetherMemory = 130;
const kTogetherAxis = 22;
const kTogetherFont = "11px system-ui, sans-serif";
const kLinesOfTwo = ["#0072b2", "#d55e00"];

function drawLanes(context, row, top, x) {
  const bin = row.run.seconds / row.sketch.lanes[0].length;
  const every = row.sketch.lanes.length <= 8 ? 1 : 4;
  row.sketch.lanes.forEach((letters, lane) => {
    const y = top + lane * kTogetherLane;
    for (let i = 0; i < letters.length;) {
      let end = i + 1;
      while (end < letters.length && letters[end] === letters[i]) ++end;
      const kind = kBusy[letters.charCodeAt(i) - 97];
      context.fillStyle = letters[i] === "~" ? colour("fold") : (kind?.[2] ?? colour("stripe"));
      context.fillRect(x(i * bin), y, Math.max(0.5, x(end * bin) - x(i * bin)), kTogetherLane - 1);
      i = end;
    }
    if (lane % every !== 0) return;
    context.fillStyle = colour("ink");
    context.font = "9px system-ui, sans-serif";
    context.fillText(`${processorWord()} ${lane}`, 4, y + kTogetherLane - 2);
    context.font = kTogetherFont;
  });
}

function drawMemory(context, rows, top, x) {
  const limit = Math.max(...rows.map((row) => row.run.processors[row.run.fullestProcessor].memory.capacity));
  const most = Math.max(...rows.flatMap((row) => row.sketch.memory), 1);
  const highest = limit < 3 * most ? Math.max(most, limit) * 1.05 : most * 1.05;
  const y = (bytes) => top + kTogetherMemory * (1 - bytes / highest);
  drawByteTicks(context, highest, y);
  rows.forEach((row, place) => {
    const bin = row.run.seconds / row.sketch.memory.length;
    context.strokeStyle = kLinesOfTwo[place];
    context.lineWidth = 1.6;
    context.setLineDash(place === 0 ? [] : [5, 3]);
    context.beginPath();
    row.sketch.memory.forEach((bytes, i) => {
      context.lineTo(x(i * bin), y(bytes));
      context.lineTo(x((i + 1) * bin), y(bytes));
    });
    context.stroke();
  });
  context.setLineDash([]);
  if (limit > highest) return;
  context.fillStyle = context.strokeStyle = colour("bad");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x(0), y(limit));
  context.lineTo(x(Infinity), y(limit));
  context.stroke();
  context.textAlign = "right";
  context.fillText(`limit ${byteCount(limit)}`, x(Infinity) - 4, y(limit) + 12);
  context.textAlign = "left";
}

const shows = (rows, letter) => rows.some((row) => row.sketch.lanes.some((lane) => lane.includes(letter)));

/// `rows`: one or two strategies as the comparison has them. Nothing of strategies without a sketch.
export function onOneAxis(rows) {
  const drawn = rows.filter((row) => row.sketch?.lanes.length > 0);
  if (drawn.length === 0) return [];
  const longest = Math.max(...drawn.map((row) => row.run.seconds));
  const heights = drawn.map((row) => kTogetherHead + row.sketch.lanes.length * kTogetherLane);
  const ofLanes = heights.reduce((a, b) => a + b, 0);
  const {canvas} = picture(
    ofLanes + kTogetherHead + kTogetherMemory + kTogetherAxis,
    `A step on one axis: ${drawn.map((row) => `${shortText(row.name, 80)} takes ${duration(row.run.seconds)}`).join(", ")}; the facts below have the same`,
    (context, width, height) => {
      const x = (time) =>
        kTogetherLeft + (Math.min(time, longest) / longest) * (width - kTogetherLeft - 8);
      context.font = kTogetherFont;
      let top = 0;
      drawn.forEach((row, i) => {
        context.fillStyle = colour("ink");
        context.fillText(
          `${shortText(row.name, 100)}: ${duration(row.run.seconds)}`,
          kTogetherLeft,
          top + kTogetherHead - 6,
        );
        drawLanes(context, row, top + kTogetherHead, x);
        top += heights[i];
      });
      context.fillStyle = colour("ink");
      context.fillText("memory of the fullest processor", kTogetherLeft, top + kTogetherHead - 6);
      drawMemory(context, drawn, top + kTogetherHead, x);
      context.fillStyle = colour("ink");
      for (const [time, label] of timeTicks(0, longest * 1e9, (width - kTogetherLeft) / 110))
        if (x(time / 1e9) < width - 50) context.fillText(label, x(time / 1e9), height - 6);
    },
  );
  return [
    el(
      "div",
      {class: "legend"},
      kBusy
        .filter((kind, i) => shows(drawn, String.fromCharCode(97 + i)))
        .map(([, text, fill]) => el("span", {}, el("i", {style: `background:${fill}`}), text)),
      shows(drawn, "~")
        ? el("span", {}, el("i", {style: "background:var(--fold)"}), "iterations like those before")
        : null,
      drawn.map((row, i) =>
        el("span", {}, el("i", {style: `background:${kLinesOfTwo[i]}`}), `memory: ${shortText(row.name, 60)}`),
      ),
    ),
    canvas,
  ];
}
