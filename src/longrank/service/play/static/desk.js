// The simulated payment desk above the console: what was earned, the buttons, the last payment.
// It is drawn when the console has read its model, and shows the same moment: so many payments.

import { call, path } from "/static/api.js";
import { Chart } from "/static/chart.js";
import { refresh as readAgain } from "/static/console.js";
import { open } from "/static/decisions.js";
import { $, element, money, percent, plainly, shown, sum } from "/static/format.js";

const MODEL = "payments", EVERY = 2000; // milliseconds
const ENOUGH = 20; // payments, before it is told what came of something
const picture = location.search === "?picture";
const parts = {}, clean = (x, axis) => axis ? shown(x, 1).replace(/\.0$/, "") : money(x, state.currency);
let state = null, shares = new Map(), last = null, said = "", heard = 0;

if (!location.hash) history.replaceState(null, "", `#${MODEL}/900`);
document.body.classList.toggle("picture", picture);

function build() {
  for (const name of ["said", "news", "why"]) parts[name] = element("div", { class: name });
  parts.problem = element("p", { class: "problem", role: "alert" });
  parts.spoken = element("p", { class: "spoken", role: "status" });
  const tile = (name, title, kind) => {
    parts[name] = element("b", { "data-tile": name });
    parts[`${name}Note`] = element("span", { class: "soft" });
    return element("div", { class: `tile ${kind}` }, element("span", { class: "soft" }, title), parts[name], parts[`${name}Note`]);
  };
  parts.rows = state.providers.map(row);
  parts.mixes = Object.entries(state.mixes).map(([name, title]) => element("button", { type: "button", class: "plain", "data-mix": name,
    onclick: () => act("mix", name) }, title));
  parts.chart = new Chart("Earned more than the best fixed list", { format: clean });
  parts.share = new Chart("Who is tried first", { format: percent, stacked: true, top: 1 });
  const table = element("table", { "aria-label": "Providers" }, element("thead", {}, element("tr", {},
    ...["provider and fee", "traffic now", "press to change"].map((text) => element("th", { scope: "col" }, text)))),
  element("tbody", {}, ...parts.rows.map((each) => each.node)));
  $("desk").setAttribute("aria-label", "Payment desk");
  $("desk").replaceChildren(element("div", { class: "card" },
    element("div", { class: "head" }, element("h2", {}, picture ? "longrank routes payments, and a provider fails" : "Payment desk"),
      element("span", { class: "badge" }, picture ? "Simulated" : "Simulated: payments, providers and fees are invented"), parts.said),
    parts.problem,
    element("div", { class: "money" }, tile("longrank", "longrank earned", "ours"), tile("fixed", "best fixed list would have earned", ""),
      tile("perfect", "perfect knowledge would have earned", "")),
    parts.news,
    parts.columns = element("div", { class: "columns" },
      element("div", { class: "providers" }, table, element("div", { class: "mixes", role: "group", "aria-label": "Traffic" }, ...parts.mixes), parts.why),
      element("div", { class: "curves" }, parts.share.node, parts.chart.node)),
    parts.spoken));
}

function row({ name }) {
  const part = { fee: element("span", { class: "soft" }), meter: element("meter", { min: 0, max: 1, "aria-label": `share of ${name}` }), share: element("span", { "data-share": name }) };
  part.outage = element("button", { type: "button", class: "plain", "data-outage": name, onclick: () => act(find(name).down ? "up" : "down", name) });
  part.raise = element("button", { type: "button", class: "plain", "data-fee": name, onclick: () => act("fee", name) });
  part.node = element("tr", { "data-provider": name }, element("th", { scope: "row" }, element("span", { class: "name" }, name), part.fee),
    element("td", { class: "number" }, part.meter, part.share), element("td", {}, part.outage, " ", part.raise));
  return part;
}

const payments = (n) => `${shown(n)} payment${n === 1 ? "" : "s"}`;
const find = (name) => state.providers.find((each) => each.name === name);
const share = (name) => shares.has(name) ? shares.get(name) : shares.size ? 0 : find(name).share;

function draw() {
  const { money: m, currency: unit } = state;
  if (!parts.rows) build();
  parts.said.textContent = `${payments(m.payments)}${state.rate === null || picture ? "" : `, ${shown(Number(state.rate.toFixed(state.rate < 2 ? 1 : 0)), 1)} a second`}`;
  for (const name of ["longrank", "fixed", "perfect"]) parts[name].textContent = money(m[name], unit);
  const gain = m.longrank - m.fixed;
  parts.longrankNote.textContent = `${money(Math.abs(gain), unit)} ${gain < 0 ? "less" : "more"} than the fixed list`;
  parts.fixedNote.textContent = `always ${state.fixed.join(", ")}`;
  parts.perfectNote.textContent = m.perfect > 0 && m.longrank > 0
    ? `longrank earned ${(Math.floor(1000 * m.longrank / m.perfect) / 10).toFixed(1)} % of it` : "if every chance were known";
  state.providers.forEach((each, i) => {
    const part = parts.rows[i], now = share(each.name);
    part.fee.textContent = `${money(each.fee, unit)} a try + ${(100 * each.percent).toFixed(1)} %`;
    part.meter.value = now ?? 0;
    part.share.textContent = ` ${percent(now)}`;
    part.node.className = each.down ? "down" : "";
    label(part.outage, each.down ? "Bring back up" : "Take down", each.down, each.name);
    label(part.raise, each.raised ? "Normal fee" : "Double the fee", each.raised, each.name);
  });
  for (const button of parts.mixes) button.setAttribute("aria-pressed", String(button.dataset.mix === state.mix));
  const { at, ...curve } = state.curve, above = (name) => curve[name].map((x, i) => x - curve.fixed[i]);
  parts.chart.update({ starts: at, from: at[0], to: Math.max(at.at(-1), at[0] + 10), marks: marks(), note: `in ${unit}; the fixed list is the line at 0; same payments, luck aside`,
    lines: [{ name: "longrank", tone: 2, values: above("longrank") }, { name: "perfect knowledge", tone: 7, dashed: true, values: above("perfect") }] });
  news();
}

