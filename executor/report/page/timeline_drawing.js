// Draws a timeline on a canvas. Drawing of a lane begins at the first visible event and leaves out what would fall on a
// pixel that is drawn already: a hundred thousand events are as fluid as a hundred.
import {colour} from "./dom.js";
import {shortText} from "./format.js";
import {eventLabel} from "./run_data.js";
import {timeTicks} from "./ticks.js";

export const kGutter = 150;
export const kAxis = 24;
export const kLane = 22;
const kMostArrows = 400;

/// The place of the first event that ends after `time`.
export function firstAfter(events, time) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle].end <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// Draws what a view shows: its stretch of time, its lanes, what is selected.
export class TimelineDrawing {
  constructor(view) {
    this.view = view;
  }

  draw(context, width, height) {
    const {lanes} = this.view.timeline;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const ink = colour("ink");
    context.save();
    context.beginPath();
    context.rect(0, kAxis, width, height - kAxis);
    context.clip();
    lanes.forEach((lane, i) => {
      const y = this.view.y(i);
      if (y + kLane < kAxis || y > height) return;
      context.fillStyle = colour(i % 2 ? "stripe" : "paper");
      context.fillRect(0, y, width, kLane);
      this.drawLane(context, lane, y, width);
      context.fillStyle = colour("paper");
      context.fillRect(0, y, kGutter, kLane);
      context.fillStyle = ink;
      context.fillText(lane.label.length > 24 ? `${lane.label.slice(0, 23)}…` : lane.label, 4, y + kLane / 2);
    });
    this.nameCall(context, width);
    if (this.view.showArrows) this.drawArrows(context, width);
    if (this.view.selected) this.outline(context, this.view.selected, width, colour("accent"), 3);
    context.restore();
    this.drawAxis(context, width, ink);
  }

  drawLane(context, lane, y, width) {
    for (const folded of lane.folded) {
      const left = Math.max(kGutter, this.view.x(folded.start, width));
      const right = Math.min(width, this.view.x(folded.end, width));
      if (right <= kGutter || left >= width) continue;
      this.hatch(context, left, right, y);
      if (right - left > 120)
        this.text(
          context,
          `${folded.iterations.toLocaleString("en-US")} iterations like those before`,
          left,
          right,
          y,
          colour("ink"),
        );
    }
    let drawn = -1;
    const path = [];
    // Narrow neighbours of one colour are one rectangle.
    let box = null;
    const fill = () => {
      if (!box) return;
      context.fillStyle = box.style;
      context.fillRect(box.left, y + 2, box.right - box.left, kLane - 4);
      box = null;
    };
    for (
      let i = firstAfter(lane.events, this.view.from);
      i < lane.events.length && lane.events[i].start < this.view.to;
      ++i
    ) {
      const event = lane.events[i];
      const left = Math.max(kGutter, this.view.x(event.start, width));
      const right = Math.min(width, this.view.x(event.end, width));
      if (right <= drawn && right - left < 1) {
        // All that ends on a pixel that is drawn already is passed over at once.
        const until = this.view.from + ((drawn - kGutter) / (width - kGutter)) * (this.view.to - this.view.from);
        i = Math.max(i, firstAfter(lane.events, until) - 1);
        continue;
      }
      drawn = Math.max(right, left + 1);
      const style = this.view.modes[this.view.mode](event);
      const until = left + Math.max(1, right - left - (right - left > 3 ? 0.5 : 0));
      if (box && box.style === style && right - left <= 3 && left <= box.right + 0.5) {
        box.right = Math.max(box.right, until);
      } else {
        fill();
        box = {left, right: until, style};
      }
      if (this.view.showPath && event.onPath) path.push(event);
      if (right - left > 40) {
        fill();
        this.text(context, eventLabel(this.view.timeline, event), left, right, y, this.inkOn(style));
      }
    }
    fill();
    const pathColour = colour("path");
    for (const event of path) this.outline(context, event, width, pathColour, 2);
  }

