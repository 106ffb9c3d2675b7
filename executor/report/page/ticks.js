// Where marks stand on an axis: at round figures.
import {colour} from "./dom.js";
import {byteCount} from "./format.js";

const kRoundSteps = [1, 2, 5, 10];

function roundStep(length, most) {
  const rough = length / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * (kRoundSteps.find((one) => one * power >= rough * 0.999999) ?? 10);
}

/// At most about `most` round figures from `low` to `high`.
export function roundTicks(low, high, most) {
  if (!(high > low)) return [low];
  const step = roundStep(high - low, most);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/// Round figures for a logarithmic axis: powers of ten, and what divides them where there is room.
export function logarithmicTicks(low, high, most) {
  const between = (factors) => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
      for (const factor of factors) {
        const tick = Number((factor * 10 ** power).toPrecision(3));
        if (tick >= low && tick <= high) ticks.push(tick);
      }
    }
    return ticks;
  };
  const dense = [[1, 2, 5], [1, 3], [1]].map(between).find((ticks) => ticks.length <= most) ?? [];
  return dense.length > 1 ? dense : roundTicks(low, high, most);
}

// Round counts of bytes in a binary unit, from 0.
function byteTicks(high, most) {
  const unit = 1024 ** Math.max(0, Math.min(4, Math.floor(Math.log2(Math.max(high, 1)) / 10)));
  return roundTicks(0, high / unit, most).map((count) => count * unit);
}

/// "200 MiB" of "200.00 MiB".
export function withoutZeros(text) {
  return text.replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
}

/// Writes an axis of memory up to `highest` bytes; `y` gives the height of a count.
export function drawByteTicks(context, highest, y) {
  context.fillStyle = colour("ink");
  for (const bytes of byteTicks(highest * 0.97, 5)) context.fillText(withoutZeros(byteCount(bytes)), 2, y(bytes) + 4);
}

/// Times in nanoseconds as [time, "1.5 ms"], all with the digits that tell them apart.
export function timeTicks(from, to, most) {
  if (!(to > from)) return [];
  const step = roundStep(to - from, most);
  return roundTicks(from, to, most).map((time) => {
    const [size, unit] = [
      [1e9, "s"],
      [1e6, "ms"],
      [1e3, "us"],
      [1, "ns"],
    ].find(([one]) => Math.max(Math.abs(time), step) >= one) ?? [1, "ns"];
    const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
    return [time, `${(time / size).toFixed(Math.min(6, digits))} ${unit}`];
  });
}
