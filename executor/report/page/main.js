// The page: reads the data, makes the parts when they are opened first, and keeps the open one in the address.
import {comparisonPage} from "./comparison.js";
import {el} from "./dom.js";
import {printable, shortText} from "./format.js";
import {memoryPart} from "./memory.js";
import {modelPart} from "./model.js";
import {opsPart} from "./ops.js";
import {overview} from "./overview.js";
import {callProcessors} from "./processors.js";
import {unfolded} from "./run_data.js";
import {timelinePart} from "./timeline.js";
import {trainingPart} from "./training.js";
import {onView, setView, viewOf} from "./view.js";

const data = JSON.parse(document.getElementById("data").textContent);
const firstRun = data.kind === "run" ? data.report : data.report.strategies.find((one) => one.run)?.run;
callProcessors(firstRun?.processorKind);

function runParts() {
  const report = unfolded(data.report);
  const parts = [["overview", () => overview(report)]];
  if (data.timeline) parts.push(["timeline", () => timelinePart(data)]);
  parts.push(["memory", () => memoryPart(report, data)]);
  if (report.ops?.length > 0) parts.push(["ops", () => opsPart(report)], ["model", () => modelPart(report)]);
  if (report.training) parts.unshift(["training", () => trainingPart(report)]);
  return parts;
}

function heading() {
  const what = data.kind === "run" ? data.report.strategy : `${data.report.strategies.length} strategies`;
  const on = firstRun?.device ?? "";
  document.title = `${shortText(data.report.model.split("/").pop(), 60)}: ${shortText(what, 60)}`;
  document
    .getElementById("head")
    .replaceChildren(
      el("h1", {}, shortText(data.report.model, 90)),
      el("p", {}, `${printable(what).slice(0, 300)}${on === "" ? "" : ` on ${printable(on)}`}`),
    );
}

function showParts(parts, first) {
  const made = new Map();
  const tabs = document.getElementById("tabs");
  const main = document.getElementById("main");
  const buttons = new Map(
    parts.map(([name]) => [
      name,
      el(
        "button",
        {type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "main", click: () => open(name)},
        name,
      ),
    ]),
  );
  if (parts.length > 1) tabs.replaceChildren(...buttons.values());
  tabs.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    const names = parts.map(([name]) => name);
    const next =
      names[(names.indexOf(document.activeElement.id.slice(4)) + step + names.length) % names.length];
    buttons.get(next).focus();
    open(next);
  });
  function open(name) {
    setView({tab: name === first ? "" : name});
    if (!made.has(name))
      made.set(
        name,
        el(
          "div",
          {role: "tabpanel", "aria-labelledby": `tab-${name}`},
          parts.find(([one]) => one === name)[1](),
        ),
      );
    for (const [one, button] of buttons) {
      button.setAttribute("aria-selected", `${one === name}`);
      button.tabIndex = one === name ? 0 : -1;
    }
    main.replaceChildren(made.get(name));
  }
  const wanted = () => (buttons.has(viewOf("tab")) ? viewOf("tab") : first);
  open(wanted());
  onView(() => open(wanted()));
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
}

heading();
if (data.kind === "comparison") {
  showParts([["comparison", () => comparisonPage(data)]], "comparison");
} else {
  const parts = runParts();
  showParts(parts, parts.some(([name]) => name === data.view) ? data.view : parts[0][0]);
}
document.documentElement.dataset.ready = "1";
