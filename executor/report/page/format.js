// Figures as people read them.

/// "1.20 ms"
export function duration(seconds) {
  const units = [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "us"],
    [1e-9, "ns"],
  ];
  if (seconds === 0) return "0 s";
  // What three digits round up to a thousand is one of the next unit.
  const [size, unit] = units.find(([one]) => Math.abs(seconds) >= 0.9995 * one) ?? [1e-9, "ns"];
  const number = seconds / size;
  return `${Math.abs(number) < 999.5 ? number.toPrecision(3) : count(Math.round(number))} ${unit}`;
}

/// "1,024"
export function count(number) {
  return number.toLocaleString("en-US");
}

function scaled(size, step, units) {
  let unit = 0;
  while (Math.abs(size) >= step && unit + 1 < units.length) {
    size /= step;
    ++unit;
  }
  return [size, units[unit]];
}

/// "1.50 MiB"
export function byteCount(bytes) {
  const [size, unit] = scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
  return unit === "B" ? `${Math.round(size)} B` : `${size.toFixed(2)} ${unit}`;
}

/// "4.09 G"
export function quantity(number) {
  const [size, unit] = scaled(number, 1000, ["", "k", "M", "G", "T", "P"]);
  return unit === "" ? `${Math.round(size * 100) / 100}` : `${size.toFixed(2)} ${unit}`;
}

/// "1,340.2"
export function rate(number) {
  return number.toLocaleString("en-US", {maximumFractionDigits: 1, minimumFractionDigits: 1});
}

/// "12.3%", "0.0045%"
export function percentage(share) {
  if (!Number.isFinite(share)) return "";
  const percent = 100 * share;
  if (Math.abs(percent) >= 1) return `${percent.toFixed(1)}%`;
  return percent === 0 || Math.abs(percent) >= 1e-4 ? `${Number(percent.toPrecision(2))}%` : "<0.0001%";
}

/// "0-3, 7"
export function ranges(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length;) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end] + 1) ++end;
    parts.push(end === i ? `${numbers[i]}` : `${numbers[i]}-${numbers[end]}`);
    i = end + 1;
  }
  return parts.length > 6 ? `${parts.slice(0, 6).join(", ")}, ...` : parts.join(", ");
}

/// Characters that would turn or hide what stands around them are shown as their numbers.
export function printable(text) {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

// Behind these a name may go on in the next line.
const kBreaks = /(?<=[/_:+=])|(?<=[.,-])(?=[A-Za-z])/;

/// The pieces of a text between which a line may end, but for spaces.
export function piecesOf(text) {
  return text.split(kBreaks);
}

/// Letters of the longest piece that a line cannot end in.
export function longestPiece(text) {
  return Math.max(...text.split(/\s+/).flatMap((word) => piecesOf(word).map((piece) => piece.length)));
}

/// Not more than `most` letters.
export function shortText(text, most = 60) {
  const letters = printable(text);
  return letters.length > most ? `${letters.slice(0, most - 1)}…` : letters;
}
