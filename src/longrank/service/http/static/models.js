// The list of models: search by name, choose one.

import { $, count, element, money, percent, shown } from "./format.js";

const MOST = 200; // rows at a time: a search finds the rest
let models = [], chosen = null, drawn = "", reached = null;

export function update(found, current) {
  models = found;
  chosen = current;
  draw();
}

function draw() {
  const wanted = $("search").value.trim().toLowerCase();
  const fitting = models.filter((model) => model.name.toLowerCase().includes(wanted));
  const rows = fitting.slice(0, MOST);
  const state = JSON.stringify([rows, chosen]);
  if (state === drawn) return;
  drawn = state;
  const focused = document.activeElement?.dataset?.model;
  $("list").replaceChildren(...rows.map(entry));
  if (focused) [...$("list").querySelectorAll("a")].find((link) => link.dataset.model === focused)?.focus();
  $("count").textContent = !models.length ? "" : fitting.length > rows.length
    ? `${shown(rows.length)} of ${shown(fitting.length)} shown: search for the others`
    : wanted ? `${shown(fitting.length)} of ${shown(models.length)} models` : count(models.length, "model");
  reach();
}

function reach() { // a model that was just chosen is seen in the list, which scrolls and not the page
  const here = $("list").querySelector("[aria-current]");
  if (!here || reached === chosen) return;
  reached = chosen;
  const box = $("list").getBoundingClientRect(), own = here.getBoundingClientRect();
  if (own.top < box.top || own.bottom > box.bottom) $("list").scrollTop += own.top - box.top - box.height / 3;
}

function entry(model) {
  const facts = model.detail ? model.detail : !model.decisions ? "no decisions yet"
    : `${model.mode === "shadow" ? "shadow mode, caller's list: " : ""}${count(model.decisions, "decision")}, ${percent(model.success_rate)} success` +
      `${model.currency ? `, ${money(model.total_reward, model.currency)}` : ""}`;
  return element("li", {}, element("a", { href: `#${encodeURIComponent(model.name)}`, "data-model": model.name,
    "aria-current": model.name === chosen ? "page" : null, ...(model.detail ? { class: "problem" } : {}) },
  element("b", {}, model.name), element("span", { class: "soft" }, facts)));
}

$("search").addEventListener("input", draw);
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") $("list").querySelector("a")?.click();
});
