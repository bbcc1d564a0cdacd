"use strict";
// The service's page: everything it shows comes from the public API.

const EVERY = 2000;
const WIDTH = 320, HEIGHT = 120, LEFT = 40, BOTTOM = 18, TOP = 8;
const opened = new Set(); // models whose schema is shown
const currencies = new Map(); // model -> what its money is counted in, if it says so
const waiting = new Map(); // model -> counts of pending decisions since the page was opened
const $ = (id) => document.getElementById(id);

function element(tag, attributes, ...children) {
  const svg = ["svg", "path", "rect", "line", "circle", "text", "g", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function shown(x, digits = 3) {
  if (x === null || x === undefined) return "–";
  if (Number.isInteger(x)) return (x + 0).toLocaleString("en"); // -0 + 0 is 0
  return (Number(x.toFixed(digits)) + 0).toFixed(digits);
}

function money(x, currency) {
  if (x === null || x === undefined) return "–";
  if (Math.abs(x) < 1e-12) x = 0; // what is left of a difference
  const small = x !== 0 && Math.abs(x) < 0.1; // a price of a few tokens has no whole cents
  const text = x.toLocaleString("en", small ? { maximumSignificantDigits: 3 }
    : { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return currency ? `${text} ${currency}` : text;
}

async function call(path) {
  const key = $("key").value.trim();
  const answer = await fetch(path, { headers: key ? { Authorization: `Bearer ${key}` } : {} });
  const body = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(body.detail || answer.statusText),
    { status: answer.status });
  return body;
}

function frame(low, high, title) {
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
  const floor = HEIGHT - BOTTOM;
  svg.append(element("line", { class: "axis", x1: LEFT, x2: WIDTH, y1: floor, y2: floor }),
    element("text", { x: 0, y: TOP + 8 }, shown(high, 2)),
    element("text", { x: 0, y: floor }, shown(low, 2)));
  const y = (v) => floor - (v - low) / (high - low || 1) * (floor - TOP);
  return { svg, y, floor };
}

function curve(values, title, from = 0) {
  const known = values.filter((v) => v !== null);
  if (!known.length) return element("p", { class: "soft" }, "no data yet");
  const low = Math.min(from, ...known), high = Math.max(from + 1e-9, ...known);
  const { svg, y } = frame(low, high, title);
  const step = (WIDTH - LEFT - 6) / Math.max(1, known.length - 1);
  const points = known.map((v, i) => `${(LEFT + i * step).toFixed(1)},${y(v).toFixed(1)}`);
  svg.append(element("path", { class: "curve", d: "M" + points.join("L") }));
  if (known.length === 1) svg.append(element("circle", { class: "dot", cx: LEFT, cy: y(known[0]), r: 3 }));
  return svg;
}

function bars(positions, title) {
  if (!positions.length) return element("p", { class: "soft" }, "no data yet");
  const { svg, y, floor } = frame(0, 1, title);
  const step = (WIDTH - LEFT) / positions.length;
  positions.forEach((p, i) => {
    const top = y(p.rate || 0), x = LEFT + i * step;
    const bar = element("rect", { class: "bar", x: x + 1, y: top, width: Math.max(1, step - 2),
      height: Math.max(0, floor - top) },
      element("title", {}, `position ${p.position}: ${p.succeeded} of ${p.tried}`));
    svg.append(bar);
    if (step > 14) svg.append(element("text", { x: x + step / 2 - 4, y: HEIGHT - 5 }, String(p.position)));
  });
  return svg;
}

const chart = (title, picture) => element("div", { class: "chart" }, element("h3", {}, title), picture);
const tile = (name, value) => element("div", { class: "tile" }, element("span", { class: "soft" }, name),
  element("b", { "data-tile": name }, value));

function runningMean(counts, means) {
  let total = 0, count = 0;
  return means.map((m, i) => { total += m * counts[i]; count += counts[i]; return total / count; });
}

function grouped(counts, means, most = 25) {
  const size = Math.ceil(means.length / most), result = [];
  for (let i = 0; i < means.length; i += size) {
    let total = 0, count = 0;
    for (let j = i; j < Math.min(i + size, means.length); j++) {
      total += means[j] * counts[j];
      count += counts[j];
    }
    result.push(total / count);
  }
  return result;
}

function table(head, rows) {
  const cells = (tag, row) => element("tr", {}, ...row.map((text) => element(tag, {}, text)));
  return element("div", { class: "wide" }, element("table", {}, cells("th", head),
    ...rows.map((row) => cells("td", row))));
}

function fields(model, schema) {
  const columns = schema.columns, seen = new Set(schema.fields.map((field) => field.name));
  const rows = schema.fields.map((field) => [field.side, field.name, field.text]);
  for (const [name, kind] of Object.entries(schema.declared)) if (!seen.has(name))
    rows.push(["declared", name, kind.kind + (kind.log ? " (log)" : "")]);
  const lines = [`${shown(columns.used)} of ${shown(columns.limit)} columns in use, ` +
    `${shown(columns.replaced)} replaced`];
  const has = (side, name) => schema.fields.some((each) => each.side === side && each.name === name);
  const told = (name) => has("candidate", name) && has("context", name) ? `context ${name}` : name;
  if (schema.crossed.length) lines.push("crossed: " +
    schema.crossed.map(([one, other]) => `${one ?? "constant"} × ${told(other)}`).join(", "));
  if (schema.not_crossed) lines.push(`${shown(schema.not_crossed)} pairs not crossed: a row would be too long`);
  if (schema.left_out.length) lines.push("not used, beyond 256 fields: " +
    schema.left_out.map(([side, name]) => `${side} ${name}`).join(", "));
  if (schema.ignored.length) lines.push("ignored: " + schema.ignored.join(", "));
  if (schema.idle.length) lines.push("crossed with no field of the candidates, so that they " +
    "change nothing: " + schema.idle.join(", "));
  const details = element("details", { "data-schema": model.name },
    element("summary", {}, `Schema: ${schema.fields.length} fields`),
    ...lines.map((line) => element("p", { class: "soft" }, line)),
    ...(rows.length ? [table(["side", "field", "kind"], rows)] : []));
  details.open = opened.has(model.name);
  details.addEventListener("toggle", () => opened[details.open ? "add" : "delete"](model.name));
  return details;
}

function sums({ stats, currency }) {
  if (!currency && !stats.total_spent) return [];
  return [element("div", { class: "tiles sums" }, tile("earned", money(stats.total_reward, currency)),
    tile("spent on tries", money(stats.total_spent, currency)),
    tile("earned per decision", money(stats.mean_reward, currency)),
    tile("spent per decision", money(stats.mean_spent, currency)),
    ...(stats.estimated ? [tile("with expected costs", shown(stats.estimated))] : []))];
}

function card([model, schema]) {
  const s = model.stats, c = s.curve, unit = model.currency ? ` in ${model.currency}` : "";
  const history = waiting.get(model.name) || [];
  history.push(s.pending);
  if (history.length > 300) history.shift();
  waiting.set(model.name, history);
  return element("article", { class: "card", "data-model": model.name },
    element("h2", {}, model.name),
    element("p", { class: "soft" }, `${model.policy}, ` +
      `${model.dim ? `${model.dim} features` : "records"}, ${model.mode}, ` +
      `version ${model.version}, state ${model.state_hash.slice(0, 12)}`),
    element("div", { class: "tiles" }, tile("decisions", shown(s.decisions)),
      tile("outcomes", shown(s.outcomes)), tile("learned", shown(s.learned)),
      tile("pending", shown(s.pending)), tile("expired", shown(s.expired)),
      tile("mean reward", shown(s.mean_reward)), tile("mean length", shown(s.mean_length, 2)),
      tile("success rate", shown(s.success_rate)), tile("give-ups", shown(s.give_ups))),
    ...sums(model),
    element("div", { class: "charts" },
      chart(`Mean reward so far${unit}, by outcome`, curve(runningMean(c.outcomes, c.reward), "mean reward")),
      chart("Success rate by position", bars(s.by_position, "success rate by position")),
      chart("Mean length", curve(grouped(c.outcomes, c.length), "mean length")),
      chart("Share of give-ups", curve(grouped(c.outcomes, c.give_ups), "give-ups")),
      chart("Pending decisions since the page was opened", curve(history, "pending decisions"))),
    ...(schema ? [fields(model, schema)] : []));
}

async function schemaOf(model) {
  if (model.dim) return null;
  try {
    return await call(`/v1/models/${encodeURIComponent(model.name)}/schema`);
  } catch (error) {
    if (error.status === 404) return null; // a policy that does not learn has none
    throw error;
  }
}

async function refresh() {
  const name = $("name").value.trim();
  try {
    const models = name ? [await call(`/v1/models/${encodeURIComponent(name)}`)]
      : (await call("/v1/models")).models;
    const described = await Promise.all(models.map(async (model) => [model, await schemaOf(model)]));
    for (const model of models) currencies.set(model.name, model.currency);
    $("models").replaceChildren(...described.map(card));
    if (!models.length) $("models").append(element("p", { class: "card soft" }, "No models yet."));
    if (!$("lookup-model").value && models.length) $("lookup-model").value = models[0].name;
    $("state").textContent = `live, ${new Date().toLocaleTimeString()}`;
  } catch (error) {
    $("state").textContent = error.status === 401 ? "Enter a key to see the models."
      : error.status === 403 ? "Enter the name of the model that this key is for." : error.message;
  }
}

function sequence(d) {
  const tries = d.sequence.length, most = d.values.length - 1, row = 26;
  const width = 620, name = 150, scale = 240, height = 34 + row * (most + 1) + 8;
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "sequence and expected values" });
  const known = d.values.filter((v) => v !== null);
  const low = Math.min(...known), high = Math.max(...known, low + 1e-9);
  const x = (v) => name + scale + 40 + (v - low) / (high - low) * 120;
  svg.append(element("text", { x: 0, y: 14, class: "strong" }, "try"),
    element("text", { x: name, y: 14, class: "strong" }, "estimate, and with bonus"),
    element("text", { x: name + scale + 40, y: 14, class: "strong" }, "expected value if it stops here"));
  for (let i = 0; i <= most; i++) {
    const y = 34 + row * i;
    if (d.values[i] !== null) svg.append(
      element("circle", { class: i === tries ? "chosen" : "dot", cx: x(d.values[i]), cy: y, r: i === tries ? 6 : 4 }),
      element("text", { x: x(d.values[i]) + 10, y: y + 4 }, shown(d.values[i])));
    if (i === 0) { svg.append(element("text", { x: 0, y: y + 4 }, "0  (try nothing)")); continue; }
    const choice = d.sequence[i - 1];
    if (!choice) { svg.append(element("text", { x: 0, y: y + 4 }, `${i}  (not worth trying)`)); continue; }
    const label = choice.id.length > 16 ? choice.id.slice(0, 15) + "…" : choice.id;
    svg.append(element("text", { x: 0, y: y + 4, class: "strong" }, `${i}  ${label}`));
    if (choice.optimistic !== null) svg.append(
      element("rect", { class: "bonus", x: name, y: y - 8, width: scale * choice.optimistic, height: 16 }),
      element("rect", { class: "bar", x: name, y: y - 8, width: scale * choice.estimate, height: 16 },
        element("title", {}, `estimate ${choice.estimate}, with bonus ${choice.optimistic}`)));
    if (d.outcome && i <= d.outcome.tried) {
      const good = d.outcome.succeeded && i === d.outcome.tried;
      svg.append(element("text", { x: name - 18, y: y + 4, class: good ? "good" : "bad" }, good ? "✓" : "✗"));
    }
  }
  return svg;
}

function prices(d) {
  const currency = currencies.get(d.model), paid = d.outcome?.costs;
  const rows = d.sequence.filter((choice) => "cost" in choice).map((choice, i) => [choice.id,
    money(choice.cost, currency), ...(paid ? [money(paid[i], currency)] : []),
    money(choice.value, currency), money(choice.adds, currency)]);
  return rows.length ? [table(["candidate", "planned cost", ...(paid ? ["real cost"] : []),
    "value of a success", "this try adds"], rows)] : [];
}

function result(d) {
  const currency = currencies.get(d.model), settled = d.outcome_record;
  const lines = [];
  if (d.loss_bound) lines.push(`No other plan is worth more than ${money(d.loss_bound, currency)} above this one.`);
  if (settled && (currency || settled.spent)) lines.push(`Earned ${money(settled.reward, currency)}, ` +
    `net of ${money(settled.spent, currency)} spent on tries` +
    `${settled.estimated ? ", as was expected: it told no costs" : ""}.`);
  if (d.patience < 1) lines.push(`Planned with a patience of ${shown(d.patience)}: ` +
    "the probability of going on after a failure.");
  return lines.map((line) => element("p", {}, line));
}

function reasons(d) {
  const told = (some) => some.map((r) => `${r.field} ${r.log_odds > 0 ? "+" : ""}${r.log_odds.toFixed(2)}`).join(", ");
  const rows = d.sequence.filter((choice) => choice.reasons).map((choice) => [choice.id,
    told(choice.reasons.filter((r) => r.log_odds > 0)), told(choice.reasons.filter((r) => r.log_odds < 0))]);
  return rows.length ? [table(["candidate", "for, in log-odds", "against"], rows)] : [];
}

async function explain(event) {
  event.preventDefault();
  const target = $("decision");
  try {
    const path = [$("lookup-model").value, $("lookup-id").value].map((s) => encodeURIComponent(s.trim()));
    const d = await call(`/v1/models/${path[0]}/decisions/${path[1]}`);
    const end = d.sequence.length, most = d.values.length - 1;
    const drawn = d.values.slice(end + 1).some((value) => value > d.values[end]);
    const why = end === most ? `It uses all ${most} tries of the budget.`
      : `It stops after ${end} of ${most} tries${drawn ? ", as drawn at random: a" : ": no"} ` +
        "longer sequence has a higher expected value.";
    target.replaceChildren(
      element("p", {}, `${d.status}; expected value ` +
        `${"cost" in (d.sequence[0] || {}) ? money(d.expected_value, currencies.get(d.model)) : shown(d.expected_value)}. ${why}`),
      ...result(d),
      ...(Object.keys(d.context || {}).length ? [element("p", { class: "soft" }, "context: " +
        Object.entries(d.context).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", "))] : []),
      sequence(d), ...prices(d), ...reasons(d),
      ...d.history.map((e) => element("p", { class: "soft" },
        `${new Date(e.at * 1000).toLocaleString()}: ${e.event}, ${e.detail}`)));
  } catch (error) {
    target.replaceChildren(element("p", { class: "problem" }, error.message));
  }
}

$("key").value = sessionStorage.getItem("longrank-key") || "";
$("name").value = sessionStorage.getItem("longrank-model") || "";
$("access").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("longrank-key", $("key").value.trim());
  sessionStorage.setItem("longrank-model", $("name").value.trim());
  refresh();
});
$("lookup").addEventListener("submit", explain);
refresh();
setInterval(() => { if (!document.hidden) refresh(); }, EVERY);
