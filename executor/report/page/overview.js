// The verdict of a run, where its time goes, what would help, and where the figures come from.
import {el, section} from "./dom.js";
import {stackedBars} from "./bars.js";
import {kBusy} from "./colours.js";
import {byteCount, count, duration, percentage, printable, rate} from "./format.js";
import {phasesSection} from "./phases.js";
import {alikeProcessors, memoryShare, processorLabel, processorWord} from "./processors.js";
import {shareOfCall} from "./run_data.js";
import {table} from "./table.js";
import {mostlyBehind, saysBehindWhom, timeKinds, timeParts, waitNotes} from "./waits.js";

function fact(name, value) {
  return el("div", {class: "fact"}, el("dt", {}, name), el("dd", {}, value));
}

function verdict(report) {
  if (!report.fits) return `This does not fit: ${report.bottleneck} takes more than there is.`;
  return report.cause === "" ? "The step takes no time." : `${report.cause}.`;
}

const kWorthSaying = 1.01; // times as many samples per second

// What helps most of the strategy, or of the machine; undefined where nothing does.
function mostHelpful(list, isOfMachine) {
  return list
    .filter((one) => (one.of === "device") === isOfMachine && one.fits && one.times > kWorthSaying)
    .sort((a, b) => b.times - a.times)[0];
}

/// What would help most, as sentences; nothing where nothing was tried.
function advice(report) {
  const list = report.whatIf ?? [];
  if (list.length === 0) return null;
  const typed = mostHelpful(list, false);
  const machine = mostHelpful(list, true);
  return el(
    "p",
    {class: "advice"},
    typed ? "What would help most: " : "None of the changes below helps.",
    typed ? el("code", {}, printable(typed.change)) : null,
    typed ? ` gives ${typed.times.toFixed(2)} times as many samples per second.` : null,
    machine
      ? ` Of the machine, ${machine.change} counts most: doubled, ${machine.times.toFixed(2)} times as many.`
      : null,
  );
}

/// Facts, as a list.
export function facts(report) {
  const processors = report.replicas * report.processorsPerReplica;
  const [share, memory] = memoryShare(report);
  return el(
    "dl",
    {class: "facts"},
    fact("samples per second", rate(report.samplesPerSecond)),
    fact("time of a step", duration(report.seconds)),
    fact(
      "first output after",
      report.firstOutputSeconds > 0 ? duration(report.firstOutputSeconds) : "none is moved",
    ),
    fact("utilisation", percentage(report.utilisation)),
    fact("largest memory", `${percentage(share)}, ${memory}`),
    fact(
      "processors",
      report.replicas > 1
        ? `${count(processors)} (${count(report.replicas)} replicas of ${count(report.processorsPerReplica)})`
        : count(processors),
    ),
    fact(
      "micro-batches a step",
      `${count(report.microBatches)} of ${count(report.samplesPerMicroBatch)} sample${report.samplesPerMicroBatch === 1 ? "" : "s"}`,
    ),
    fact(
      "numbers",
      report.estimate
        ? "estimated, nothing was computed"
        : `computed, ${duration(report.realSeconds)} on this machine`,
    ),
  );
}

/// A bar of the whole step for each processor. Of those that are alike the first says behind whom it is idle.
export function timeBars(report, name = "time") {
  const partsOf = (one) => timeParts(report, one);
  const ofFirst = (one, text) =>
    text !== "" && one.processors.length > 1 ? `${text} (of ${processorWord()} ${one.processors[0]})` : text;
  return stackedBars({
    name,
    caption: "Time of each processor in a step by cause",
    kinds: timeKinds(report),
    figure: (seconds, row) => `${duration(seconds)} (${percentage(seconds / row.total)})`,
    rows: alikeProcessors(report.processors, partsOf, report.seconds).map((one) => ({
      label: processorLabel(one.processors),
      total: report.seconds,
      parts: one.parts,
      notes: waitNotes(report, one).map((note) => ofFirst(one, note)),
      behind: ofFirst(one, mostlyBehind(report, one)),
    })),
    columns: saysBehindWhom(report)
      ? [{head: "idle mostly behind", value: (row) => row.behind, letters: 200, line: 44}]
      : [],
  });
}

