// The console of the service: which model, which period, and what follows as time goes on.
// The address keeps both (#name/seconds), so that a link shows the same.

import { call } from "./api.js";
import { $, clock, element, moment } from "./format.js";
import { Model, RANGES } from "./model.js";
import * as models from "./models.js";

const EVERY = 2000; // milliseconds
let view = null, busy = false, again = false, heard = null;

function address() {
  const [name, seconds] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const range = seconds === "all" ? null : RANGES.some(([, size]) => size === Number(seconds)) ? Number(seconds) : 900;
  return { name: name || "", range };
}

const go = (name, range) => { location.hash = `#${encodeURIComponent(name)}/${range ?? "all"}`; };

function say(text, problem = false) { // a reader hears it when it changes, and not every two seconds
  if ($("state").textContent !== text) $("state").textContent = text;
  $("state").className = problem ? "problem" : "";
  if (!problem) heard = Date.now() / 1000;
  $("time").textContent = !problem ? clock(heard, 60) : view && heard ? `What is shown is of ${moment(heard)}.` : "";
  document.body.classList.toggle("stale", Boolean(problem && view));
}

function empty(...content) {
  view = null;
  $("model").replaceChildren(element("div", { class: "card empty" }, ...content));
}

async function list() { // with a model's own key there is only this one
  const name = $("name").value.trim();
  if (name) return { models: [{ name }], unavailable: [] };
  return await call("/v1/summaries");
}

export async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const { name, range } = address();
    const early = name && !view ? Model.ask(name, range) : null; // does not wait for the list
    early?.catch(() => {});
    const found = await list(), unavailable = found.unavailable || [];
    const known = found.models.map((model) => model.name);
    const chosen = [name, $("name").value.trim(), view?.name].find((one) => known.includes(one)) ?? busiest(found.models);
    const lost = name && !known.includes(name) && !$("name").value.trim(); // what the address asks for
    models.update([...found.models, ...unavailable], lost ? name : chosen);
    $("models").hidden = found.models.length + unavailable.length < (lost ? 1 : 2);
    if (lost) empty(element("h2", {}, name), element("p", { class: "problem" },
      unavailable.find((model) => model.name === name)?.detail || "There is no model of this name."));
    else if (!chosen) empty(element("h2", {}, "No models yet"), element("p", {}, "Create one, and it appears here:"),
      element("pre", { tabindex: 0 }, `curl -X PUT ${location.origin}/v1/models/routes${keyed("KEY")} --json '{}'`),
      ...($("key").value ? [element("p", { class: "soft" }, "KEY is the key that you entered here.")] : []));
    else {
      if (view?.name !== chosen) {
        view = new Model(chosen, range, known, (seconds) => go(chosen, seconds));
        $("model").replaceChildren(view.node);
        document.title = `${chosen} – longrank`;
      }
      view.setRange(range);
      view.offer(known);
      await view.refresh(chosen === name ? early : null);
      document.dispatchEvent(new CustomEvent("longrank", { detail: view }));
    }
    say("live");
    $("access").hidden = !$("key").value && !sessionStorage.getItem("longrank-key"); // none was needed
  } catch (error) {
    if (error.status === 401 || error.status === 403) $("access").hidden = false;
    say(error.status === 401 ? $("key").value ? "The service does not know this key." : "Enter a key to see the models."
      : error.status === 403 ? "Enter the name of the model that this key is for." : error.message, true);
    if (!view) $("model").replaceChildren();
  } finally {
    busy = false;
    if (again) { again = false; refresh(); }
  }
}

const keyed = (key) => $("key").value ? ` -H "Authorization: Bearer ${key}"` : "";

const busiest = (found) => [...found].sort((a, b) => b.decisions - a.decisions)[0]?.name || "";

$("key").value = sessionStorage.getItem("longrank-key") || "";
$("name").value = sessionStorage.getItem("longrank-model") || "";
$("access").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("longrank-key", $("key").value.trim());
  sessionStorage.setItem("longrank-model", $("name").value.trim());
  view = null;
  refresh();
});
document.querySelector(".skip").addEventListener("click", (event) => { // the address names a model, not a part of the page
  event.preventDefault();
  $("model").focus();
});
addEventListener("hashchange", refresh);
setInterval(() => { if (!document.hidden) refresh(); }, EVERY);
refresh();
