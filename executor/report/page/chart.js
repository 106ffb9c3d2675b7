// Lines over steps, as SVG.
import {el, svg} from "./dom.js";
import {printable} from "./format.js";
import {roundTicks} from "./ticks.js";

const kChartWidth = 760;
const kChartHeight = 220;
const kChartEdge = {left: 70, right: 12, top: 10, bottom: 28};
const kMostChartPoints = 1500;

function thinned(points) {
  if (points.length <= kMostChartPoints) return points;
  const kept = [];
  const every = points.length / kMostChartPoints;
  for (let i = 0; i < kMostChartPoints; ++i) kept.push(points[Math.floor(i * every)]);
  return [...kept, points[points.length - 1]];
}

const axisFigure = (value) =>
  Math.abs(value) >= 1e-4 && Math.abs(value) < 1e5
    ? `${Number(value.toPrecision(4))}`
    : value.toExponential(2);

/// `lines`: {name, colour, dash?, points: pairs of numbers}. Values that are no numbers are left out. Steps are those up to
/// `last`, and where they begin, so that charts below each other have them in the same place; `figure` writes a value.
export function chart({title, lines, last, figure = axisFigure, from = "step"}) {
  const drawn = lines
    .map((line) => ({
      ...line,
      points: line.points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y) && y !== null),
    }))
    .filter((line) => line.points.length > 0);
  if (drawn.length === 0) return null;
  const all = drawn.flatMap((line) => line.points);
  const range = (i) => {
    let low = Infinity;
    let high = -Infinity;
    for (const point of all) {
      low = Math.min(low, point[i]);
      high = Math.max(high, point[i]);
    }
    const room = Math.abs(low) > 0 ? 0.1 * Math.abs(low) : 0.5;
    return high > low ? [low, high] : [low - room, high + room];
  };
  const [low, high] = range(1);
  const [left, right] = last > 1 ? [1, last] : range(0);
  const x = (value) =>
    kChartEdge.left + ((value - left) / (right - left)) * (kChartWidth - kChartEdge.left - kChartEdge.right);
  const y = (value) =>
    kChartEdge.top + ((high - value) / (high - low)) * (kChartHeight - kChartEdge.top - kChartEdge.bottom);
  const drawing = svg("svg", {
    viewBox: `0 0 ${kChartWidth} ${kChartHeight}`,
    role: "img",
    "aria-label": `${title}: ${drawn.map((line) => `${line.name} from ${figure(line.points[0][1])} to ${figure(line.points[line.points.length - 1][1])}`).join("; ")}`,
    class: "chart",
  });
  for (const value of roundTicks(low, high, 5)) {
    drawing.append(
      svg("line", {
        x1: kChartEdge.left,
        x2: kChartWidth - kChartEdge.right,
        y1: y(value),
        y2: y(value),
        class: "grid",
      }),
      svg("text", {x: kChartEdge.left - 6, y: y(value) + 4, "text-anchor": "end"}, figure(value)),
    );
  }
  for (const step of roundTicks(left, right, 8).filter(Number.isInteger))
    drawing.append(svg("text", {x: x(step), y: kChartHeight - 8, "text-anchor": "middle"}, `${step}`));
  for (const line of drawn) {
    const points = thinned(line.points);
    drawing.append(
      points.length === 1
        ? svg("circle", {cx: x(points[0][0]), cy: y(points[0][1]), r: 3, fill: line.colour})
        : svg("polyline", {
            points: points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" "),
            fill: "none",
            stroke: line.colour,
            "stroke-width": 1.8,
            "stroke-dasharray": line.dash ?? null,
          }),
    );
  }
  return el(
    "figure",
    {},
    el("figcaption", {}, `${printable(title)} over ${from}s`),
    el(
      "div",
      {class: "legend"},
      drawn.map((line) => el("span", {}, el("i", {style: `background:${line.colour}`}), line.name)),
    ),
    drawing,
  );
}
