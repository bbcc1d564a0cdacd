// One model over time: what it earned, what was tried, what became of it, and what it knows.

import { call, path } from "./api.js";
import { Chart, calibration } from "./chart.js";
import { Decisions } from "./decisions.js";
import { clock, count, duration, element, money, percent, shown, sum, table } from "./format.js";

export const RANGES = [["15 min", 900], ["1 hour", 3600], ["1 day", 86400], ["1 week", 604800], ["All", null]];
const LINES = 7; // candidates with a line of their own
const MOST = 400; // buckets of a chart
const WINDOW = 4; // buckets of a moving rate, or fewer
const ENOUGH = 100; // tries or decisions for a rate without older buckets

const SHADOW = "The caller's own lists are played, and all figures here are theirs. What the model would have played is shown with each decision; " +
  "what that would have earned is not known. longrank evaluate can estimate it only from a log in which a share of the lists was varied at random " +
  "and the probability of each list was recorded; a fixed list shows nothing about any other.";
const GAVE_UP = "declined: tried to the end; gave up: ";

export class Model {
  constructor(name, range, others, choose) {
    Object.assign(this, { name, range, others, choose, series: null, about: null, expired: [] });
    this.compare = { kind: sessionStorage.getItem(`longrank-compare-${name}`) || "", amount: 0 };
    this.head = element("h2", { id: "title" }, name);
    this.line = element("p", { class: "soft" });
    this.happenings = []; // what else charts are to mark: [{ at, text }]
    this.problem = element("p", { class: "problem", role: "alert" });
    this.shadow = element("p", { class: "note", hidden: "" }, element("b", {}, "Shadow mode. "), SHADOW);
    this.ranges = element("fieldset", { class: "ranges" }, element("legend", {}, "Period"), ...RANGES.map(([text, seconds]) =>
      element("label", {}, element("input", { type: "radio", name: "range", value: seconds ?? "all",
        checked: seconds === range ? "" : null, onchange: () => choose(seconds) }), element("span", {}, text))));
    this.tiles = element("div", { class: "tiles" });
    this.comparing = element("div", { class: "comparing" });
    this.charts = {
      earned: new Chart("Earned in this period", { format: (x, axis) => axis ? shown(x, 1).replace(/\.0$/, "") : money(x, this.currency) }),
      success: new Chart("Success of each candidate's tries", { format: percent, top: 1 }),
      share: new Chart("Share of traffic: who is tried first", { format: percent, stacked: true, top: 1 }),
      volume: new Chart("Tries per minute", { format: (x, axis) => shown(x, axis ? 1 : 1).replace(/\.0$/, "") }),
      cost: new Chart("Cost of a try", { format: (x) => money(x, "") }),
      results: new Chart("Results of decisions, per minute", { format: (x) => shown(x, 1).replace(/\.0$/, ""), stacked: true }),
    };
    this.nothing = element("section", { class: "card empty", "aria-label": "Nothing to show", hidden: "" });
    this.candidates = element("section", { class: "card", "aria-label": "Candidates" });
    this.calibration = element("section", { class: "card", "aria-label": "Calibration" });
    this.marks = element("section", { class: "card", "aria-label": "Changes" });
    this.decisions = new Decisions(this);
    this.schema = element("details", { class: "card", "data-schema": name }, element("summary", {}, "Fields it learns from"));
    this.schema.addEventListener("toggle", () => this.readSchema());
    this.node = element("article", { "data-model": name, "aria-labelledby": "title" },
      element("div", { class: "top" }, element("div", {}, this.head, this.line), this.ranges), this.problem, this.shadow, this.tiles, this.nothing,
      this.earnings = element("section", { class: "card", "aria-label": "Earnings" }, this.charts.earned.node, this.comparing),
      this.grid = element("div", { class: "charts" }, ...["share", "success", "volume", "cost", "results"].map((key) =>
        element("section", { class: "card", "aria-label": this.charts[key].title, "data-part": key }, this.charts[key].node)), this.marks),
      this.pair = element("div", { class: "charts uneven" }, this.candidates, this.calibration),
      this.decisions.node, this.schema);
    this.drawComparing();
  }

