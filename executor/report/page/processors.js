// What the machine's processors are called: one page is of one machine.
import {ranges} from "./format.js";

let word = "ipu";

/// "gpu"
export function processorWord() {
  return word;
}

/// Said once, before anything is drawn.
export function callProcessors(kind) {
  word = kind ?? word;
}

/// "gpu 3", "gpu 4-1023 (1020 alike)"
export function processorLabel(processors) {
  const alike = processors.length > 1 ? ` (${processors.length} alike)` : "";
  return `${word} ${ranges(processors)}${alike}`;
}

/// Processors whose figures differ by less than a five-hundredth of `whole`, as {processors, parts}.
export function alikeProcessors(entries, partsOf, whole) {
  const groups = new Map();
  for (const one of entries) {
    const parts = partsOf(one);
    const key = parts.map((part) => Math.round((500 * part) / Math.max(whole, Number.MIN_VALUE))).join();
    if (!groups.has(key)) groups.set(key, {...one, processors: [], parts});
    groups.get(key).processors.push(one.processor);
  }
  return [...groups.values()];
}
