// Tables that sort at a click on a column's head, and keep only rows that have a text.
import {breakable, el} from "./dom.js";
import {count, longestPiece, printable, shortText} from "./format.js";
import {setView, viewOf} from "./view.js";

const kMostRows = 500;
const kMostLetters = 60; // of a cell, unless its column says otherwise
const kWidestPiece = 24; // in letters: what is longer may break anywhere
const kSentence = 14; // letters of a line of several words, at least

function inOrder(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : `${a}`.localeCompare(`${b}`, "en");
}

const textOf = (column, row) => (column.text ? column.text(row) : `${column.value(row)}`);

/// How wide a column of text has to be so that no word breaks and sentences get no tower of words.
function leastWidth(column, rows) {
  const texts = rows.map((row) => shortText(textOf(column, row), column.letters ?? kMostLetters));
  const line = column.line ?? kSentence;
  const letters = texts.map((text) => Math.max(longestPiece(text), Math.min(text.length, line)));
  return `min-width:calc(${Math.min(Math.max(line, kWidestPiece), Math.max(0, ...letters))}ch + 1.3rem)`;
}

/// `columns`: {head, value(row), text(row)?, bar(row)?: a share from 0 to 1, letters?: how many are shown, line?: how
/// many at least in a line of several words}. `name`
/// is that of the table in the address; `filter` says which text of a row is searched; `pick(row)` is called for a
/// click on a row. Rows for which `isMarked` holds are marked, again whenever the element gets the event "mark".
export function table({
  name,
  caption,
  columns,
  rows,
  sort = null,
  filter = null,
  pick = null,
  isMarked = null,
  most = kMostRows,
}) {
  const widths = columns.map((column) => leastWidth(column, rows.slice(0, most)));
  let lines = [];
  const mark = () => lines.forEach(([row, line]) => line.classList.toggle("marked", isMarked?.(row) === true));
  const body = el("tbody");
  const rowsShown = el("span", {class: "count", role: "status"});
  const inView = viewOf(`${name}.sort`).split(",").map(Number);
  let [place, direction] = inView.length === 2 ? inView : (sort ?? [-1, 1]);
  let wanted = viewOf(`${name}.filter`);
  const heads = columns.map((column, i) => {
    const isNumber = rows.length > 0 && typeof column.value(rows[0]) === "number";
    const head = el(
      "th",
      {scope: "col", class: isNumber ? "number" : null},
      el("button", {type: "button", click: () => turn(i, isNumber)}, column.head),
    );
    return head;
  });
  function turn(i, isNumber) {
    direction = place === i ? -direction : isNumber ? -1 : 1;
    place = i;
    setView({[`${name}.sort`]: `${place},${direction}`});
    fill();
  }
  function cell(column, width, row) {
    const isNumber = typeof column.value(row) === "number";
    const text = textOf(column, row);
    const letters = column.letters ?? kMostLetters;
    const data = el(
      "td",
      {
        class: isNumber ? "number" : null,
        style: isNumber ? null : width,
        title: text.length > letters ? printable(text.slice(0, 300)) : null,
      },
      isNumber ? shortText(text, letters) : breakable(shortText(text, letters)),
    );
    if (column.bar)
      data.append(
        el("span", {
          class: "bar",
          style: `width:${(100 * Math.max(0, Math.min(1, column.bar(row)))).toFixed(1)}%`,
          "aria-hidden": "true",
        }),
      );
    return data;
  }
  function fill() {
    let shown =
      wanted === "" || filter === null
        ? [...rows]
        : rows.filter((row) => filter(row).toLowerCase().includes(wanted.toLowerCase()));
    const column = columns[place];
    if (column) shown.sort((a, b) => direction * inOrder(column.value(a), column.value(b)));
    heads.forEach((head, i) =>
      head.setAttribute("aria-sort", i !== place ? "none" : direction > 0 ? "ascending" : "descending"),
    );
    rowsShown.textContent =
      shown.length > most
        ? `${most} of ${count(shown.length)} rows`
        : `${count(shown.length)} row${shown.length === 1 ? "" : "s"}`;
    lines = shown.slice(0, most).map((row) => {
      const line = el(
        "tr",
        {},
        columns.map((one, i) => cell(one, widths[i], row)),
      );
      if (pick) {
        line.tabIndex = 0;
        line.classList.add("pick");
        line.addEventListener("click", () => pick(row, line));
        line.addEventListener("keydown", (event) => {
          if (event.key === "Enter") pick(row, line);
        });
      }
      return [row, line];
    });
    body.replaceChildren(...lines.map(([, line]) => line));
    mark();
  }
  const search =
    filter === null
      ? null
      : el("input", {
          type: "search",
          placeholder: "filter",
          "aria-label": `filter ${caption}`,
          value: wanted,
          input: (event) => {
            wanted = event.target.value;
            setView({[`${name}.filter`]: wanted});
            fill();
          },
        });
  fill();
  return el(
    "div",
    {class: "table", id: `table-${name}`, mark},
    el("div", {class: "controls"}, search, rowsShown),
    el(
      "div",
      {class: "scroll"},
      el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, heads)), body),
    ),
  );
}
