// Memory of a processor over time, stacked by what it is held for, and the largest tensors at a moment. A pixel shows
// the most that is there in its time.
import {choice, colour, el, picture, section} from "./dom.js";
import {stackedBars} from "./bars.js";
import {kHoldings} from "./colours.js";
import {byteCount, duration} from "./format.js";
import {alikeProcessors, memoryShare, processorLabel, processorWord} from "./processors.js";
import {table} from "./table.js";
import {drawByteTicks, timeTicks} from "./ticks.js";
import {setView, viewOf} from "./view.js";

const kLeft = 76;
const kMemoryHeight = 260;

// The levels after each change: {time, held: by holding, sum}; code comes on top.
function levels(memory) {
  const now = memory.always.slice(0, 6);
  const code = memory.always[6] ?? 0;
  const points = [{time: 0, held: [...now, code], sum: now.reduce((a, b) => a + b, code)}];
  for (const [time, holding, change] of memory.changes) {
    now[holding] += change;
    const point = {time, held: [...now, code], sum: now.reduce((a, b) => a + b, code)};
    if (points[points.length - 1].time === time) points[points.length - 1] = point;
    else points.push(point);
  }
  return points;
}

const kStacked = [...kHoldings.slice(0, 6), kHoldings[7]];

// Until when changes of memory are known, in nanoseconds.
function knownUntil(timeline, end) {
  if (!timeline.memoryCut) return end;
  return timeline.memory.reduce((last, {changes}) => Math.max(last, changes.length === 0 ? 0 : changes[changes.length - 1][0]), 0);
}

function drawCurve(context, width, height, {points, end, known, capacity}, moment) {
  const most = Math.max(...points.map((point) => point.sum), 1);
  const top = capacity > 0 && capacity < 3 * most ? Math.max(most, capacity) * 1.05 : most * 1.1;
  const y = (bytes) => (height - 20) * (1 - bytes / top) + 4;
  let place = 0;
  const right = kLeft + (known / end) * (width - kLeft);
  for (let x = kLeft; x < right; ++x) {
    const until = ((x + 1 - kLeft) / (width - kLeft)) * end;
    let largest = points[place];
    while (place + 1 < points.length && points[place + 1].time < until) {
      ++place;
      if (points[place].sum > largest.sum) largest = points[place];
    }
    let below = 0;
    largest.held.forEach((bytes, i) => {
      if (bytes <= 0) return;
      context.fillStyle = kStacked[i][2];
      context.fillRect(x, y(below + bytes), 1.2, y(below) - y(below + bytes));
      below += bytes;
    });
  }
  context.font = "11px system-ui, sans-serif";
  if (right < width) {
    context.fillStyle = colour("stripe");
    context.fillRect(right, 0, width - right, height - 16);
    context.fillStyle = colour("quiet");
    context.fillText("not followed", right + 6, 16);
  }
  drawByteTicks(context, top, y);
  for (const [time, label] of timeTicks(0, end, (width - kLeft) / 110)) {
    const x = kLeft + (time / end) * (width - kLeft);
    if (x < width - 50) context.fillText(label, x, height - 4);
  }
  if (capacity > 0 && capacity <= top) {
    context.strokeStyle = colour("bad");
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(kLeft, y(capacity));
    context.lineTo(width, y(capacity));
    context.stroke();
    context.setLineDash([]);
    context.fillText(`limit ${byteCount(capacity)}`, kLeft + 4, y(capacity) - 5);
  }
  const x = kLeft + (moment / end) * (width - kLeft);
  context.strokeStyle = colour("ink");
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, height - 16);
  context.stroke();
}

