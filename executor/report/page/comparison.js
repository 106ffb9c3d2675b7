// Strategies side by side: points of time a sample against the fullest memory, with the front of those that no other
// beats in both; a table; and any two of them next to each other.
import {stackedBars} from "./bars.js";
import {kBusy} from "./colours.js";
import {el, section, svg} from "./dom.js";
import {memoryBars} from "./memory.js";
import {facts, originOfComparison, timeBars, whatIfs} from "./overview.js";
import {memoryShare} from "./processors.js";
import {byteCount, duration, percentage, rate, shortText} from "./format.js";
import {unfolded} from "./run_data.js";
import {table} from "./table.js";
import {logarithmicTicks, roundTicks, withoutZeros} from "./ticks.js";
import {onOneAxis} from "./together.js";
import {setView, viewOf} from "./view.js";

const kPointsWidth = 820;
const kPointsHeight = 380;
const kPointsEdge = {left: 80, right: 20, top: 16, bottom: 44};

function figures(strategy, number) {
  const run = unfolded(strategy.run);
  const [memory] = memoryShare(run);
  return {
    number,
    name: strategy.name,
    run,
    memory,
    difference: strategy.difference,
    sketch: strategy.sketch,
    fits: run.fits,
    processors: run.replicas * run.processorsPerReplica,
    time: run.samplesPerSecond > 0 ? 1 / run.samplesPerSecond : Infinity,
  };
}

/// Those that fit and that no other one is at least as good as in both time and memory.
export function paretoFront(rows) {
  const front = [];
  for (const row of rows
    .filter((one) => one.fits && Number.isFinite(one.time))
    .sort((a, b) => a.time - b.time || a.memory - b.memory)) {
    if (front.length === 0 || row.memory < front[front.length - 1].memory) front.push(row);
  }
  return front;
}

function points(rows, picked, pick) {
  const shown = rows.filter((row) => Number.isFinite(row.time));
  if (shown.length === 0) return null;
  const logs = shown.map((row) => Math.log10(row.time));
  const [low, high] = [Math.min(...logs) - 0.05, Math.max(...logs) + 0.05];
  const most = Math.max(...shown.map((row) => Math.min(row.memory, 3)), 1e-6) * 1.08;
  const largest = Math.max(...shown.map((row) => row.processors));
  const x = (time) =>
    kPointsEdge.left +
    ((Math.log10(time) - low) / (high - low)) * (kPointsWidth - kPointsEdge.left - kPointsEdge.right);
  const y = (memory) =>
    kPointsHeight -
    kPointsEdge.bottom -
    (Math.min(memory, 3) / most) * (kPointsHeight - kPointsEdge.top - kPointsEdge.bottom);
  const drawing = svg("svg", {
    viewBox: `0 0 ${kPointsWidth} ${kPointsHeight}`,
    class: "chart points",
    role: "group",
    "aria-label": "Strategies by time a sample and fullest memory; the table below has the same",
  });
  for (const percent of roundTicks(0, 100 * most, 5)) {
    const memory = percent / 100;
    drawing.append(
      svg("line", {
        x1: kPointsEdge.left,
        x2: kPointsWidth - kPointsEdge.right,
        y1: y(memory),
        y2: y(memory),
        class: "grid",
      }),
      svg("text", {x: kPointsEdge.left - 6, y: y(memory) + 4, "text-anchor": "end"}, `${percent}%`),
    );
  }
  for (const time of logarithmicTicks(10 ** low, 10 ** high, 8))
    drawing.append(
      svg(
        "text",
        {x: x(time), y: kPointsHeight - 26, "text-anchor": "middle"},
        withoutZeros(duration(time)),
      ),
    );
  drawing.append(
    svg(
      "text",
      {x: kPointsWidth / 2, y: kPointsHeight - 6, "text-anchor": "middle"},
      "time a sample (logarithmic)",
    ),
    svg(
      "text",
      {
        x: 12,
        y: kPointsHeight / 2,
        transform: `rotate(-90 12 ${kPointsHeight / 2})`,
        "text-anchor": "middle",
      },
      "memory of the fullest processor",
    ),
  );
  if (most > 1)
    drawing.append(
      svg("line", {
        x1: kPointsEdge.left,
        x2: kPointsWidth - kPointsEdge.right,
        y1: y(1),
        y2: y(1),
        class: "limit",
      }),
    );
  const front = paretoFront(shown);
  drawing.append(
    svg("polyline", {
      points: front.map((row) => `${x(row.time)},${y(row.memory)}`).join(" "),
      class: "front",
    }),
  );
  const names = [];
  for (const row of shown) {
    const place = picked.indexOf(row.number);
    const point = svg(
      "circle",
      {
        cx: x(row.time),
        cy: y(row.memory),
        r: 4 + 6 * Math.sqrt(row.processors / largest),
        tabindex: "0",
        role: "button",
        class: `point ${row.fits ? "" : "unfit"} ${place >= 0 ? `picked${place}` : ""}`,
        click: () => pick(row.number),
        keydown: (event) => {
          if (event.key === "Enter") pick(row.number);
        },
      },
      svg(
        "title",
        {},
        `${shortText(row.name, 120)}: ${rate(row.run.samplesPerSecond)} samples/s, ${percentage(row.memory)} of memory${row.fits ? "" : ", does not fit"}`,
      ),
    );
    drawing.append(point);
    if (place >= 0) names.push(row);
  }
  // The two that are picked have their names beside them, on the side that has room.
  for (const row of names) {
    const isLeft = x(row.time) < kPointsWidth / 2;
    const label = {x: x(row.time) + (isLeft ? 15 : -15), y: y(row.memory) - 9, class: "name"};
    drawing.append(svg("text", {...label, "text-anchor": isLeft ? "start" : "end"}, shortText(row.name, 44)));
  }
  return drawing;
}

