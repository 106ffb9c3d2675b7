// FLOP for each byte of phases, against the band in which a processor and its way to streaming memory are about as busy.
import {el, section, svg} from "./dom.js";
import {byteCount, quantity} from "./format.js";
import {table} from "./table.js";

const kPhasesWidth = 760;
const kPhasesHeight = 92;
const kPhasesEdge = 24;

function phaseName(one) {
  return one.phase < 0 ? "before the first" : `${one.phase}`;
}

function verdictOf(one, [least, most]) {
  if (one.flopPerByte === undefined) return "nothing moves";
  if (one.flopPerByte < least) return "moving takes longer";
  return one.flopPerByte > most ? "computing takes longer" : "balanced";
}

function strip(phases, [least, most]) {
  const shown = phases.filter((one) => one.flopPerByte > 0);
  if (shown.length === 0) return null;
  const figures = [...shown.map((one) => one.flopPerByte), least, most].map(Math.log10);
  const [low, high] = [Math.min(...figures) - 0.1, Math.max(...figures) + 0.1];
  const x = (figure) =>
    kPhasesEdge + ((Math.log10(figure) - low) / (high - low)) * (kPhasesWidth - 2 * kPhasesEdge);
  const line = kPhasesHeight / 2;
  return svg(
    "svg",
    {
      viewBox: `0 0 ${kPhasesWidth} ${kPhasesHeight}`,
      class: "chart",
      role: "img",
      "aria-label": "FLOP for each byte of the phases; the table below has the same",
    },
    svg("rect", {x: x(least), width: x(most) - x(least), y: 16, height: kPhasesHeight - 40, class: "band"}),
    svg("line", {x1: kPhasesEdge, x2: kPhasesWidth - kPhasesEdge, y1: line, y2: line, class: "grid"}),
    [least, most].map((figure, i) =>
      svg(
        "text",
        {x: x(figure), y: kPhasesHeight - 8, "text-anchor": i === 0 ? "end" : "start"},
        figure.toLocaleString("en-US"),
      ),
    ),
    shown.map((one) =>
      svg(
        "circle",
        {cx: x(one.flopPerByte), cy: line, r: 6, class: "mark"},
        svg("title", {}, `phase ${phaseName(one)}: ${quantity(one.flopPerByte)} FLOP a byte`),
      ),
    ),
  );
}

/// Of a run in phases; null of others.
export function phasesSection(report) {
  if (!report.phases) return null;
  const band = report.balancedFlopPerByte;
  return section(
    "Phases",
    el(
      "p",
      {class: "note"},
      `A phase of products in 16 bits keeps a Mk2 and its way to streaming memory about as busy at ${band[0].toLocaleString("en-US")} to ${band[1].toLocaleString("en-US")} FLOP for each byte that it moves. Left of the band it waits for loads and stores.`,
    ),
    strip(report.phases, band),
    table({
      name: "phases",
      caption: "What each phase computes and moves from and to streaming memory, one replica",
      rows: report.phases,
      columns: [
        {head: "phase", value: (one) => one.phase, text: phaseName},
        {head: "FLOP", value: (one) => one.flop, text: (one) => quantity(one.flop)},
        {head: "bytes", value: (one) => one.bytes, text: (one) => byteCount(one.bytes)},
        {
          head: "FLOP a byte",
          value: (one) => one.flopPerByte ?? -1,
          text: (one) => (one.flopPerByte === undefined ? "" : quantity(one.flopPerByte)),
        },
        {head: "balance", value: (one) => verdictOf(one, band)},
      ],
    }),
  );
}