const marks = () => state.marks.map((mark) => ({ ...mark, label: mark.text }));

function label(button, text, on, name) { // the text says what a press does, so there is no state to tell
  if (button.textContent !== text) button.textContent = text;
  button.setAttribute("aria-label", `${text}: ${name}`);
  button.classList.toggle("on", on);
}

function news() {
  const { happening: h, currency: unit } = state;
  if (!h) {
    parts.news.replaceChildren(element("p", {}, "Take a provider down, and watch longrank route around it."));
    return;
  }
  const { since: s } = h, enough = s.payments >= ENOUGH;
  const through = enough && h.success_before !== null ? ` ${percent(s.approved / s.payments)} of payments went through since, ${percent(h.success_before)} before.` : "";
  const moved = h.provider ? ` Its share of traffic: ${percent(h.share_before)} before, ${percent(share(h.provider))} now.` : "";
  parts.news.replaceChildren(element("p", {}, element("b", {}, h.text), `, ${payments(s.payments)} ago.${moved}${through}`,
    ...(!enough || s.saved < 0.005 ? [" longrank is finding out."] : [h.provider ? " Moving the traffic " : " Changing its routes ",
      element("b", { "data-tile": "saved" }, `saved ${money(s.saved, unit)}`), " against going on as before."])));
  if (said !== h.text) parts.spoken.textContent = said = h.text;
}

async function why() { // the last payment, from the API
  if (!state.last || state.last === last || parts.why.contains(document.activeElement)) return;
  last = state.last;
  try {
    const d = await call(path(state.model, `/decisions/${last}`));
    const tried = d.outcome ? d.outcome.tried : 0, first = d.sequence[0];
    const way = d.sequence.slice(0, Math.max(tried, 1)).map((each, i) =>
      `${each.id} ${d.outcome?.succeeded && i + 1 === tried ? "✓" : tried > i ? "✗" : ""}`).join(" → ");
    const spoke = (wanted) => (first?.reasons || []).filter((r) => wanted * r.log_odds > 0.05).slice(0, 2).map((r) => plainly(r.field)).join("; ");
    const pro = spoke(1), con = spoke(-1);
    parts.why.replaceChildren(element("b", {}, "Last payment: "),
      `${d.context.brand}, ${d.context.country}, ${money(d.context.amount, state.currency)} → ${way || "not tried"}. `,
      first ? `${first.id} came first: ${percent(first.estimate)} chance of success, ${money(first.cost, state.currency)} a try` +
        `${pro ? `. In its favour: ${pro}` : ""}${con ? `. Against it: ${con}` : ""}. ` : "",
      element("button", { type: "button", class: "link", "aria-label": `Why did ${d.id} go this way?`,
        onclick: () => open({ name: state.model, currency: state.currency }, d.id) }, "Why?"));
  } catch (error) {
    parts.why.textContent = error.message;
  }
}

async function act(action, which) {
  try {
    const answer = await fetch("/desk/act", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ action, which }) });
    const told = await answer.json();
    parts.problem.textContent = answer.ok ? "" : told.detail;
    if (answer.ok) state = { ...told, money: state.money, curve: state.curve }; // sums follow with the console's
    draw();
    readAgain();
  } catch {
    closed();
  }
}

function closed() {
  if (!parts.problem) return;
  parts.problem.textContent = "The desk does not answer. It has closed if longrank play was ended.";
  parts.said.textContent = payments(state.money.payments); // none a second
}

function moment(view) { // how many payments the console shows; null if it shows a part of them
  if (view?.name !== MODEL || !view.series) return null;
  const { starts, totals, now } = view.series;
  return view.range !== null && starts[0] <= now - view.range ? null : sum(totals.outcomes);
}

async function refresh(view) {
  const count = moment(view);
  try {
    const answer = await fetch(`/desk/state${count === null ? "" : `?payments=${count}`}`);
    const told = await answer.json();
    document.body.classList.toggle("starting", !answer.ok);
    if (!answer.ok) {
      $("desk").replaceChildren(element("div", { class: "card empty" }, element("h2", {}, "The payment desk opens in a moment"),
        element("p", {}, `${told.detail}; it opens within seconds.`)));
      parts.rows = null; // so that everything is built anew
      return;
    }
    state = told;
    if (view?.name === MODEL) shares = view.shares();
    draw();
    parts.problem.textContent = "";
    if (view?.name === MODEL) {
      view.happenings = state.marks;
      const { data, note } = view.charts.share;
      if (data) parts.share.update({ ...data, marks: marks(), note: note.textContent });
    }
    await why();
  } catch {
    closed();
  }
}

document.addEventListener("longrank", (event) => { heard = performance.now(); refresh(event.detail); });
refresh(null); // there is no model to hear of before the desk is open
setInterval(() => { if (!document.hidden && performance.now() - heard > 2 * EVERY) refresh(null); }, EVERY);