function pathTable(report) {
  return table({
    name: "path",
    caption: "The way back from the end of the step: what it waited for",
    rows: report.path,
    sort: [3, -1],
    filter: (part) => part.name,
    columns: [
      {head: "processor", value: (part) => part.processor},
      {
        head: "does",
        value: (part) => (kBusy.find(([key]) => key === part.activity) ?? [])[1] ?? part.activity,
      },
      {head: "op or tensor", value: (part) => part.name},
      {
        head: "share",
        value: (part) => part.share,
        text: (part) => percentage(part.share),
        bar: (part) => part.share,
      },
      {head: "time", value: (part) => part.seconds, text: (part) => duration(part.seconds)},
      {head: "times", value: (part) => part.times, text: (part) => count(Math.round(part.times))},
      {head: "once", value: (part) => part.stepSeconds, text: (part) => duration(part.stepSeconds)},
      {
        head: "bytes",
        value: (part) => part.stepBytes,
        text: (part) => (part.stepBytes > 0 ? byteCount(part.stepBytes) : ""),
      },
    ],
  });
}

const kMostToType = 1000; // letters: flags are there to be typed

/// Changes that were clocked. Of a machine what is doubled, of a strategy its flags.
export function whatIfs(list, name = "what-if") {
  if (!list || list.length === 0) return null;
  const gain = (one) => Math.max(0, (one.times ?? 0) - 1);
  const most = Math.max(...list.map(gain), 0.01);
  return section(
    "What would help, by the clock",
    table({
      name,
      caption: "Changes and what they bring",
      rows: list,
      columns: [
        {head: "of", value: (one) => (one.of === "device" ? "the machine" : "the strategy")},
        {
          head: "change",
          value: (one) => (one.of === "device" ? `twice: ${one.change}` : one.change),
          letters: kMostToType,
        },
        {
          head: "times as many samples/s",
          value: (one) => one.times ?? 0,
          text: (one) => (one.refused ? "" : one.times.toFixed(2)),
          bar: (one) => gain(one) / most,
        },
        {
          head: "samples/s",
          value: (one) => one.samplesPerSecond ?? 0,
          text: (one) => (one.refused ? "" : rate(one.samplesPerSecond)),
        },
        {head: "fits", value: (one) => (one.refused ? `no: ${one.refused}` : one.fits ? "yes" : "no")},
      ],
    }),
  );
}

function plain(value) {
  return typeof value === "object" ? JSON.stringify(value) : `${value}`;
}

const kNamedValues = [
  {head: "name", value: (row) => row.name},
  {head: "value", value: (row) => row.value, letters: 300},
];

function namedValues(object) {
  return Object.entries(object ?? {}).map(([name, value]) => ({name, value: plain(value)}));
}

/// The machine's numbers with their sources, to be opened.
function machineTable(report) {
  return el(
    "details",
    {},
    el("summary", {}, "the machine's numbers and the source of each"),
    table({
      name: "machine",
      caption: "The machine, as podium info --device prints it, with the source of each number (docs/cost-model.md)",
      rows: namedValues(report.machine),
      columns: [...kNamedValues, {head: "source", value: (row) => report.machineSources?.[row.name] ?? ""}],
      filter: (row) => row.name,
    }),
  );
}

/// What tells the model's file from others, as a sentence; nothing where it is not known.
function fileSentence(file) {
  return file
    ? ` The model's file has ${file.bytes.toLocaleString("en-US")} bytes with the CRC-32 ${file.crc32}.`
    : "";
}

/// What was compared, by which program, for which machine.
export function originOfComparison(report) {
  return section(
    "Where this comes from",
    el("p", {}, `${report.program} compared ${printable(report.model)}.${fileSentence(report.modelFile)}`),
    machineTable(report),
  );
}

function provenance(report) {
  return section(
    "Where this comes from",
    el(
      "p",
      {},
      `${report.program ?? "Podium"} clocked ${printable(report.model)} on ${printable(report.device)}, ${printable(report.strategy)}. `,
      report.estimate
        ? "Nothing was computed: the times are estimates of a machine that is described."
        : "The numbers were computed on this machine's processor; the times are those of the described machine.",
      fileSentence(report.modelFile),
    ),
    table({
      name: "options",
      caption: "Options that are not at their defaults",
      rows: namedValues(report.options),
      columns: kNamedValues,
    }),
    report.machine ? machineTable(report) : null,
  );
}

/// The first part of a run's page.
export function overview(report) {
  return [
    el("p", {class: report.fits ? "verdict" : "verdict bad"}, verdict(report)),
    advice(report),
    facts(report),
    section(
      "Where the time goes",
      el(
        "p",
        {class: "note"},
        saysBehindWhom(report)
          ? "Hatched is idle, in the colour of the work that it is idle behind. A click on a part says behind whom."
          : "Greys are waits.",
      ),
      timeBars(report),
    ),
    section(
      "What the end of the step waited for",
      el("p", {class: "note"}, `The host's call takes ${percentage(shareOfCall(report))} of the step, the rest is this:`),
      pathTable(report),
    ),
    phasesSection(report),
    whatIfs(report.whatIf),
    provenance(report),
  ];
}
