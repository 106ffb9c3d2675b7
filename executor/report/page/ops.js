// Ops and layers: what each costs.
import {choice, el, section} from "./dom.js";
import {byteCount, duration, percentage, quantity} from "./format.js";
import {processorWord} from "./processors.js";
import {table} from "./table.js";
import {setView, viewOf} from "./view.js";

function grouped(ops, keyOf) {
  const groups = new Map();
  for (const op of ops) {
    const key = keyOf(op);
    const group = groups.get(key) ?? {name: key, runs: 0, seconds: 0, flop: 0, bytes: 0, idealSeconds: 0};
    for (const figure of ["runs", "seconds", "flop", "bytes", "idealSeconds"]) group[figure] += op[figure];
    groups.set(key, group);
  }
  return [...groups.values()];
}

const kGroupings = [
  ["op", "ops"],
  ["layer", "layers"],
  ["type", "types of ops"],
  ["pass", "processors and passes"],
];
const kKeys = {
  layer: (op) => op.layer || "(no layer)",
  type: (op) => op.type,
  pass: (op) => `${processorWord()} ${op.processor}, ${op.pass}`,
};

function timeColumns(total) {
  return [
    {head: "runs", value: (op) => op.runs},
    {head: "time", value: (op) => op.seconds, text: (op) => duration(op.seconds)},
    {
      head: "share",
      value: (op) => op.seconds / total,
      text: (op) => percentage(op.seconds / total),
      bar: (op) => op.seconds / total,
    },
  ];
}

function realTable(ops, total) {
  return table({
    name: "real",
    caption: "Measured time of the engine's ops in a run; one may be several of the model",
    rows: ops,
    sort: [3, -1],
    filter: (op) => `${op.name} ${op.type}`,
    columns: [
      {head: "name", value: (op) => op.name},
      {head: "type", value: (op) => op.type},
      ...timeColumns(total),
    ],
  });
}

/// The table of `ops` as they are, or summed by what is chosen.
export function opsPart(report) {
  const place = el("div");
  const total = report.ops.reduce((sum, op) => sum + op.seconds, 0);
  const show = (by) => {
    const rows = by === "op" ? report.ops : grouped(report.ops, kKeys[by]);
    const details =
      by !== "op"
        ? []
        : [
            {head: "type", value: (op) => op.type},
            {head: processorWord(), value: (op) => op.processor},
            ...(report.ops.some((op) => op.stage !== undefined)
              ? [{head: "stage", value: (op) => op.stage ?? ""}]
              : []),
            {head: "block", value: (op) => op.block},
            {head: "pass", value: (op) => op.pass},
          ];
    const first = details.length + 2;
    place.replaceChildren(
      table({
        name: "ops",
        caption: `Simulated cost of ${kGroupings.find(([one]) => one === by)[1]} in a step`,
        rows,
        sort: [first, -1],
        filter: (op) => `${op.name} ${op.type ?? ""}`,
        columns: [
          {head: "name", value: (op) => op.name},
          ...details,
          ...timeColumns(total),
          {head: "FLOP", value: (op) => op.flop, text: (op) => quantity(op.flop)},
          {head: "bytes", value: (op) => op.bytes, text: (op) => byteCount(op.bytes)},
          {
            head: "FLOP/byte",
            value: (op) => (op.bytes > 0 ? op.flop / op.bytes : 0),
            text: (op) => (op.bytes > 0 ? (op.flop / op.bytes).toFixed(1) : ""),
          },
          {
            head: "of peak",
            value: (op) => (op.seconds > 0 ? op.idealSeconds / op.seconds : 0),
            text: (op) => (op.seconds > 0 ? percentage(op.idealSeconds / op.seconds) : ""),
          },
        ],
      }),
    );
  };
  const by = viewOf("ops.by", "op");
  show(kGroupings.some(([one]) => one === by) ? by : "op");
  const realOps = report.realOps ?? [];
  const realTotal = realOps.reduce((sum, op) => sum + op.seconds, 0);
  return [
    section(
      "What each op and layer costs",
      el(
        "p",
        {class: "note"},
        `${duration(total)} of computing in a step, all processors of a replica together.`,
      ),
      el(
        "div",
        {class: "controls"},
        choice("sum up", kGroupings, by, (value) => {
          setView({"ops.by": value === "op" ? "" : value, "ops.sort": ""});
          show(value);
        }),
      ),
      place,
    ),
    realOps.length > 0 ? section("What each op takes on this machine", realTable(realOps, realTotal)) : null,
  ];
}