  get currency() { return this.series?.currency || ""; }

  get shadowed() { return this.series?.mode === "shadow"; }

  setRange(range) {
    this.range = range;
    for (const input of this.ranges.querySelectorAll("input")) input.checked = input.value === String(range ?? "all");
  }

  static ask(name, range) { return call(path(name, "/series", { seconds: range })); }

  async refresh(early = null) {
    try {
      const [series, baseline] = await Promise.all([early || Model.ask(this.name, this.range), this.baseline()]);
      this.series = regular(series);
      this.against = baseline;
      this.problem.textContent = "";
      this.draw();
    } catch (error) {
      if (error.status === 401 || error.status === 403) throw error;
      this.problem.textContent = error.message;
      return;
    }
    await Promise.all([this.describe(), this.decisions.refresh()]);
  }

  async describe() { // counts what is pending, which may take longer than the rest
    if (this.describing) return;
    this.describing = true;
    try {
      this.about = await call(path(this.name));
      this.expired = [...this.expired.slice(-2), this.about.stats.expired]; // may count one too many for a moment
      this.draw();
    } catch (error) {
      this.problem.textContent = error.message;
    } finally {
      this.describing = false;
    }
  }

  async baseline() {
    const kind = this.compare.kind;
    if (!kind.startsWith("model ")) return null;
    try {
      return regular(await Model.ask(kind.slice(6), this.range));
    } catch {
      return null;
    }
  }

  draw() {
    const { series, about } = this, t = series.totals;
    this.line.textContent = about ? `${about.policy} learns from ${about.dim ? `${about.dim} numbers of each candidate` : "records"}; ` +
      `mode: ${about.mode}; learned from ${count(about.stats.learned, "outcome")}` : "";
    const outcomes = sum(t.outcomes), earned = sum(t.reward), spent = sum(t.spent), paid = this.currency || spent;
    const tile = (name, value, hint) => element("div", { class: "tile", title: hint || null },
      element("span", { class: "soft" }, name), element("b", { "data-tile": name }, value));
    const unit = this.currency, who = this.shadowed ? " by the caller's list" : "";
    this.shadow.hidden = !this.shadowed;
    this.tiles.replaceChildren(tile("decisions", shown(sum(t.decisions))),
      tile("success", percent(outcomes ? sum(t.successes) / outcomes : null), "Decisions with an outcome, one of whose tries succeeded"),
      ...(paid ? [tile(`earned${who}`, money(earned, unit), "Net of what tries cost"), tile("spent on tries", money(spent, unit)),
        tile("earned per decision", money(outcomes ? earned / outcomes : null, unit))]
        : [tile(`mean reward${who && " of the caller's list"}`, shown(outcomes ? earned / outcomes : null))]),
      tile("declined", shown(sum(t.declined)), "Tried to the end without success"),
      tile("gave up", shown(sum(t.gave_up)), this.shadowed
        ? "The caller's list left tries unused, or tried nothing" : "The policy left tries unused, or tried nothing: no more were worth it"),
      ...(about ? [tile("pending", shown(about.stats.pending), "Decisions that wait for an outcome"),
        tile("expired", shown(Math.min(...this.expired)), "Decisions whose outcome never came")] : []),
      ...(about?.stats.estimated ? [tile("with expected costs", shown(about.stats.estimated))] : []));
    this.drawNothing();
    this.drawCharts();
    this.drawCandidates();
    this.drawCalibration();
    this.drawMarks();
    this.decisions.offer(series.candidates.map((each) => each.name));
  }

  drawNothing() { // in place of charts without a line
    const none = !this.series.starts.length;
    this.nothing.hidden = !none || !this.about;
    for (const part of [this.earnings, this.grid, this.pair]) part.hidden = none;
    if (!none || !this.about || this.nothing.contains(document.activeElement)) return;
    this.nothing.replaceChildren(...(this.about.stats.decisions
      ? [element("h3", {}, "Nothing happened in this period"), element("p", {}, "Choose a longer one to see what was before.")]
      : [element("h3", {}, "No decisions yet"), element("p", {}, "Ask for one, and it appears here. "),
        element("p", {}, element("a", { href: "/docs" }, "How to ask for a decision, and to tell its outcome"))]));
  }