function side(row, name) {
  return el(
    "article",
    {class: "side"},
    el("h3", {}, shortText(row.name, 90)),
    el(
      "p",
      {class: row.fits ? "" : "bad"},
      row.run.fits ? `${row.run.cause}.` : `Does not fit: ${row.run.bottleneck}.`,
    ),
    facts(row.run),
    el("h4", {}, "time"),
    timeBars(row.run, `time-${name}`),
    el("h4", {}, "memory"),
    memoryBars(row.run, `memory-${name}`),
  );
}

/// What the end of the step waited for by kind of work, of a sample; both on one axis.
function sampleBars(rows) {
  const longest = Math.max(...rows.map((row) => row.time));
  return stackedBars({
    name: "sample-time",
    caption: "What a sample's time is made of in the two strategies",
    kinds: [...kBusy, ["call", "the host's call", "#bbbbbb"]],
    figure: (seconds, row) => `${duration(seconds)} (${percentage(seconds / row.time)})`,
    rows: rows.map((row) => {
      const samples = row.run.seconds / row.time;
      const of = (key) =>
        row.run.path.reduce((sum, part) => sum + (part.activity === key ? part.seconds / samples : 0), 0);
      const parts = kBusy.map(([key]) => of(key));
      const call = Math.max(0, row.time - parts.reduce((a, b) => a + b, 0));
      return {label: row.name, time: row.time, total: longest, parts: [...parts, call]};
    }),
  });
}

// A line ends before a flag, not inside.
function withWholeFlags(text) {
  return text.split(/(\s+)/).map((word) => (/^-.{1,60}$/.test(word) ? el("span", {class: "whole"}, word) : word));
}

