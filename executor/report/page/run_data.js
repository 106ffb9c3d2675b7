// A run's data in the form that the parts of the page read.
import {ranges} from "./format.js";
import {processorLabel, processorWord} from "./processors.js";

function objectsOf({keys, rows}) {
  return rows.map((row) =>
    Object.fromEntries(keys.map((key, i) => [key, row[i]]).filter(([, value]) => value !== null)),
  );
}

/// The report with one entry for each processor, and for each op of each processor.
export function unfolded(report) {
  const each = (entries) =>
    entries.flatMap((one) => one.processors.map((number) => ({...one, processor: number})));
  const processors = each(report.processors).sort((a, b) => a.processor - b.processor);
  return {...report, processors, ops: each(report.ops ? objectsOf(report.ops) : [])};
}

/// The share of the step that is no part of the path.
export function shareOfCall(report) {
  return Math.max(0, 1 - report.path.reduce((sum, part) => sum + part.share, 0));
}

/// "ipu 3", "ipu 4-1023 (1,020 alike) io"
export function laneLabel(lane) {
  return `${processorLabel(lane.processors)}${lane.lane === "io" ? " io" : ""}`;
}

/// Events as objects, with their flows and, by lane, in the order of time.
export function readTimeline(packed) {
  const events = packed.events.map(
    ([lane, start, length, name, activity, microBatch, bytes, flow, block, after, onPath], row) => ({
      row,
      lane,
      start,
      end: start + length,
      name: packed.names[name],
      activity,
      microBatch,
      bytes,
      flow,
      block,
      after,
      onPath: onPath === 1,
    }),
  );
  const lanes = packed.lanes.map((lane) => ({...lane, label: laneLabel(lane), events: [], folded: []}));
  const flows = new Map();
  for (const event of events) {
    lanes[event.lane].events.push(event);
    if (event.flow < 0) continue;
    if (!flows.has(event.flow)) flows.set(event.flow, []);
    flows.get(event.flow).push(event);
  }
  for (const [lane, start, length, iterations] of packed.folded)
    lanes[lane].folded.push({start, end: start + length, iterations});
  return {...packed, events, lanes, flows, length: packed.seconds * 1e9};
}

/// "send pool1 to ipu 1"
export function eventLabel(timeline, event) {
  const name = event.name;
  switch (event.activity) {
    case 0:
      return name;
    case 1: {
      const flow = timeline.flows.get(event.flow) ?? [event];
      if (flow[0] !== event) return `receive ${name} from ${processorWord()} ${timeline.lanes[flow[0].lane].processors[0]}`;
      const receivers = [...new Set(flow.slice(1).flatMap((one) => timeline.lanes[one.lane].processors))];
      return receivers.length === 0 ? `exchange ${name}` : `send ${name} to ${processorWord()} ${ranges(receivers)}`;
    }
    case 2:
      return `exchange ${name} between replicas`;
    case 3:
      return `exchange ${name} between devices of a cut`;
    case 4:
      return `copy ${name} between tiles`;
    case 5:
      return `load ${name}`;
    case 6:
      return `store ${name}`;
    case 7:
      return `load ${name} from streaming memory`;
    default:
      return `store ${name} to streaming memory`;
  }
}
