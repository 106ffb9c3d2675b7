// The timeline as people use it: zoom, movement, choice of an event. Lanes keep their events in the order of time. Times
// are nanoseconds; the view is the stretch from `from` to `to`.
import {choice, el, picture, section, tick} from "./dom.js";
import {colourOf, kBusy} from "./colours.js";
import {byteCount, duration, shortText} from "./format.js";
import {eventLabel, readTimeline, shareOfCall} from "./run_data.js";
import {firstAfter, kAxis, kGutter, kLane, TimelineDrawing} from "./timeline_drawing.js";
import {eventTable, nanosText, opTable} from "./timeline_tables.js";
import {onView, setView, viewOf} from "./view.js";

const kHighest = 560;

class TimelineView {
  constructor(packed, call) {
    this.timeline = {...readTimeline(packed), call};
    this.drawing = new TimelineDrawing(this);
    this.modes = {
      activity: (event) => kBusy[event.activity][2],
      microBatch: (event) => colourOf(event.microBatch),
      processor: (event) => colourOf(this.timeline.lanes[event.lane].processors[0]),
    };
    this.readView();
    const height = Math.min(kHighest, kAxis + kLane * this.timeline.lanes.length + 4);
    const {canvas, redraw} = picture(
      height,
      "Timeline of the step; the tables below have the same",
      (context, width, high) => this.drawing.draw(context, width, high),
    );
    Object.assign(this, {canvas, redraw, height});
    this.details = el("div", {class: "details", "aria-live": "polite"});
    this.events = el("div");
    this.listen();
    onView(() => {
      this.readView();
      this.update();
    });
    this.update();
  }

  readView() {
    const [from, to] = viewOf("time").split(",").map(Number);
    [this.from, this.to] = to > from ? [from, to] : [0, Math.max(1, this.timeline.length)];
    this.top = 0;
    this.mode = this.modes[viewOf("colour", "activity")] ? viewOf("colour", "activity") : "activity";
    this.showPath = viewOf("path", "1") === "1";
    this.showArrows = viewOf("arrows", "1") === "1";
    this.selected = this.timeline.events[Number(viewOf("event", "-1"))] ?? null;
  }

  x(time, width) {
    return kGutter + ((time - this.from) / (this.to - this.from)) * (width - kGutter);
  }
  time(x) {
    return this.from + ((x - kGutter) / (this.canvas.clientWidth - kGutter)) * (this.to - this.from);
  }
  y(lane) {
    return kAxis + kLane * lane - this.top;
  }

