// What the machine's processors are called: one page is of one machine.
import {byteCount, count, ranges} from "./format.js";

let word = "ipu";

/// "gpu"
export function processorWord() {
  return word;
}

/// Said once, before anything is drawn.
export function callProcessors(kind) {
  word = kind ?? word;
}

/// "gpu 3", "gpu 4-1023 (1,020 alike)"
export function processorLabel(processors) {
  const alike = processors.length > 1 ? ` (${count(processors.length)} alike)` : "";
  return `${word} ${ranges(processors)}${alike}`;
}

/// The fullest processor's share of its memory.
export function memoryShare(report) {
  const {memory} = report.processors[report.fullestProcessor];
  const share = memory.capacity > 0 ? memory.peak / memory.capacity : 0;
  return [
    share,
    `${byteCount(memory.peak)} of ${byteCount(memory.capacity)} on ${word} ${report.fullestProcessor}`,
  ];
}

const kMostGroups = 32;

function groupedBy(entries, partsOf, smallest) {
  const groups = new Map();
  for (const one of entries) {
    const parts = partsOf(one);
    const key = parts.map((part) => Math.round(part / smallest)).join();
    if (!groups.has(key)) groups.set(key, {...one, processors: [], parts: parts.map(() => 0)});
    const group = groups.get(key);
    group.processors.push(one.processor);
    parts.forEach((part, i) => (group.parts[i] += part));
  }
  for (const group of groups.values()) group.parts = group.parts.map((sum) => sum / group.processors.length);
  return [...groups.values()];
}

/// Processors whose figures differ by less than a five-hundredth of `whole`, or where these would be many groups by
/// less than a tenth, as {processors, parts}: the means of their figures, beside what else the first has.
export function alikeProcessors(entries, partsOf, whole) {
  for (const share of [500, 100, 30]) {
    const groups = groupedBy(entries, partsOf, Math.max(whole, Number.MIN_VALUE) / share);
    if (groups.length <= kMostGroups) return groups;
  }
  return groupedBy(entries, partsOf, Math.max(whole, Number.MIN_VALUE) / 10);
}
