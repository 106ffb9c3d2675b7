// What a trace of podium says, read as the format is written: every slice of every track, with how deep it lies.
// Readers are held against it. Begins and ends are paired by a stack for each track; arrows by their ids.

/** A track's slices in the order in which they begin: {name, arguments, start, end, depth}. */
export function saidBy(trace) {
  const tracks = new Map();
  const processes = new Map();
  const open = new Map();
  for (const event of trace.traceEvents) {
    const key = `${event.pid}/${event.tid}`;
    if (event.name === "process_name") processes.set(event.pid, event.args.name);
    if (event.name === "thread_name") {
      tracks.set(key, {pid: event.pid, tid: event.tid, process: processes.get(event.pid), thread: event.args.name, slices: []});
      open.set(key, []);
    }
    if (event.ph === "B") {
      const slice = {name: event.name, arguments: event.args, start: event.ts, end: NaN, depth: open.get(key).length};
      tracks.get(key).slices.push(slice);
      open.get(key).push(slice);
    }
    if (event.ph === "E") open.get(key).pop().end = event.ts;
  }
  return [...tracks.values()].filter((track) => track.slices.length > 0);
}

const NEAR = 1e-4;  // microseconds: what doubles lose of a long time, far less than the nanosecond of the file

/** How `found`, a reader's slices of a track, differ from what was said; null where they do not. */
export function differenceOf(said, found) {
  if (found.length !== said.length) return `${found.length} slices found, ${said.length} needed`;
  for (let i = 0; i < said.length; ++i) {
    const is = found[i];
    const should = said[i];
    const same = is.name === should.name && is.depth === should.depth &&
      Math.abs(is.start - should.start) < NEAR && Math.abs(is.end - should.end) < NEAR;
    if (!same) return `slice ${i}: ${describe(is)} found, ${describe(should)} needed`;
  }
  return null;
}

const describe = (slice) => `${slice.start}-${slice.end} ${"> ".repeat(slice.depth)}${JSON.stringify(slice.name)}`;
