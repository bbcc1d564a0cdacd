// The simulated payment desk above the console: what was earned, the buttons, the last payment.

import { call, path } from "/static/api.js";
import { open } from "/static/decisions.js";
import { $, element, money, percent, shown } from "/static/format.js";

const EVERY = 1000; // milliseconds
const parts = {};
const round = (x, unit) => `${Math.round(x).toLocaleString("en")} ${unit}`;
let state = null, last = null;

if (!location.hash) history.replaceState(null, "", "#payments/900");
sessionStorage.setItem("longrank-compare-payments", sessionStorage.getItem("longrank-compare-payments") || "model fixed-list");

function build() {
  for (const name of ["said", "longrank", "fixed", "perfect", "news", "why"]) parts[name] = element("div", {});
  const tile = (name, title, kind) => element("div", { class: `tile ${kind}` }, element("span", { class: "soft" }, title), parts[name]);
  parts.rows = state.providers.map(row);
  parts.mixes = Object.entries(state.mixes).map(([name, title]) => element("button", { type: "button", class: "plain", "data-mix": name,
    onclick: () => act("mix", name) }, title));
  parts.news.setAttribute("role", "status");
  $("desk").replaceChildren(element("div", { class: "card" },
    element("div", { class: "said" }, element("h2", {}, "Payment desk"), element("span", { class: "badge" }, "Simulated: payments, providers and fees are invented"), parts.said),
    element("div", { class: "columns" },
      element("div", {}, element("div", { class: "wide" }, element("table", {}, element("thead", {}, element("tr", {},
        ...["provider", "fee a try", "traffic now", "press to change"].map((text) => element("th", { scope: "col", class: text.split(" ")[0] }, text)))),
      element("tbody", {}, ...parts.rows.map((each) => each.node)))),
      element("div", { class: "mixes", role: "group", "aria-label": "Traffic" }, ...parts.mixes)),
      element("div", {}, element("div", { class: "money" }, tile("longrank", "longrank earned", "ours"), tile("fixed", "best fixed list", ""),
        tile("perfect", "perfect knowledge", "")), parts.news, parts.why))));
}

function row(provider) {
  const part = { fee: element("td", { class: "number fee" }), share: element("td", { class: "number" }) };
  const { name } = provider;
  part.outage = element("button", { type: "button", class: "plain", "data-outage": name, onclick: () => act(find(name).down ? "up" : "down", name) });
  part.raise = element("button", { type: "button", class: "plain", "data-fee": name, onclick: () => act("fee", name) });
  part.node = element("tr", { "data-provider": name }, element("td", {}, name), part.fee, part.share, element("td", {}, part.outage, " ", part.raise));
  return part;
}

const find = (name) => state.providers.find((each) => each.name === name);

function draw() {
  const { money: m, currency: unit } = state;
  if (!parts.rows) build();
  parts.said.textContent = `${shown(m.payments)} payments, ${shown(state.rate, 0)} a second`;
  const bold = (name, value) => parts[name].replaceChildren(element("b", { "data-tile": name }, round(value, unit)));
  bold("longrank", m.longrank);
  bold("fixed", m.fixed);
  bold("perfect", m.perfect);
  state.providers.forEach((each, i) => {
    const part = parts.rows[i];
    part.fee.textContent = `${money(each.fee, unit)} + ${(100 * each.percent).toFixed(1)} %`;
    if (!part.meter) part.share.append(part.meter = element("meter", { min: 0, max: 1, "aria-label": `share of ${each.name}` }), part.number = element("span", {}));
    part.meter.value = each.share;
    part.number.textContent = ` ${percent(each.share)}`;
    part.node.className = each.down ? "down" : "";
    label(part.outage, each.down ? "Bring back up" : "Take down", each.down);
    label(part.raise, each.raised ? "Normal fee" : "Double the fee", each.raised);
  });
  for (const button of parts.mixes) label(button, button.textContent, button.dataset.mix === state.mix);
  news();
}

function label(button, text, pressed) {
  if (button.textContent !== text) button.textContent = text;
  button.setAttribute("aria-pressed", String(Boolean(pressed)));
}

function news() {
  const { happening: h, currency: unit, money: m } = state;
  const told = (x, than) => `${money(Math.abs(x), unit)} ${x < 0 ? "less" : "more"} than ${than}`;
  const lines = [`In all, longrank earned ${told(m.longrank - m.fixed, `the best fixed list (${state.fixed.join(", ")})`)}, ` +
    `and ${percent(m.perfect ? m.longrank / m.perfect : null)} of what perfect knowledge earns.`];
  if (h) {
    const { since: s } = h, saved = s.longrank - s.as_before;
    lines.unshift(`${h.text}, ${shown(s.payments)} payments ago.` +
      `${h.provider ? ` Its share of traffic went from ${percent(h.share_before)} to ${percent(h.share_now)}.` : ""}` +
      ` Since then longrank ${saved < 0 ? "lost" : "saved"} ${money(Math.abs(saved), unit)} by learning (against routing as it did before), ` +
      `and earned ${told(s.longrank - s.fixed, "the fixed list")}.`);
  }
  parts.news.className = "news";
  parts.news.replaceChildren(...lines.map((line) => element("p", {}, line)));
}

async function why() { // the last payment, from the API
  if (!state?.last || state.last === last) return;
  last = state.last;
  try {
    const d = await call(path(state.model, `/decisions/${last}`));
    const tried = d.outcome ? d.outcome.tried : 0, first = d.sequence[0];
    const way = d.sequence.slice(0, Math.max(tried, 1)).map((each, i) =>
      `${each.id} ${d.outcome?.succeeded && i + 1 === tried ? "✓" : tried > i ? "✗" : ""}`).join(" → ");
    const spoke = (first?.reasons || []).filter((r) => Math.abs(r.log_odds) > 0.05).slice(0, 3)
      .map((r) => `${r.field} (${r.log_odds > 0 ? "for" : "against"})`).join(", ");
    parts.why.className = "why";
    parts.why.replaceChildren(element("b", {}, "Last payment: "),
      `${d.context.brand}, ${d.context.country}, ${money(d.context.amount, state.currency)} → ${way || "not tried"}. `,
      first ? `${first.id} came first: ${percent(first.estimate)} chance expected, ${money(first.cost, state.currency)} a try${spoke ? `; what counted: ${spoke}` : ""}. ` : "",
      element("button", { type: "button", class: "link", onclick: () => open({ name: state.model, currency: state.currency }, d.id) }, "Why?"));
  } catch (error) {
    parts.why.textContent = error.message;
  }
}

async function act(action, which) {
  const answer = await fetch("/desk/act", { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ action, which }) });
  if (answer.ok) { state = await answer.json(); draw(); }
}

async function refresh() {
  try {
    const answer = await fetch("/desk/state");
    if (!answer.ok) return;
    state = await answer.json();
    draw();
    if (!parts.why.contains(document.activeElement)) await why();
  } catch {
    if (parts.said) parts.said.textContent = "The desk has closed.";
  }
}

refresh();
setInterval(() => { if (!document.hidden) refresh(); }, EVERY);
