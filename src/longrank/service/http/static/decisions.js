// Recent decisions: a list to filter, and one decision with everything that spoke for and against.

import { call, path } from "./api.js";
import { $, element, moment, money, percent, plainly, shown, table } from "./format.js";

const RESULTS = { succeeded: "succeeded", declined: "declined", gave_up: "gave up", pending: "pending", expired: "expired" };

export class Decisions {
  constructor(model) {
    Object.assign(this, { model, rows: [], next: null, extra: false, names: "" });
    this.candidate = element("select", { id: "filter-candidate" }, element("option", { value: "" }, "any"));
    this.result = element("select", { id: "filter-result" }, element("option", { value: "" }, "any"),
      ...Object.entries(RESULTS).map(([value, text]) => element("option", { value }, text)));
    this.search = element("input", { id: "filter-id", type: "search", autocomplete: "off", placeholder: "part of an id" });
    this.body = element("tbody", {});
    this.told = element("p", { class: "soft", role: "status" });
    this.more = element("button", { type: "button", class: "plain", onclick: () => this.load(true) }, "Older decisions");
    const form = element("form", { id: "filter", "aria-label": "Filter decisions" }, element("label", {}, "Candidate ", this.candidate),
      element("label", {}, "Result ", this.result), element("label", {}, "Decision id ", this.search), element("button", {}, "Find"));
    form.addEventListener("submit", (event) => { event.preventDefault(); this.find(); });
    for (const field of [this.candidate, this.result]) field.addEventListener("change", () => this.load());
    const head = ["decision", "tried", "result", "earned", "cost", "time"];
    this.node = element("section", { class: "card", id: "decisions", "aria-label": "Recent decisions" }, element("h3", {}, "Recent decisions"), form,
      element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "decisions" }, element("table", {},
        element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))), this.body)),
      this.told, this.more);
  }

  offer(names) {
    if (JSON.stringify(names) === this.names) return;
    this.names = JSON.stringify(names);
    const chosen = this.candidate.value;
    this.candidate.replaceChildren(element("option", { value: "" }, "any"),
      ...names.map((name) => element("option", { value: name, selected: name === chosen ? "" : null }, name)));
  }

  get filter() {
    return { candidate: this.candidate.value, result: this.result.value, search: this.search.value.trim() };
  }

  async refresh() { // not while somebody reads older ones or has one in focus
    if (!this.extra && !this.body.contains(document.activeElement)) await this.load();
  }

  async find() { // a complete id is opened, however old it is
    const id = this.search.value.trim();
    await this.load();
    if (id && (!this.rows.length || this.rows.some((row) => row.id === id))) await open(this.model, id);
  }

  async load(more = false) {
    const turn = this.turn = (this.turn || 0) + 1; // an answer to an earlier question is too late
    try {
      const found = await call(path(this.model.name, "/decisions", { limit: more ? 100 : 20, cursor: more ? this.next : null, ...this.filter }));
      if (turn !== this.turn) return;
      this.rows = more ? [...this.rows, ...found.decisions] : found.decisions;
      Object.assign(this, { next: found.next, extra: more });
      this.draw();
    } catch (error) {
      this.told.textContent = error.message;
    }
  }

  draw() {
    const unit = this.model.currency, state = JSON.stringify([this.rows, unit]);
    if (state !== this.drawn) this.body.replaceChildren(...this.rows.map((row) => element("tr", { "data-id": row.id },
      element("td", {}, element("button", { type: "button", class: "link", "aria-label": `Open decision ${row.id}`,
        onclick: () => open(this.model, row.id) }, row.id.length > 20 ? `${row.id.slice(0, 18)}…` : row.id)),
      element("td", {}, ...cascade(row), ...(row.proposal ? [element("span", { class: "soft proposal" }, `the model: ${row.proposal.join(" → ") || "nothing"}`)] : [])),
      element("td", { class: row.result }, RESULTS[row.result]), element("td", { class: "number", "data-label": "earned" }, money(row.reward, unit)),
      element("td", { class: "number", "data-label": "cost" }, money(row.spent, unit)), element("td", { "data-label": "time" }, moment(row.created)))));
    this.drawn = state;
    const filtered = Object.values(this.filter).some(Boolean);
    this.told.textContent = this.rows.length ? "" : filtered ? this.next ? "None among the last few thousand decisions: look at older ones."
      : "No decision fits." : "No decisions yet.";
    this.more.hidden = !this.next;
  }
}

function cascade(row) { // what was tried, and what would have been
  if (!row.sequence.length) return [element("span", { class: "soft" }, "nothing")];
  const tried = row.outcome ? row.outcome.tried : 0;
  return row.sequence.flatMap((name, i) => {
    const good = row.outcome?.succeeded && i + 1 === tried, bad = i < tried && !good;
    return [...(i ? [" → "] : []), element("span", { class: good ? "succeeded" : bad ? "declined" : "soft" },
      `${name}${good ? " ✓" : bad ? " ✗" : ""}`)];
  });
}

