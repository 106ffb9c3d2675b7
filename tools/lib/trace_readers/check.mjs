// Hands traces to two programs of other people that draw them, and checks that all that the file says arrives:
// every slice of every track with its name, its times and how deep it lies; and that nobody complains.
// check.mjs FOLDER FILE.json...: FOLDER is where tools/setup --browser put the readers.
import {readFileSync} from "node:fs";
import * as devtools from "./devtools.mjs";
import {differenceOf, saidBy} from "./said.mjs";
import * as speedscope from "./speedscope.mjs";

// speedscope tells slices by name and arguments, shows them so, and begins each track at its first slice.
const asShown = {
  [devtools.name]: (track) => track.slices,
  [speedscope.name]: (track) => track.slices.map((slice) => ({
    ...slice,
    name: slice.name + (slice.arguments ? ` ${JSON.stringify(slice.arguments)}` : ""),
    start: slice.start - track.slices[0].start,
    end: slice.end - track.slices[0].start,
  })),
};

const titleOf = (track) => `${track.process}, ${track.thread}`;

function faultsOf(said, {tracks, complaints}, shown) {
  const faults = complaints.map((text) => `it says: ${text}`);
  if (tracks.length !== said.length) faults.push(`${tracks.length} tracks found, ${said.length} needed`);
  for (const track of said) {
    const found = tracks.find((one) => one.pid === track.pid && one.tid === track.tid);
    if (found === undefined) {
      faults.push(`${titleOf(track)}: no such track found`);
      continue;
    }
    if (titleOf(found) !== titleOf(track)) faults.push(`track ${titleOf(found)} found, ${titleOf(track)} needed`);
    const difference = differenceOf(shown(track), found.slices);
    if (difference !== null) faults.push(`${titleOf(track)}: ${difference}`);
  }
  return faults;
}

const [folder, ...files] = process.argv.slice(2);
let failed = false;
for (const file of files) {
  const trace = JSON.parse(readFileSync(file));
  const said = saidBy(trace);
  const count = said.reduce((sum, track) => sum + track.slices.length, 0);
  for (const reader of [devtools, speedscope]) {
    const faults = faultsOf(said, await reader.read(trace, folder), asShown[reader.name]);
    for (const fault of faults.slice(0, 10)) process.stdout.write(`${file}: ${reader.name}: ${fault}\n`);
    if (faults.length > 10) process.stdout.write(`${file}: ${reader.name}: ${faults.length - 10} more\n`);
    if (faults.length === 0) process.stdout.write(`${file}: ${reader.name}: ${count} slices on ${said.length} tracks, all there\n`);
    failed ||= faults.length > 0;
  }
}
process.exitCode = failed ? 1 : 0;