  drawCharts() {
    const { series } = this, { starts, totals: t, width, now } = series;
    const to = now, from = this.range ? Math.max(now - this.range, Math.min(starts[0] ?? now - this.range, now - 60))
      : Math.min(starts[0] ?? now - 60, now - 60);
    const lines = this.lines(), full = starts.filter((start) => start + width <= now).length || starts.length;
    const ends = starts.map((start) => Math.min(start + width, now)); // what a bucket holds is known at its end
    const axis = { starts: ends, from, to }, whole = { starts: ends.slice(0, full), from, to };
    const changed = series.marks.map((mark) => ({ at: mark.at, text: told(mark) })), marks = [...changed, ...this.happenings];
    const rate = (each, value) => starts.map((_, i) => {
      const first = since(each.tried, i), n = between(each.tried, first, i);
      return n ? between(value, first, i) / n : null;
    });
    const tones = (values) => lines.map((line) => ({ name: line.name, tone: line.tone, values: values(line) }));
    const period = `average of the last ${ENOUGH}, at most over ${duration(WINDOW * width)}`;
    this.charts.success.update({ ...axis, marks, lines: tones((each) => rate(each, each.succeeded)),
      note: `${period}${changed.length ? "; ▼ success changed" : ""}` });
    this.charts.cost.update({ ...axis, lines: tones((each) => rate(each, each.cost)),
      note: `${this.currency ? `in ${this.currency}, ` : ""}${period}` });
    const all = starts.map((_, i) => sum(lines.map((line) => line.first[i])));
    this.charts.share.update({ ...axis, marks: this.happenings, lines: tones((each) => starts.map((_, i) => {
      const first = since(all, i), n = between(all, first, i);
      return n ? between(each.first, first, i) / n : null;
    })), note: period });
    const perMinute = (values) => values.slice(0, full).map((x) => x * 60 / width);
    this.charts.volume.update({ ...whole, lines: tones((each) => perMinute(each.tried)) });
    this.charts.results.update({ ...whole, note: GAVE_UP + (this.shadowed ? "the caller's list left tries unused, or tried nothing"
      : "the policy left tries unused, or tried nothing, as no more were worth it"), lines: [["succeeded", t.successes, 2], ["declined", t.declined, 1], ["gave up", t.gave_up, 4]]
      .map(([name, values, tone]) => ({ name, tone, values: perMinute(values) })) });
    this.drawEarned(axis);
    const priced = series.candidates.some((each) => each.cost.some((x) => x));
    this.charts.cost.node.parentNode.hidden = !priced;
  }

  shares() { // of traffic, at the end of the chart
    return new Map((this.charts.share.data?.lines || []).map((line) => [line.name, line.values.at(-1)]));
  }

  lines() { // the candidates that are tried most, and the rest together; tones stay as they are
    const all = this.series.candidates.map((each, i) => ({ ...each, tone: i % 8 }));
    if (all.length <= LINES + 1) return all;
    const weight = (each) => sum(each.tried) + sum(each.first);
    const kept = new Set([...all].sort((a, b) => weight(b) - weight(a)).slice(0, LINES));
    const rest = all.filter((each) => !kept.has(each));
    const added = (field) => rest[0][field].map((_, i) => sum(rest.map((each) => each[field][i])));
    const together = { name: `${rest.length} others`, tone: 7 };
    for (const field of ["first", "tried", "succeeded", "cost", "expected"]) together[field] = added(field);
    return [...[...kept].sort((a, b) => a.tone - b.tone).map((each, i) => ({ ...each, tone: i })), together];
  }

