// speedscope, in chromium without a window: it loads a script beside the page by itself, which hands it the trace,
// presses Ctrl+S as a person would, and writes what speedscope saves, its own format, into the page.
import {existsSync, mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {inBrowser} from "./browser.mjs";

export const name = "speedscope";

/** Gives the slices of each track and what speedscope complained of; folder: where the package lies. */
export async function read(trace, folder) {
  const page = join(folder, "node_modules", "speedscope", "dist", "release", "index.html");
  if (!existsSync(page)) throw new Error(`${page}: not there (tools/setup --browser)`);
  const work = mkdtempSync(join(tmpdir(), "podium-speedscope-"));
  try {
    const script = join(work, "load.js");
    writeFileSync(script, `(${inPage})(${JSON.stringify(Buffer.from(JSON.stringify(trace)).toString("base64"))});`);
    const found = await inBrowser(`file://${page}#localProfilePath=${script}`, join(work, "profile"),
                                  'document.getElementById("saved")?.textContent');
    const {saved, complaints} = JSON.parse(Buffer.from(found, "base64").toString());
    return {tracks: tracksOf(JSON.parse(saved)), complaints};
  } finally {
    rmSync(work, {recursive: true, force: true, maxRetries: 5});
  }
}

// Runs in the page.
function inPage(bytes) {
  const complaints = [];
  for (const kind of ["warn", "error"]) console[kind] = (...words) => complaints.push(words.join(" "));
  window.addEventListener("error", (event) => complaints.push(event.message));
  const write = (saved) => {
    const text = new TextEncoder().encode(JSON.stringify({saved, complaints}));
    const element = document.createElement("pre");
    element.id = "saved";
    let binary = "";
    for (const byte of text) binary += String.fromCharCode(byte);
    element.textContent = btoa(binary);
    document.body.append(element);
  };
  const makeUrl = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    blob.text().then(write);
    return makeUrl.call(URL, blob);
  };
  window.speedscope.loadFileFromBase64("trace.json", bytes);
  const save = () => {
    if (document.getElementById("saved") !== null) return;
    window.dispatchEvent(new KeyboardEvent("keydown", {key: "s", ctrlKey: true}));
    setTimeout(save, 200);
  };
  setTimeout(save, 200);
}

// Of "ipu 0 (pid 0), compute (tid 0)".
const TRACK = /^(.*) \(pid (\d+)\), (.*) \(tid (\d+)\)$/s;

function tracksOf(file) {
  return file.profiles.map((profile) => {
    const [, process, pid, thread, tid] = TRACK.exec(profile.name) ?? [null, profile.name, -1, "", -1];
    return {pid: Number(pid), tid: Number(tid), process, thread, slices: slicesOf(profile, file.shared.frames)};
  });
}

function slicesOf(profile, frames) {
  const slices = [];
  const open = [];
  for (const {type, frame, at} of profile.events) {
    if (type === "O") {
      const slice = {name: frames[frame].name, start: at, end: NaN, depth: open.length};
      slices.push(slice);
      open.push(slice);
    } else {
      open.pop().end = at;
    }
  }
  return slices;
}
