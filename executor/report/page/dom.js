// Elements. Text of the model gets into the page as text nodes and attributes alone, never as markup.
import {piecesOf} from "./format.js";

/// An element with attributes, listeners (functions) and children: elements, texts, or null for none.
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/// The same for a drawing.
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

/// A text that may go on in the next line behind a slash and the like, as the children of an element.
export function breakable(text) {
  return piecesOf(text).flatMap((piece, i) => (i === 0 ? [piece] : [el("wbr"), piece]));
}

/// A choice of words: `words` are pairs of a value and what is shown.
export function choice(label, words, value, change) {
  const select = el(
    "select",
    {change: () => change(select.value)},
    words.map(([one, text]) => el("option", {value: one, selected: `${one}` === `${value}`}, text)),
  );
  return el("label", {class: "choice"}, `${label} `, select);
}

/// A switch.
export function tick(label, value, change) {
  const box = el("input", {type: "checkbox", change: () => change(box.checked)});
  box.checked = value;
  return el("label", {class: "choice"}, box, ` ${label}`);
}

/// A heading with what belongs to it.
export function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), ...children);
}

/// A canvas as wide as its parent and `height` high in CSS pixels, sharp on every screen. Calls draw(context,
/// width, height) in the next frame, and whenever the width or the colours change; `redraw` asks for it.
export function picture(height, label, draw) {
  const canvas = el("canvas", {role: "img", "aria-label": label, tabindex: "0"});
  canvas.style.height = `${height}px`;
  const drawNow = () => {
    const width = canvas.clientWidth;
    if (width === 0) return;
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  // A mouse tells of more movements than there are frames.
  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      drawNow();
    });
  };
  new ResizeObserver(redraw).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("beforeprint", drawNow);
  return {canvas, redraw};
}

/// The value of a colour of the style sheet.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
