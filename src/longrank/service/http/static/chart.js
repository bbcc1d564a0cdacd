// Charts over time: axes, a legend that hides lines, values under the pointer or the arrow keys,
// and the same numbers as a table. A chart is made once and drawn again as numbers change.

import { clock, element, table } from "./format.js";

let LEFT = 52, RIGHT = 12, TOP = 10, BOTTOM = 24, scaled = 1;

function scale() { // large screens have a larger font, and charts with it
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  if (size === scaled) return;
  [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 10, 24].map((x) => x * size);
  scaled = size;
}

export function ticks(low, high, count = 4) {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9), found = [];
  for (let i = first; i * step <= high + step * 1e-6; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

const STEPS = [5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 604800, 1209600, 2592000, 7776000, 31536000];

function times(from, to, count) {
  const step = STEPS.find((size) => (to - from) / size <= count) || STEPS.at(-1);
  const offset = new Date(from * 1000).getTimezoneOffset() * 60; // days begin at local midnight
  const found = [];
  for (let t = Math.ceil((from - offset) / step) * step + offset; t <= to; t += step) found.push(t);
  return found;
}

export class Chart {
  // starts: the times of the values; lines: [{ name, values, tone, dashed }], a value is null where there is none;
  // marks: [{ at, text, label }], with a label if it is to be read without the pointer
  constructor(title, { format = String, stacked = false, top = null, note = "" } = {}) {
    Object.assign(this, { title, format, stacked, top, hidden: new Set(), at: null, data: null });
    this.svg = element("svg", { role: "img", tabindex: 0, "aria-label": `${title}: arrow keys show the values` });
    this.tip = element("div", { class: "tip", role: "status", "aria-live": "polite", hidden: "" });
    this.legend = element("ul", { class: "legend", "aria-label": `${title}: legend` });
    this.numbers = element("details", {}, element("summary", {}, "Table"));
    this.note = element("p", { class: "soft" }, note);
    this.node = element("figure", { class: "chart", "data-chart": title },
      element("figcaption", {}, title), this.note,
      element("div", { class: "picture" }, this.svg, this.tip), this.legend, this.numbers);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.show(null));
    this.svg.addEventListener("blur", () => this.show(null));
    this.svg.addEventListener("keydown", (event) => this.step(event));
    this.numbers.addEventListener("toggle", () => this.tabulate());
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  update({ starts, lines, from, to, marks = [], note }) {
    this.data = { starts, lines, from, to, marks };
    if (note !== undefined) this.note.textContent = note;
    const names = JSON.stringify(lines.map((line) => [line.name, line.tone, line.dashed]));
    if (names !== this.named) {
      this.named = names;
      this.legend.replaceChildren(...lines.map((line) => this.entry(line)));
    }
    this.draw();
    this.tabulate();
  }

  entry(line) {
    const button = element("button", { type: "button", "aria-pressed": String(!this.hidden.has(line.name)),
      title: `Show or hide ${line.name}`, onclick: () => {
        this.hidden[this.hidden.has(line.name) ? "delete" : "add"](line.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
        this.draw();
      } }, element("span", { class: `swatch tone${line.tone}${line.dashed ? " dashed" : ""}`, "aria-hidden": "true" }),
      line.name);
    return element("li", {}, button);
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (!this.data || !width) return;
    scale();
    const { starts, lines, from, to, marks } = this.data;
    const seen = lines.filter((line) => !this.hidden.has(line.name));
    const tops = this.stacked ? stack(seen) : seen.map((line) => line.values);
    const known = tops.flat().filter((value) => value !== null && Number.isFinite(value));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    if (!known.length) {
      this.svg.replaceChildren(element("text", { x: width / 2, y: height / 2, "text-anchor": "middle" },
        "Nothing in this period."));
      this.x = null;
      this.show(null);
      return;
    }
    let low = Math.min(0, ...known), high = this.top ?? Math.max(0, ...known);
    if (high - low < 1e-9) high = low + 1;
    const floor = height - BOTTOM, levels = ticks(low, high, height < 150 * scaled ? 2 : 4);
    high = this.top ?? Math.max(high, levels.at(-1));
    low = Math.min(low, levels[0]);
    const x = (t) => LEFT + (t - from) / (to - from || 1) * (width - LEFT - RIGHT);
    const y = (v) => floor - (v - low) / (high - low) * (floor - TOP);
    Object.assign(this, { x, y, seen, tops });
    const nodes = [];
    for (const value of levels) nodes.push(
      element("line", { class: value === 0 ? "axis" : "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      element("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, this.format(value, true)));
    for (const t of times(from, to, Math.max(2, Math.floor(width / (110 * scaled))))) nodes.push(
      element("line", { class: "axis", x1: x(t), x2: x(t), y1: floor, y2: floor + 4 }),
      element("text", { x: x(t), y: height - 6, "text-anchor": x(t) > width - 30 ? "end" : x(t) < LEFT + 20 ? "start" : "middle" },
        clock(t, to - from)));
    seen.forEach((line, i) => {
      const points = starts.map((t, j) => tops[i][j] === null ? null : [x(t), y(tops[i][j])]);
      if (this.stacked) {
        const below = i ? tops[i - 1] : starts.map(() => 0);
        nodes.push(element("path", { class: `area tone${line.tone}`, d: area(points, starts.map((t, j) => [x(t), y(below[j])])) }));
      } else {
        nodes.push(element("path", { class: `curve tone${line.tone}${line.dashed ? " dashed" : ""}`, d: trace(points) }));
        points.forEach((point, j) => {
          if (point && !points[j - 1] && !points[j + 1])
            nodes.push(element("circle", { class: `dot tone${line.tone}`, cx: point[0], cy: point[1], r: 2.5 }));
        });
      }
    });
    const taken = []; // by labels, so that those close together stand below each other
    const label = (mark) => {
      const end = x(mark.at) > width / 2, at = x(mark.at) + (end ? -6 : 6), long = 8 * scaled * mark.label.length;
      const first = end ? at - long : at, last = first + long;
      const row = [0, 1, 2, 3].find((row) => !taken.some((one) => one.row === row && one.first < last && first < one.last)) ?? 0;
      taken.push({ row, first, last });
      return element("text", { x: at, y: TOP + (12 + 16 * row) * scaled, "text-anchor": end ? "end" : "start" }, mark.label);
    };
    for (const mark of marks) if (mark.at >= from) nodes.push(element("g", { class: "mark" },
      element("line", { x1: x(mark.at), x2: x(mark.at), y1: TOP, y2: floor }),
      element("path", { d: `M${x(mark.at) - 5},${TOP - 8}h10l-5,8z` }), element("title", {}, mark.text),
      ...(mark.label ? [label(mark)] : [])));
    this.cursor = element("line", { class: "cursor", y1: TOP, y2: floor, visibility: "hidden" });
    this.svg.replaceChildren(...nodes, this.cursor);
    this.show(this.at);
  }

  point(event) {
    const box = this.svg.getBoundingClientRect(), { starts, from, to } = this.data || { starts: [] };
    if (!starts.length) return;
    const t = from + (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT) * (to - from);
    let best = 0;
    starts.forEach((start, i) => { if (Math.abs(start - t) < Math.abs(starts[best] - t)) best = i; });
    this.show(starts[best]);
  }

  step(event) {
    const starts = this.data?.starts || [];
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") return this.show(null);
    if (move === undefined || !starts.length) return;
    event.preventDefault();
    const here = this.at === null ? starts.length - (move < 0 ? 0 : 1) : starts.findIndex((t) => t >= this.at);
    this.show(starts[Math.max(0, Math.min(starts.length - 1, here + move))]);
  }

  show(at) {
    this.at = at;
    const i = at === null || !this.data ? -1 : this.data.starts.indexOf(at);
    this.tip.hidden = i < 0 || !this.x;
    this.cursor?.setAttribute("visibility", this.tip.hidden ? "hidden" : "visible");
    if (this.tip.hidden) return;
    const here = this.x(at), { from, to, marks } = this.data;
    this.cursor.setAttribute("x1", here);
    this.cursor.setAttribute("x2", here);
    const before = this.data.starts[i - 1] ?? -Infinity;
    const notes = marks.filter((mark) => mark.at >= before && mark.at < at).map((mark) => element("li", {}, mark.text));
    this.tip.replaceChildren(element("b", {}, clock(at, Math.min(to - from, 600))), element("ul", {}, ...this.seen.map((line) =>
      element("li", {}, element("span", { class: `swatch tone${line.tone}${line.dashed ? " dashed" : ""}` }),
        `${line.name} ${this.format(line.values[i])}`)), ...notes));
    const room = this.svg.clientWidth - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(0, Math.min(room, here > this.svg.clientWidth / 2
      ? here - this.tip.offsetWidth - 12 : here + 12))}px`;
  }

  tabulate() {
    if (!this.numbers.open || !this.data) return;
    const { starts, lines, from, to } = this.data;
    const rows = starts.map((t, i) => [clock(t, Math.min(to - from, 600)), ...lines.map((line) => this.format(line.values[i]))]);
    this.numbers.replaceChildren(this.numbers.firstChild,
      table(["time", ...lines.map((line) => line.name)], rows.reverse().slice(0, 200), this.title));
  }
}

function stack(lines) {
  const result = [];
  lines.forEach((line, i) => result.push(line.values.map((value, j) => (value ?? 0) + (i ? result[i - 1][j] : 0))));
  return result;
}

function trace(points) {
  let text = "", drawing = false;
  for (const point of points) {
    if (point) text += `${drawing ? "L" : "M"}${point[0].toFixed(1)},${point[1].toFixed(1)}`;
    drawing = Boolean(point);
  }
  return text || "M0,0";
}

function area(upper, lower) {
  if (upper.length === 1) [upper, lower] = [upper, lower].map(([[x, y]]) => [[x - 3, y], [x + 3, y]]); // one moment is a bar
  const text = (points) => points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join("L");
  return `M${text(upper)}L${text(lower.reverse())}Z`;
}

export function calibration(bins) {
  const size = 220, left = 46, bottom = 34, side = size - bottom - 8;
  const x = (v) => left + v * side, y = (v) => 8 + (1 - v) * side;
  const svg = element("svg", { role: "img", viewBox: `0 0 ${size + 30} ${size}`, class: "square",
    "aria-label": "what was expected against what happened" });
  for (const v of [0, 0.5, 1]) svg.append(
    element("line", { class: v ? "grid" : "axis", x1: left, x2: x(1), y1: y(v), y2: y(v) }),
    element("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, `${100 * v} %`),
    element("text", { x: x(v), y: size - 18, "text-anchor": "middle" }, `${100 * v} %`));
  svg.append(element("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    element("text", { x: x(0.5), y: size - 3, "text-anchor": "middle" }, "expected success"));
  const most = Math.max(...bins.map((bin) => bin.tried));
  for (const bin of bins) svg.append(element("circle", { class: "dot tone0", cx: x(bin.estimated), cy: y(bin.succeeded),
    r: 3 + 6 * Math.sqrt(bin.tried / most) }, element("title", {},
    `expected ${(100 * bin.estimated).toFixed(0)} %, happened ${(100 * bin.succeeded).toFixed(0)} % of ${bin.tried} tries`)));
  return svg;
}