/// The page of a comparison.
export function comparisonPage(data) {
  const {strategies} = data.report;
  const rows = strategies
    .map((one, i) => [one, i])
    .filter(([one]) => one.run)
    .map(([one, i]) => figures(one, i));
  const refused = strategies.filter((one) => one.refused);
  const isComputed = rows.some((row) => row.difference !== undefined);
  const front = new Set(paretoFront(rows).map((row) => row.number));
  const picture = el("div");
  const sides = el("div", {class: "sides"});
  const together = el("div");
  const axis = el("div");
  let picked = viewOf("picked")
    .split(",")
    .filter((one) => one !== "")
    .map(Number)
    .filter((one) => rows.some((row) => row.number === one));
  if (picked.length === 0) picked = rows.slice(0, 2).map((row) => row.number);
  const show = () => {
    picture.replaceChildren(points(rows, picked, pick) ?? "");
    together.replaceChildren(
      sampleBars(rows.filter((row) => picked.includes(row.number) && Number.isFinite(row.time))),
    );
    axis.replaceChildren(
      ...onOneAxis(picked.map((number) => rows.find((row) => row.number === number))),
    );
    sides.replaceChildren(
      ...picked.map((number, i) =>
        side(
          rows.find((row) => row.number === number),
          ["a", "b"][i],
        ),
      ),
    );
  };
  function pick(number) {
    picked = [...picked.filter((one) => one !== number), number].slice(-2);
    setView({picked: picked.join(",")});
    show();
    all.dispatchEvent(new Event("mark"));
  }
  show();
  const all = table({
    name: "strategies",
    caption: "Strategies; a click picks one for the two below",
    rows,
    filter: (row) => row.name,
    pick: (row) => pick(row.number),
    isMarked: (row) => picked.includes(row.number),
    columns: [
      {head: "strategy", value: (row) => row.name},
      {head: "fits", value: (row) => (row.fits ? "yes" : "no")},
      {
        head: "samples/s",
        value: (row) => row.run.samplesPerSecond,
        text: (row) => rate(row.run.samplesPerSecond),
      },
      {
        head: "time a sample",
        value: (row) => row.time,
        text: (row) => (Number.isFinite(row.time) ? duration(row.time) : ""),
      },
      {head: "bottleneck", value: (row) => row.run.bottleneck},
      {
        head: "first output",
        value: (row) => row.run.firstOutputSeconds,
        text: (row) => duration(row.run.firstOutputSeconds),
      },
      {
        head: "fullest memory",
        value: (row) => row.memory,
        text: (row) => percentage(row.memory),
        bar: (row) => row.memory,
      },
      {head: "processors", value: (row) => row.processors},
      {
        head: "utilisation",
        value: (row) => row.run.utilisation,
        text: (row) => percentage(row.run.utilisation),
      },
      {head: "best in time or memory", value: (row) => (front.has(row.number) ? "yes" : "")},
      {head: "bytes sent", value: (row) => row.run.bytesSent, text: (row) => byteCount(row.run.bytesSent)},
      isComputed && {
        head: "difference",
        value: (row) => row.difference ?? -1,
        text: (row) =>
          row.difference === undefined
            ? "not computed"
            : row.difference === 0
              ? "none"
              : row.difference.toExponential(1),
      },
    ].filter(Boolean),
  });
  return [
    el("pre", {class: "verdict"}, withWholeFlags(data.verdict.trimEnd())),
    section(
      "Time against memory",
      el(
        "p",
        {class: "note"},
        "The line joins those that no other strategy beats in both; the larger a point, the more processors; grey ones do not fit.",
      ),
      picture,
    ),
    section(
      "All strategies",
      all,
      refused.length === 0
        ? null
        : table({
            name: "refused",
            caption: "Not possible for this model",
            rows: refused,
            columns: [
              {head: "strategy", value: (one) => one.name},
              {head: "why", value: (one) => one.refused, letters: 300},
            ],
          }),
    ),
    section(
      "Two side by side",
      el("p", {class: "note"}, "What a sample's time is made of, both on one axis: why one is slower."),
      together,
      el(
        "p",
        {class: "note"},
        "A step of each on one axis of time: what each processor does, in equal times by what takes most of it, and the memory of the fullest one.",
      ),
      axis,
      sides,
    ),
    whatIfs(strategies[0]?.run?.whatIf),
    originOfComparison(data.report),
  ];
}
