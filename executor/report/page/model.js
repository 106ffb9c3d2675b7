// The model as nested boxes: processors, their layers, the ops of these; what crosses stands between and in tables.
import {breakable, el, section} from "./dom.js";
import {byteCount, duration, percentage, shortText} from "./format.js";
import {processorWord} from "./processors.js";
import {table} from "./table.js";

const kMostBoxes = 48;
const kMostLayers = 200;

function byKey(list, keyOf) {
  const groups = new Map();
  for (const one of list) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return groups;
}

// An op of no layer is one by itself.
const layerOf = (op) => op.layer || op.name || op.type;

const secondsOf = (ops) => ops.reduce((sum, op) => sum + op.seconds, 0);

function opLine(op, whole) {
  return el(
    "li",
    {title: op.name.slice(0, 300)},
    `${shortText(op.name, 44)} `,
    el(
      "span",
      {class: "quiet"},
      `${op.type.slice(0, 40)} ${duration(op.seconds)}, ${percentage(op.seconds / whole)}`,
    ),
  );
}

function layerBox(name, ops, whole, darkest) {
  const share = secondsOf(ops) / whole;
  const box = el(
    "details",
    {class: "layer", style: `--shade:${(0.06 + (0.5 * secondsOf(ops)) / darkest).toFixed(3)}`},
    el(
      "summary",
      {title: name.slice(0, 300)},
      breakable(shortText(name, 36)),
      el("span", {class: "quiet"}, ` ${duration(secondsOf(ops))}, ${percentage(share)}`),
    ),
  );
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1)
      box.append(
        el(
          "ol",
          {},
          [...ops]
            .sort((a, b) => b.seconds - a.seconds)
            .slice(0, 100)
            .map((op) => opLine(op, whole)),
        ),
      );
  });
  return box;
}

function edge(crossings, from, to) {
  const list = crossings.filter((one) => one.from === from && one.to === to);
  if (list.length === 0) return null;
  const bytes = list.reduce((sum, one) => sum + one.bytes, 0);
  return el(
    "div",
    {
      class: "edge",
      title: list
        .slice(0, 20)
        .map((one) => shortText(one.name, 60))
        .join(", "),
    },
    `${processorWord()} ${from} → ${processorWord()} ${to}`,
    el("br"),
    byteCount(bytes),
  );
}

function matrix(crossings) {
  const numbers = [...new Set(crossings.flatMap((one) => [one.from, one.to]))].sort((a, b) => a - b);
  if (numbers.length === 0 || numbers.length > kMostBoxes) return null;
  const sums = new Map();
  for (const one of crossings)
    sums.set(`${one.from},${one.to}`, (sums.get(`${one.from},${one.to}`) ?? 0) + one.bytes);
  const most = Math.max(...sums.values());
  return el(
    "div",
    {class: "scroll"},
    el(
      "table",
      {class: "matrix"},
      el("caption", {}, "Bytes in a step from the processor of the row to that of the column"),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", {scope: "col"}, "from \\ to"),
          numbers.map((to) => el("th", {scope: "col"}, `${to}`)),
        ),
      ),
      el(
        "tbody",
        {},
        numbers.map((from) =>
          el(
            "tr",
            {},
            el("th", {scope: "row"}, `${from}`),
            numbers.map((to) => {
              const bytes = sums.get(`${from},${to}`) ?? 0;
              return el(
                "td",
                {style: bytes > 0 ? `--shade:${(0.1 + (0.6 * bytes) / most).toFixed(3)}` : null},
                bytes > 0 ? byteCount(bytes) : "",
              );
            }),
          ),
        ),
      ),
    ),
  );
}

/// Boxes of the processors with what crosses between them.
export function modelPart(report) {
  const processors = [...byKey(report.ops, (op) => op.processor)].sort(([a], [b]) => a - b);
  const darkest = Math.max(
    ...processors.flatMap(([, ops]) => [...byKey(ops, layerOf).values()].map(secondsOf)),
    Number.MIN_VALUE,
  );
  const boxes = processors.slice(0, kMostBoxes).flatMap(([number, ops], i) => {
    const layers = [...byKey(ops, layerOf)];
    const next = processors[i + 1]?.[0];
    const blocks = [...new Set(ops.map((op) => op.block))];
    return [
      el(
        "article",
        {class: "processor"},
        el("h3", {}, `${processorWord()} ${number}`),
        el(
          "p",
          {class: "quiet", title: blocks.join(", ").slice(0, 300)},
          `${duration(secondsOf(ops))} of computing, ${blocks.length} block${blocks.length === 1 ? "" : "s"}`,
        ),
        layers.slice(0, kMostLayers).map(([name, of]) => layerBox(name, of, report.seconds, darkest)),
        layers.length > kMostLayers
          ? el("p", {class: "note"}, `and ${layers.length - kMostLayers} more layers`)
          : null,
      ),
      next === undefined
        ? null
        : el(
            "div",
            {class: "edges"},
            edge(report.crossings, number, next),
            edge(report.crossings, next, number),
          ),
    ];
  });
  return [
    section(
      "The model on its processors",
      el(
        "p",
        {class: "note"},
        "Boxes are layers in the order of the model, in stronger colour where they take more time; open one for its ops. Shares are of the step.",
      ),
      el("div", {class: "model"}, boxes),
      processors.length > kMostBoxes
        ? el(
            "p",
            {class: "note"},
            `The first ${kMostBoxes} of ${processors.length} processors; all ops are in the part "ops".`,
          )
        : null,
    ),
    section(
      "What crosses between processors",
      report.crossings.length === 0 ? el("p", {class: "note"}, "Nothing crosses.") : matrix(report.crossings),
      report.crossings.length === 0
        ? null
        : table({
            name: "crossings",
            caption: "Tensors that cross, all times of a step together",
            rows: report.crossings,
            sort: [4, -1],
            filter: (one) => one.name,
            columns: [
              {head: `from ${processorWord()}`, value: (one) => one.from},
              {head: `to ${processorWord()}`, value: (one) => one.to},
              {head: "tensor", value: (one) => one.name},
              {head: "times", value: (one) => one.times},
              {head: "bytes", value: (one) => one.bytes, text: (one) => byteCount(one.bytes)},
            ],
          }),
    ),
    section(
      "Links",
      report.links.length === 0
        ? el("p", {class: "note"}, "Nothing goes over a link.")
        : table({
            name: "links",
            caption: "Links, over all replicas; what has no link of its own goes over those of others",
            rows: report.links,
            sort: [2, -1],
            filter: (link) => link.name,
            columns: [
              {head: "link", value: (link) => link.name},
              {head: "bytes", value: (link) => link.bytes, text: (link) => byteCount(link.bytes)},
              {head: "busy", value: (link) => link.busySeconds, text: (link) => duration(link.busySeconds)},
              {
                head: "share of the step",
                value: (link) => (report.seconds > 0 ? link.busySeconds / report.seconds : 0),
                text: (link) => percentage(link.busySeconds / report.seconds),
                bar: (link) => link.busySeconds / report.seconds,
              },
            ],
          }),
    ),
  ];
}
