// A run's data in the form that the parts of the page read.
import {ranges} from "./format.js";

/// The report with one entry a processor, and the timeline with events as objects' columns. `report` may be that of
/// a strategy in a comparison, which has no timeline.
export function unfolded(report) {
  const processors = [];
  for (const one of report.processors) {
    for (const number of one.processors) processors[number] = {...one, processor: number};
  }
  return {...report, processors};
}

/// "ipu 3", "ipu 4-1023 (1020 alike)"
export function laneLabel(lane) {
  const alike = lane.processors.length > 1 ? ` (${lane.processors.length} alike)` : "";
  return `ipu ${ranges(lane.processors)}${lane.lane === "io" ? " io" : ""}${alike}`;
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
      if (flow[0] !== event) return `receive ${name} from ipu ${timeline.lanes[flow[0].lane].processors[0]}`;
      const receivers = [...new Set(flow.slice(1).flatMap((one) => timeline.lanes[one.lane].processors))];
      return receivers.length === 0 ? `exchange ${name}` : `send ${name} to ipu ${ranges(receivers)}`;
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