  drawEarned(axis) {
    const { totals: t, starts } = this.series; // nothing was earned at the beginning
    const moments = starts.length ? [Math.max(starts[0], axis.from), ...axis.starts] : [];
    const lines = [{ name: played(this.name, this.series), tone: 0, values: running(t.reward) }];
    const base = this.perOutcome();
    let note = `${this.shadowed ? "by the caller's lists, which were played; " : ""}net of what tries cost`;
    if (base) {
      const values = running(t.outcomes.map((n, i) => n * base(this.series.starts[i])));
      const name = this.compare.kind === "amount" ? "baseline" : played(this.compare.kind.slice(6), this.against);
      lines.push({ name, tone: 7, dashed: true, values });
      const gain = (lines[0].values.at(-1) ?? 0) - (values.at(-1) ?? 0);
      note += `; ${money(Math.abs(gain), this.currency)} ${gain < 0 ? "less" : "more"} than ${name}`;
    }
    this.charts.earned.update({ ...axis, starts: moments, marks: this.happenings, lines, note });
  }

  perOutcome() { // what the baseline earns with an outcome, by time
    if (this.compare.kind === "amount") return () => this.compare.amount;
    if (!this.against) return null;
    const { starts, totals: t } = this.against, count = sum(t.outcomes);
    const mean = count ? sum(t.reward) / count : 0;
    const by = new Map(starts.map((start, i) => [start, t.outcomes[i] ? t.reward[i] / t.outcomes[i] : mean]));
    return (start) => by.get(start) ?? mean;
  }

  drawComparing() {
    const amount = element("input", { id: "amount", type: "number", step: "any", value: this.compare.amount,
      oninput: () => { this.compare.amount = Number(amount.value) || 0; if (this.series) this.draw(); } });
    const per = element("label", {}, "Earned per decision so far ", amount);
    per.hidden = this.compare.kind !== "amount";
    const select = element("select", { id: "compare", onchange: () => {
      this.compare.kind = select.value;
      sessionStorage.setItem(`longrank-compare-${this.name}`, select.value);
      per.hidden = select.value !== "amount";
      this.refresh();
    } });
    this.select = select;
    this.comparing.replaceChildren(element("label", {}, "Compare with ", select), per);
    this.offer(this.others);
  }

  offer(others) {
    if (this.offered === JSON.stringify(others)) return;
    this.offered = JSON.stringify(others);
    const kind = this.compare.kind;
    const options = [["", "nothing"], ["amount", "an amount per decision"],
      ...others.filter((other) => other !== this.name).map((other) => [`model ${other}`, other])];
    this.select.replaceChildren(...options.map(([value, text]) => element("option", { value, selected: value === kind ? "" : null }, text)));
  }

  drawCandidates() {
    const { candidates } = this.series, first = sum(candidates.map((each) => sum(each.first)));
    const rows = candidates.map((each) => {
      const tried = sum(each.tried);
      return [each.name, percent(first ? sum(each.first) / first : null), shown(tried), percent(tried ? sum(each.succeeded) / tried : null),
        percent(tried && sum(each.expected) ? sum(each.expected) / tried : null), money(tried ? sum(each.cost) / tried : null, "")];
    });
    const cost = `cost of a try${this.currency ? `, ${this.currency}` : ""}`;
    replace(this.candidates, element("h3", {}, "Candidates"), rows.length ? table(["candidate", "tried first", "tries", "success", "expected success", cost], rows)
      : element("p", { class: "soft" }, "Nothing was decided in this period."));
  }

  drawCalibration() {
    const bins = this.series.calibration;
    replace(this.calibration, element("h3", {}, "Does what it expects come true?"), ...(bins.length
      ? [element("p", { class: "soft" }, "On the line, tries succeed as often as the model expected. Larger dots are more tries."), calibration(bins),
        element("details", {}, element("summary", {}, "Table"), table(["expected", "happened", "tries"],
          bins.map((bin) => [percent(bin.estimated), percent(bin.succeeded), shown(bin.tried)])))]
      : [element("p", { class: "soft" }, "No tries with an estimate in this period.")]));
  }