  move(from, to) {
    const whole = Math.max(this.timeline.length, 1);
    const length = Math.min(Math.max(to - from, 10), whole);
    this.from = Math.min(Math.max(from, 0), whole - length);
    this.to = this.from + length;
    setView({time: length === whole ? "" : `${Math.round(this.from)},${Math.round(this.to)}`});
    this.update();
  }
  zoom(factor, around) {
    this.move(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  scroll(pixels) {
    this.top = Math.min(
      Math.max(0, this.top + pixels),
      Math.max(0, kAxis + kLane * this.timeline.lanes.length + 4 - this.height),
    );
  }

  select(event) {
    if (event === this.selected) return;
    this.selected = event;
    setView({event: event ? event.row : ""});
    if (event && (event.end < this.from || event.start > this.to)) {
      const length = this.to - this.from;
      this.move(event.start - length / 3, event.start + (length * 2) / 3);
    }
    if (event) {
      const y = this.y(event.lane);
      if (y < kAxis || y + kLane > this.height) this.scroll(y - this.height / 2);
    }
    this.update();
  }

  update() {
    this.redraw();
    this.describe();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.listVisible(), 120);
  }

  eventAt(x, y) {
    const number = Math.floor((y - kAxis + this.top) / kLane);
    const lane = this.timeline.lanes[number];
    if (!lane || x < kGutter || y < kAxis) return null;
    const time = this.time(x);
    const slack = (2 * (this.to - this.from)) / this.canvas.clientWidth;
    const event = lane.events[firstAfter(lane.events, time - slack)];
    return event && event.start <= time + slack ? event : null;
  }

  // Where a lane stands still: the lane, and the event that ends the wait, if there is one.
  gapAt(x, y) {
    const lane = this.timeline.lanes[Math.floor((y - kAxis + this.top) / kLane)];
    if (!lane || x < kGutter || y < kAxis) return null;
    const time = this.time(x);
    if (lane.folded.some((folded) => folded.start <= time && time < folded.end)) return null;
    return {lane, next: lane.events[firstAfter(lane.events, time)] ?? null};
  }

  choose(x, y) {
    const event = this.eventAt(x, y);
    this.gap = event ? null : this.gapAt(x, y);
    if (event === this.selected) this.describe();
    else this.select(event);
  }

  linkTo(event) {
    const text = `${shortText(eventLabel(this.timeline, event), 80)} of ${this.timeline.lanes[event.lane].label}`;
    return el("button", {type: "button", class: "link", click: () => this.select(event)}, text);
  }

  describeGap({lane, next}) {
    const cause = next ? this.timeline.events[next.after] : null;
    const awaited = cause ? this.linkTo(cause) : next ? "the host's call" : "the end of the step";
    const until = next ? ` until ${nanosText(next.start)}` : "";
    this.details.replaceChildren(
      el("h3", {}, `${lane.label} stands still${until}`),
      el("p", {}, "It waits for ", awaited, "."),
    );
  }

  listen() {
    const {canvas} = this;
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        if (event.shiftKey) {
          this.scroll(event.deltaY || event.deltaX);
          this.update();
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          this.pan(event.deltaX / canvas.clientWidth);
        } else {
          this.zoom(Math.exp(event.deltaY / 400), this.time(Math.max(kGutter, event.offsetX)));
        }
      },
      {passive: false},
    );
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.drag = {x: event.offsetX, y: event.offsetY, moved: false};
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.drag) {
        const under = this.eventAt(event.offsetX, event.offsetY);
        canvas.title = under
          ? `${shortText(eventLabel(this.timeline, under), 120)}: ${nanosText(under.end - under.start)}`
          : "";
        return;
      }
      const [right, down] = [event.offsetX - this.drag.x, event.offsetY - this.drag.y];
      if (Math.abs(right) + Math.abs(down) < 4 && !this.drag.moved) return;
      this.drag = {x: event.offsetX, y: event.offsetY, moved: true};
      this.scroll(-down);
      this.pan(-right / (canvas.clientWidth - kGutter));
    });
    canvas.addEventListener("pointerup", (event) => {
      if (this.drag && !this.drag.moved) this.choose(event.offsetX, event.offsetY);
      this.drag = null;
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }
  pan(share) {
    const length = this.to - this.from;
    const from = Math.min(
      Math.max(this.from + share * length, 0),
      Math.max(0, this.timeline.length - length),
    );
    this.move(from, from + length);
  }
  key(event) {
    const middle = (this.from + this.to) / 2;
    const actions = {
      "+": () => this.zoom(0.6, middle),
      "=": () => this.zoom(0.6, middle),
      "-": () => this.zoom(1 / 0.6, middle),
      ArrowLeft: () => this.pan(-0.15),
      ArrowRight: () => this.pan(0.15),
      ArrowUp: () => {
        this.scroll(-kLane);
        this.update();
      },
      ArrowDown: () => {
        this.scroll(kLane);
        this.update();
      },
      Home: () => this.move(0, this.timeline.length),
      n: () => this.step(1),
      p: () => this.step(-1),
      c: () => {
        if (this.selected && this.selected.after >= 0)
          this.select(this.timeline.events[this.selected.after] ?? null);
      },
      Escape: () => {
        this.gap = null;
        this.select(null);
        this.describe();
      },
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }
  step(by) {
    if (!this.selected)
      return this.select(
        this.timeline.lanes[0]?.events[firstAfter(this.timeline.lanes[0].events, this.from)] ?? null,
      );
    const {events} = this.timeline.lanes[this.selected.lane];
    const next = events[events.indexOf(this.selected) + by];
    if (next) this.select(next);
  }

  describe() {
    const event = this.selected;
    if (!event && this.gap) {
      this.describeGap(this.gap);
      return;
    }
    if (!event) {
      this.details.replaceChildren(
        el(
          "p",
          {class: "note"},
          "Click an event for what it does and why it started then, or a gap for what is waited for. Wheel or + and - zoom, drag or arrows move, shift and wheel scroll lanes, Home shows all, n and p go to the next and the previous event, c to what it waited for.",
        ),
      );
      return;
    }
    const cause = this.timeline.events[event.after];
    const length = event.end - event.start;
    const ops = event.block >= 0 ? (this.timeline.blocks[event.block] ?? []) : [];
    const moved =
      event.bytes > 0 ? `, ${byteCount(event.bytes)} at ${byteCount(event.bytes / (length / 1e9))}/s` : "";
    this.details.replaceChildren(
      el("h3", {}, shortText(eventLabel(this.timeline, event), 200)),
      el(
        "p",
        {},
        `${this.timeline.lanes[event.lane].label}, micro-batch ${event.microBatch}, from ${nanosText(event.start)} to ${nanosText(event.end)}: ${nanosText(length)}${moved}.`,
        event.onPath ? " The end of the step waited for it." : "",
      ),
      el(
        "p",
        {},
        "It started when ",
        cause ? this.linkTo(cause) : "the host's call",
        cause ? " had ended." : " had come.",
      ),
      ops.length === 0
        ? ""
        : opTable(this.timeline, ops, length),
    );
  }

  // What is in view, for those who cannot see the picture.
  listVisible() {
    const rows = [];
    for (const lane of this.timeline.lanes) {
      for (
        let i = firstAfter(lane.events, this.from);
        i < lane.events.length && lane.events[i].start < this.to && rows.length < 2000;
        ++i
      )
        rows.push(lane.events[i]);
    }
    this.events.replaceChildren(eventTable(this.timeline, rows, (event) => this.select(event)));
  }
}

/// The timeline with its controls and tables.
export function timelinePart(data) {
  const call = shareOfCall(data.report) * data.report.seconds * 1e9;
  const view = new TimelineView(data.timeline, call);
  const set = (name, values) => {
    setView(values);
    view.readView();
    view.update();
  };
  const joined =
    data.timeline.joinedBelow > 0
      ? `Steps of a processor that together take less than ${duration(data.timeline.joinedBelow / 1e9)} are drawn as one. `
      : "";
  const folded =
    data.timeline.foldedIterations > 0
      ? `${data.timeline.foldedIterations.toLocaleString("en-US")} iterations that repeat others are drawn as hatched stretches.`
      : "";
  return [
    section(
      "Timeline of a step",
      el("p", {class: "note"}, `${joined}${folded}`),
      el(
        "div",
        {class: "controls"},
        choice(
          "colour",
          [
            ["activity", "by activity"],
            ["microBatch", "by micro-batch"],
            ["processor", "by stage"],
          ],
          view.mode,
          (value) => set("colour", {colour: value === "activity" ? "" : value}),
        ),
        tick("what the end waited for", view.showPath, (value) => set("path", {path: value ? "" : "0"})),
        tick("arrows", view.showArrows, (value) => set("arrows", {arrows: value ? "" : "0"})),
        el("button", {type: "button", click: () => view.zoom(0.6, (view.from + view.to) / 2)}, "zoom in"),
        el(
          "button",
          {type: "button", click: () => view.zoom(1 / 0.6, (view.from + view.to) / 2)},
          "zoom out",
        ),
        el("button", {type: "button", click: () => view.move(0, view.timeline.length)}, "all"),
      ),
      el(
        "div",
        {class: "legend"},
        kBusy
          .filter((kind, i) => view.timeline.events.some((event) => event.activity === i))
          .map(([, text, style]) => el("span", {}, el("i", {style: `background:${style}`}), text)),
      ),
      view.canvas,
      view.details,
      el("details", {}, el("summary", {}, "events in view, as a table"), view.events),
    ),
  ];
}
