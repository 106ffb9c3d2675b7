// Chrome DevTools' trace engine, which its Performance panel reads traces with.
import {existsSync} from "node:fs";
import {join} from "node:path";
import {pathToFileURL} from "node:url";

export const name = "DevTools' trace engine";

/** Gives the slices of each track and what the engine complained of; folder: where the package lies. */
export async function read(trace, folder) {
  const entry = join(folder, "node_modules", "@paulirish", "trace_engine", "models", "trace", "trace.js");
  if (!existsSync(entry)) throw new Error(`${entry}: not there (tools/setup --browser)`);
  globalThis.DOMRect ??= class {};
  const complaints = listenToConsole();
  const engine = await import(pathToFileURL(entry));
  const model = engine.TraceModel.Model.createWithAllHandlers();
  await model.parse(structuredClone(trace.traceEvents), {});
  const data = model.parsedTrace().data;
  const tracks = [];
  for (const [pid, process] of data.Renderer.processes) {
    for (const [tid, thread] of process.threads) {
      const slices = thread.entries.map((entry) => ({
        name: entry.name, start: entry.ts, end: entry.ts + entry.dur,
        depth: data.Renderer.entryToNode.get(entry)?.depth,
      }));
      tracks.push({pid, tid, process: data.Meta.processNames.get(pid)?.args.name, thread: thread.name, slices});
    }
  }
  return {tracks, complaints};
}

function listenToConsole() {
  const heard = [];
  for (const kind of ["warn", "error", "assert"]) {
    console[kind] = (...words) => {
      if (kind !== "assert" || !words[0]) heard.push(words.join(" "));
    };
  }
  return heard;
}