function curveOf(report, data, group) {
  const memory = data.timeline.memory[group];
  const {capacity, peak} = report.processors[memory.processors[0]].memory;
  const points = levels(memory);
  const end = Math.max(1, data.timeline.seconds * 1e9);
  const known = knownUntil(data.timeline, end);
  const highest = points.reduce((a, b) => (b.sum > a.sum ? b : a));
  let moment = viewOf("moment") === "" ? highest.time : Math.min(known, Number(viewOf("moment")) || 0);
  const list = el("div");
  const {canvas, redraw} = picture(
    kMemoryHeight,
    "Memory over time; the table below has the tensors at the moment of the line",
    (context, width, height) => drawCurve(context, width, height, {points, end, known, capacity}, moment),
  );
  const show = () => {
    const alive = memory.lives.filter(([, , , start, stop]) => start <= moment && moment < stop);
    const rows = alive.map(([name, holding, bytes, start, stop]) => ({
      name: data.timeline.names[name],
      holding: kHoldings[holding][1],
      bytes,
      start,
      stop,
    }));
    list.replaceChildren(
      table({
        name: "alive",
        caption: `The largest tensors after ${duration(moment / 1e9)}`,
        rows,
        sort: [2, -1],
        columns: [
          {head: "tensor", value: (one) => one.name},
          {head: "held for", value: (one) => one.holding},
          {
            head: "bytes",
            value: (one) => one.bytes,
            text: (one) => byteCount(one.bytes),
            bar: (one) => one.bytes / Math.max(1, highest.sum),
          },
          {head: "from", value: (one) => one.start, text: (one) => duration(one.start / 1e9)},
          {head: "to", value: (one) => one.stop, text: (one) => duration(one.stop / 1e9)},
        ],
      }),
    );
  };
  const go = (time) => {
    moment = Math.min(known - 1, Math.max(0, Math.round(time)));
    setView({moment});
    redraw();
    show();
  };
  canvas.addEventListener("click", (event) =>
    go(((event.offsetX - kLeft) / (canvas.clientWidth - kLeft)) * end),
  );
  canvas.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -0.01, ArrowRight: 0.01}[event.key];
    if (step) go(moment + step * end);
  });
  show();
  return [
    el(
      "p",
      {class: "note"},
      `Click or use the arrow keys to move the line. The report's peak of ${byteCount(peak)} is in the order of the program, with what kernels copy; this is in the order of time, and flat where iterations that repeat are left out.${data.timeline.memoryCut ? ` It is of the first ${duration(known / 1e9)} of the step: there are too many changes.` : ""}`,
    ),
    el(
      "div",
      {class: "legend"},
      kStacked
        .filter((kind, i) => points.some((point) => point.held[i] > 0))
        .map(([, text, style]) => el("span", {}, el("i", {style: `background:${style}`}), text)),
    ),
    canvas,
    list,
  ];
}

/// What memory is at its peak, a bar a processor.
export function memoryBars(report, name = "memory") {
  const highest = Math.max(...report.processors.map((one) => one.memory.peak));
  const [, longest] = memoryShare(report);
  const partsOf = (one) => kHoldings.map(([key]) => one.memory[key] ?? 0);
  const bars = stackedBars({
    name,
    caption: "Memory of each processor at its peak",
    kinds: kHoldings,
    figure: (bytes) => byteCount(bytes),
    rows: alikeProcessors(report.processors, partsOf, highest).map((one) => ({
      label: processorLabel(one.processors),
      total: one.memory.peak,
      mark: one.memory.capacity < 4 * highest ? one.memory.capacity : null,
      parts: one.parts,
    })),
  });
  return el("div", {}, el("p", {class: "note"}, `At most ${longest}.`), bars);
}

function largestTable(report) {
  const rows = report.processors.flatMap((one) =>
    one.largest.map((tensor) => ({...tensor, processor: one.processor})),
  );
  return table({
    name: "largest",
    caption: "The largest tensors at the peaks",
    rows,
    sort: [2, -1],
    filter: (row) => `${row.name} ${processorWord()} ${row.processor}`,
    columns: [
      {head: processorWord(), value: (row) => row.processor},
      {head: "tensor", value: (row) => row.name},
      {head: "bytes", value: (row) => row.bytes, text: (row) => byteCount(row.bytes)},
    ],
  });
}

/// Memory over time, and at the peaks.
export function memoryPart(report, data) {
  const parts = [section("Memory at the peak", memoryBars(report), largestTable(report))];
  if (!data.timeline) return parts;
  const groups = data.timeline.memory;
  const fullest = Math.max(
    0,
    groups.findIndex((one) => one.processors.includes(report.fullestProcessor)),
  );
  const start =
    viewOf("memory.of") === "" ? fullest : Math.min(groups.length - 1, Number(viewOf("memory.of")) || 0);
  const place = el("div", {}, curveOf(report, data, start));
  parts.push(
    section(
      "Memory over time",
      el(
        "div",
        {class: "controls"},
        choice(
          "of",
          groups.map((one, i) => [i, processorLabel(one.processors)]),
          start,
          (value) => {
            setView({"memory.of": value, moment: ""});
            place.replaceChildren(...curveOf(report, data, Number(value)));
          },
        ),
      ),
      place,
    ),
  );
  return parts;
}