  drawMarks() {
    const found = this.series.marks;
    replace(this.marks, element("h3", {}, "Changes noticed"), found.length ? element("ul", { class: "marks" },
      ...found.slice(-12).reverse().map((mark) => element("li", {}, element("time", {}, clock(mark.at, !this.range || this.range > 86400 ? 200000 : this.range > 3600 ? 3600 : 600)), ` ${told(mark)}`)))
      : element("p", { class: "soft" }, "None in this period. A candidate needs 30 tries before a fall can be noticed."));
  }

  async readSchema() {
    if (!this.schema.open) return;
    let content;
    try {
      content = fields(await call(path(this.name, "/schema")));
    } catch (error) {
      content = [element("p", { class: "soft" }, error.status === 404 ? "It does not learn from records." : error.message)];
    }
    this.schema.replaceChildren(this.schema.firstChild, ...content);
  }
}

const played = (name, series) => series.mode === "shadow" ? `${name}: the caller's list` : name;

const told = (mark) => `${mark.candidate}: success from ${percent(mark.before)} to ${percent(mark.since)}`;

function running(values) { // what has come together at the beginning, and after each
  let total = 0;
  return values.length ? [0, ...values.map((x) => total += x)] : [];
}

const between = (values, first, last) => sum(values.slice(first, last + 1));

function since(counts, i) { // the first of the buckets up to i that a rate is taken over
  let first = i;
  for (let total = counts[i]; total < ENOUGH && first > 0 && i - first < WINDOW - 1;) total += counts[--first];
  return first;
}

function regular(series) { // buckets in which nothing happened are zeros, not gaps to draw over
  const { starts, width, now } = series, last = Math.max(now, starts.at(-1) ?? now);
  const from = starts[0], count = starts.length ? Math.floor((last - from) / width) + 1 : 0;
  if (count <= starts.length || count > MOST) return series;
  const place = starts.map((start) => Math.round((start - from) / width));
  const spread = (values) => {
    const all = new Array(count).fill(0);
    values.forEach((value, i) => { all[place[i]] += value; });
    return all;
  };
  const every = (record) => Object.fromEntries(Object.entries(record).map(([key, value]) => [key, Array.isArray(value) ? spread(value) : value]));
  return { ...series, starts: Array.from({ length: count }, (_, i) => from + i * width), totals: every(series.totals), candidates: series.candidates.map(every) };
}

function replace(section, ...content) { // unless a reader has opened a table in it
  if (section.contains(document.activeElement) || section.querySelector("details[open]")) return;
  section.replaceChildren(...content);
}

function fields(schema) {
  const columns = schema.columns, seen = new Set(schema.fields.map((field) => field.name));
  const rows = schema.fields.map((field) => [field.side, field.name, field.text]);
  for (const [name, kind] of Object.entries(schema.declared)) if (!seen.has(name))
    rows.push(["declared", name, kind.kind + (kind.log ? " (log)" : "")]);
  const lines = [`${shown(columns.used)} of ${shown(columns.limit)} columns in use, ${shown(columns.replaced)} replaced`];
  const has = (side, name) => schema.fields.some((each) => each.side === side && each.name === name);
  const named = (name) => has("candidate", name) && has("context", name) ? `context ${name}` : name;
  if (schema.crossed.length) lines.push("crossed: " +
    schema.crossed.map(([one, other]) => `${one ?? "constant"} × ${named(other)}`).join(", "));
  if (schema.not_crossed) lines.push(`${shown(schema.not_crossed)} pairs not crossed: a row would be too long`);
  if (schema.left_out.length) lines.push("not used, beyond 256 fields: " +
    schema.left_out.map(([side, name]) => `${side} ${name}`).join(", "));
  if (schema.ignored.length) lines.push("ignored: " + schema.ignored.join(", "));
  if (schema.idle.length) lines.push("crossed with no field of the candidates, so that they change nothing: " + schema.idle.join(", "));
  return [...lines.map((line) => element("p", { class: "soft" }, line)),
    ...(rows.length ? [table(["side", "field", "kind"], rows)] : [])];
}
