// Stacked bars in HTML, a row each, with the table of the same figures beside them.
import {el} from "./dom.js";
import {shortText} from "./format.js";
import {table} from "./table.js";

const kMostOfLabel = 40; // letters

function widthOfLabels(rows) {
  return Math.min(kMostOfLabel, Math.max(12, ...rows.map((row) => row.label.length)));
}

/// `rows`: {label, parts: figures in the order of `kinds`, total: the width of a whole bar, mark?: of a limit, notes?: a
/// text of each part}. `kinds`: [key, text, colour]. A click on a part says what is also shown while the mouse is over it.
/// `columns` are more ones of the table, before the figures.
export function stackedBars({name, caption, kinds, rows, figure, most = 64, columns = []}) {
  const used = kinds.map((kind, i) => [kind, i]).filter(([, i]) => rows.some((row) => row.parts[i] > 0));
  const widest = Math.max(...rows.map((row) => Math.max(row.total, row.mark ?? 0)), Number.MIN_VALUE);
  const said = el("p", {class: "note said", role: "status"});
  const textOf = (row, i) => {
    const note = row.notes?.[i] ? `: ${row.notes[i]}` : "";
    return `${row.label}: ${kinds[i][1]} ${figure(row.parts[i], row)}${note}`;
  };
  const bars = rows.slice(0, most).map((row) =>
    el(
      "div",
      {class: "bar-row"},
      el("span", {class: "bar-label", title: row.label.slice(0, 300)}, shortText(row.label, kMostOfLabel)),
      el(
        "div",
        {class: "bar-track"},
        used.map(([[, , colour], i]) =>
          row.parts[i] > 0
            ? el("span", {
                class: "bar-part",
                style: `width:${(100 * row.parts[i]) / widest}%;background:${colour}`,
                title: textOf(row, i),
                click: () => said.replaceChildren(textOf(row, i)),
              })
            : null,
        ),
        row.mark
          ? el("span", {
              class: "bar-mark",
              style: `left:${(100 * row.mark) / widest}%`,
              title: `limit: ${figure(row.mark, row)}`,
            })
          : null,
      ),
    ),
  );
  const legend = el(
    "div",
    {class: "legend"},
    used.map(([[, text, colour]]) => el("span", {}, el("i", {style: `background:${colour}`}), text)),
  );
  const rest =
    rows.length > most ? el("p", {class: "note"}, `${rows.length - most} more rows are in the table`) : null;
  return el(
    "div",
    {},
    legend,
    el("div", {class: "bars", style: `--label:${widthOfLabels(rows)}ch`, "aria-hidden": "true"}, bars),
    said,
    rest,
    el(
      "details",
      {},
      el("summary", {}, "as a table"),
      table({
        name,
        caption,
        rows,
        columns: [
          {head: "", value: (row) => row.label},
          ...columns,
          ...used.map(([[, text], i]) => ({
            head: text,
            value: (row) => row.parts[i],
            text: (row) => figure(row.parts[i], row),
          })),
          {
            head: "all",
            value: (row) => row.parts.reduce((a, b) => a + b, 0),
            text: (row) =>
              figure(
                row.parts.reduce((a, b) => a + b, 0),
                row,
              ),
          },
        ],
      }),
    ),
  );
}