  // Before the first step there is nothing but the host's call.
  nameCall(context, width) {
    const first = this.view.timeline.events.reduce((least, event) => Math.min(least, event.start), Infinity);
    if (this.view.timeline.call < 0.9 * first) return;
    const left = Math.max(kGutter, this.view.x(0, width));
    const right = Math.min(width, this.view.x(this.view.timeline.call, width));
    if (right - left > 100) this.text(context, "the host's call", left, right, this.view.y(0), colour("quiet"));
  }

  hatch(context, left, right, y) {
    context.fillStyle = colour("fold");
    context.fillRect(left, y + 3, right - left, kLane - 6);
    context.save();
    context.beginPath();
    context.rect(left, y + 3, right - left, kLane - 6);
    context.clip();
    context.strokeStyle = colour("line");
    context.lineWidth = 1;
    context.beginPath();
    for (let x = left - kLane; x < right; x += 8) {
      context.moveTo(x, y + kLane);
      context.lineTo(x + kLane, y);
    }
    context.stroke();
    context.restore();
  }

  inkOn(fill) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16));
    return 0.3 * red + 0.59 * green + 0.11 * blue > 130 ? "#000" : "#fff";
  }

  text(context, text, left, right, y, ink) {
    const letters = Math.floor((right - left - 6) / 6);
    if (letters < 3) return;
    context.fillStyle = ink;
    context.fillText(shortText(text, letters), left + 3, y + kLane / 2);
  }

  // A frame, or of an event that is too narrow for one a line below it.
  outline(context, event, width, style, thick) {
    const left = Math.max(kGutter, this.view.x(event.start, width));
    const right = Math.min(width, this.view.x(event.end, width));
    if (right < kGutter || left > width) return;
    if (right - left < 4 * thick) {
      context.fillStyle = style;
      context.fillRect(left, this.view.y(event.lane) + kLane - 4, Math.max(1, right - left), 3);
      return;
    }
    context.strokeStyle = style;
    context.lineWidth = thick;
    context.strokeRect(
      left + thick / 2,
      this.view.y(event.lane) + 1 + thick / 2,
      Math.max(1, right - left - thick),
      kLane - 2 - thick,
    );
  }

  // From each sender to its receivers, while there are few enough to be told apart.
  drawArrows(context, width) {
    const visible = [];
    for (const flow of this.view.timeline.flows.values()) {
      const [sender] = flow;
      if (sender.end < this.view.from || sender.start > this.view.to) continue;
      visible.push(flow);
      if (visible.length > kMostArrows) return;
    }
    context.strokeStyle = colour("arrow");
    context.fillStyle = colour("arrow");
    context.lineWidth = 1;
    for (const [sender, ...receivers] of visible) {
      for (const receiver of receivers) {
        if (receiver.lane === sender.lane) continue;
        const [left, right] = [
          this.view.x(sender.start, width),
          this.view.x((receiver.start + receiver.end) / 2, width),
        ];
        if (left < kGutter || right < kGutter) continue;
        const [from, to] = [this.view.y(sender.lane) + kLane / 2, this.view.y(receiver.lane) + kLane / 2];
        context.beginPath();
        context.moveTo(left, from);
        context.lineTo(right, to);
        context.stroke();
        context.beginPath();
        context.arc(right, to, 2.5, 0, 2 * Math.PI);
        context.fill();
      }
    }
  }

  drawAxis(context, width, ink) {
    context.fillStyle = colour("paper");
    context.fillRect(0, 0, width, kAxis);
    context.fillStyle = ink;
    context.strokeStyle = colour("line");
    context.lineWidth = 1;
    const most = (width - kGutter) / 110;
    for (const [time, label] of timeTicks(this.view.from, this.view.to, most)) {
      const x = this.view.x(time, width);
      context.beginPath();
      context.moveTo(x, kAxis - 5);
      context.lineTo(x, kAxis);
      context.stroke();
      if (x < width - 50) context.fillText(label, x + 2, kAxis / 2 - 2);
    }
  }
}
