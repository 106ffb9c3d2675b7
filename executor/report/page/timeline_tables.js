// The timeline in words: the ops of a block, and the events that are in view.
import {byteCount, duration, quantity} from "./format.js";
import {eventLabel} from "./run_data.js";
import {table} from "./table.js";

export const nanosText = (nanos) => duration(nanos / 1e9);

/// Of a block that took `length`; ops are [name, picoseconds, FLOP].
export function opTable(timeline, ops, length) {
  return table({
    name: "block",
    caption: "Ops of this block",
    sort: [1, -1],
    rows: ops.map(([name, picos, flop]) => ({name: timeline.names[name], seconds: picos / 1e12, flop})),
    most: 100,
    columns: [
      {head: "op", value: (op) => op.name},
      {
        head: "time",
        value: (op) => op.seconds,
        text: (op) => duration(op.seconds),
        bar: (op) => (op.seconds * 1e9) / length,
      },
      {head: "FLOP", value: (op) => op.flop, text: (op) => quantity(op.flop)},
    ],
  });
}

export function eventTable(timeline, rows, pick) {
  return table({
    name: "events",
    caption: "Events in view",
    rows,
    most: 200,
    sort: [2, 1],
    pick,
    filter: (event) => eventLabel(timeline, event),
    columns: [
      {head: "lane", value: (event) => timeline.lanes[event.lane].label},
      {head: "does", value: (event) => eventLabel(timeline, event)},
      {head: "start", value: (event) => event.start, text: (event) => nanosText(event.start)},
      {
        head: "time",
        value: (event) => event.end - event.start,
        text: (event) => nanosText(event.end - event.start),
      },
      {head: "micro-batch", value: (event) => event.microBatch},
      {
        head: "bytes",
        value: (event) => event.bytes,
        text: (event) => (event.bytes > 0 ? byteCount(event.bytes) : ""),
      },
    ],
  });
}
