// Behind whom a processor is idle, where the report says that (`awaited`), else for what kind of thing it waits. What is
// idle behind a kind of work has its colour, hatched.
import {kBusy, kIdle} from "./colours.js";
import {duration, percentage} from "./format.js";
import {processorWord} from "./processors.js";

const kVerbs = {
  compute: "computing",
  exchange: "sending",
  collective: "exchanging with its replicas",
  groupCollective: "exchanging with the devices of its cut",
  tileCopy: "copying between its tiles",
  hostLoad: "loading from the host",
  hostStore: "storing to the host",
  remoteLoad: "loading from streaming memory",
  remoteStore: "storing to streaming memory",
};

const hatched = (colour) => `repeating-linear-gradient(135deg, ${colour} 0 2px, var(--fold) 2px 6px)`;

const kBehind = [
  ...kBusy.map(([key, text, colour]) => [key, `idle behind ${text}`, hatched(colour)]),
  ["call", "idle behind the host's call", "var(--fold)"],
  ["rest", "idle behind what takes less", hatched("#808080")],
];

const sumOf = (figures) => figures.reduce((a, b) => a + b, 0);
const kindOf = (awaited) => (awaited.processor === undefined ? "call" : awaited.activity);
const whoIs = (awaited) =>
  awaited.processor === undefined
    ? "the host's call"
    : `${processorWord()} ${awaited.processor} ${kVerbs[awaited.activity]}`;

/// Whether the report says behind whom its processors are idle.
export function saysBehindWhom(report) {
  return report.processors.some((one) => one.awaited?.length > 0);
}

/// What a step of a processor is made of, as kinds of bars.
export function timeKinds(report) {
  return [...kBusy, ...(saysBehindWhom(report) ? kBehind : kIdle)];
}

/// The seconds of a processor in the order of these kinds; they sum up to the step.
export function timeParts(report, one) {
  const busy = kBusy.map(([key]) => one.busySeconds[key]);
  const idle = kIdle.map(([key]) => one.idleSeconds[key]);
  if (!saysBehindWhom(report)) return [...busy, ...idle];
  const awaited = one.awaited ?? [];
  const behind = kBehind.map(([key]) => sumOf(awaited.filter((who) => kindOf(who) === key).map((who) => who.seconds)));
  const rest = sumOf(idle) - sumOf(behind);
  behind[behind.length - 1] = rest > 1e-6 * report.seconds ? rest : 0;
  return [...busy, ...behind];
}

function listed(report, awaited) {
  return awaited.map((who) => `${whoIs(who)} ${duration(who.seconds)} (${percentage(who.seconds / report.seconds)})`);
}

/// Of each kind, who is waited for; empty where it is no wait, or nobody in particular.
export function waitNotes(report, one) {
  return timeKinds(report).map((kind, i) => {
    if (i < kBusy.length || kind[0] === "call") return "";
    return listed(report, (one.awaited ?? []).filter((who) => kindOf(who) === kind[0])).join(", ");
  });
}

/// "gpu 1 computing 3.1 ms (31.0%), the host's call 20 us (0.20%)": most of what a processor is idle behind.
export function mostlyBehind(report, one) {
  return listed(report, (one.awaited ?? []).slice(0, 2)).join(", ");
}