export async function open(model, id) {
  const dialog = $("decision");
  let content;
  try {
    content = detail(await call(path(model.name, `/decisions/${encodeURIComponent(id)}`)), model.currency);
  } catch (error) {
    content = [element("h2", { id: "decision-title" }, `Decision ${id}`), element("p", { class: "problem" }, error.message)];
  }
  const close = element("button", { type: "button", class: "close", onclick: () => dialog.close(), "aria-label": "Close" }, "✕");
  dialog.replaceChildren(element("div", { class: "bar-top" }, content[0], close), ...content.slice(1));
  dialog.scrollTop = 0;
  if (!dialog.open) dialog.showModal();
}

function detail(d, currency) {
  const context = Object.entries(d.context || {}), settled = d.outcome_record;
  const priced = "cost" in (d.sequence[0] || {});
  const worth = (x) => priced || currency ? money(x, currency) : shown(x);
  const lines = [];
  if (settled && (currency || settled.spent)) lines.push(`Earned ${money(settled.reward, currency)}, ` +
    `net of ${money(settled.spent, currency)} spent on tries${settled.estimated ? ", as was expected: no costs were reported" : ""}.`);
  if (d.proposal) lines.push(`The model would have tried: ${d.proposal.sequence.map((each) => each.id).join(" → ") || "nothing"}. ` +
    "This was not played, so nobody knows what it would have earned.");
  if (d.loss_bound) lines.push(`No other plan is worth more than ${money(d.loss_bound, currency)} above this one.`);
  if (d.patience < 1) lines.push(`Planned with a patience of ${shown(d.patience)}: the probability of going on after a failure.`);
  return [element("h2", { id: "decision-title" }, `Decision ${d.id}`),
    element("p", {}, element("b", { class: d.result }, RESULTS[d.result]), `; expected value ${worth(d.expected_value)}. ${d.stopped}`),
    ...lines.map((line) => element("p", {}, line)),
    ...(context.length ? [element("p", { class: "soft" }, "Context: " + context.map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", "))] : []),
    tries(d, worth), ...prices(d, currency), ...reasons(d),
    element("h3", {}, "What happened"), element("ul", {}, ...d.history.map((event) => element("li", { class: "soft" }, `${moment(event.at)}: ${event.event}, ${event.detail}`)))];
}

function tries(d, worth) { // a row for each try of the budget, with its estimate as a bar
  const end = d.sequence.length, rows = d.values.map((value, i) => {
    const choice = d.sequence[i - 1];
    const good = d.outcome?.succeeded && i === d.outcome.tried, bad = d.outcome && i > 0 && i <= d.outcome.tried && !good;
    const name = i === 0 ? element("span", { class: "soft" }, "try nothing") : choice ? element("span", {}, choice.id)
      : element("span", { class: "soft" }, "not worth trying");
    return element("tr", { class: i === end ? "chosen" : null }, element("td", { class: "number" }, String(i)), element("td", {}, name),
      element("td", { class: good ? "succeeded" : bad ? "declined" : "" }, good ? "✓" : bad ? "✗" : ""),
      element("td", {}, ...(choice?.estimate !== null && choice ? [bar(choice)] : [])),
      element("td", { class: "number" }, worth(value), i === end && i < d.values.length - 1 ? " ← stops here" : ""));
  });
  return element("div", { class: "wide" }, element("table", { class: "tries" }, element("thead", {}, element("tr", {},
    ...["try", "candidate", "", "chance of success", "worth if it stops here"].map((text) => element("th", { scope: "col" }, text)))),
  element("tbody", {}, ...rows)), ...(d.sequence.some((choice) => choice.optimistic - choice.estimate > 0.005)
    ? [element("p", { class: "soft" }, "Pale: a bonus for what it knows little about.")] : []));
}

function bar(choice) {
  const most = 160;
  return element("span", { class: "estimate" }, element("svg", { viewBox: `0 0 ${most} 14`, width: most, height: 14, "aria-hidden": "true" },
    element("rect", { class: "bonus", width: most * choice.optimistic, height: 14 }),
    element("rect", { class: "bar", width: most * choice.estimate, height: 14 })), ` ${percent(choice.estimate)}`);
}

function prices(d, currency) {
  const paid = d.outcome?.costs;
  const rows = d.sequence.filter((choice) => "cost" in choice).map((choice, i) => [choice.id,
    money(choice.cost, currency), ...(paid ? [money(paid[i], currency)] : []),
    money(d.rewards[i] + choice.value, currency), money(choice.adds, currency)]);
  return rows.length ? [element("h3", {}, "What it costs"), table(["candidate", "planned cost", ...(paid ? ["real cost"] : []),
    "a success is worth", "this try adds"], rows)] : [];
}

function reasons(d) {
  const told = (some) => some.map((r) => `${plainly(r.field)} (× ${Math.exp(r.log_odds).toFixed(2)})`).join(", ") || "–";
  const rows = d.sequence.filter((choice) => choice.reasons).map((choice) => [choice.id,
    told(choice.reasons.filter((r) => r.log_odds > 0)), told(choice.reasons.filter((r) => r.log_odds < 0))]);
  return rows.length ? [element("h3", {}, "What spoke for and against"),
    element("p", { class: "soft" }, "Behind each: what it multiplies the odds of a success by."), table(["candidate", "for", "against"], rows)] : [];
}
