// Numbers, money, times and elements as the page shows them.

const SVG = new Set(["svg", "path", "rect", "line", "circle", "text", "g", "title"]);

export const $ = (id) => document.getElementById(id);

export function element(tag, attributes, ...children) {
  const node = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function shown(x, digits = 3) {
  if (x === null || x === undefined) return "–";
  if (Number.isInteger(x)) return (x + 0).toLocaleString("en"); // -0 + 0 is 0
  return (Number(x.toFixed(digits)) + 0).toFixed(digits);
}

export function money(x, currency) {
  if (x === null || x === undefined) return "–";
  if (Math.abs(x) < 1e-12) x = 0; // what is left of a difference
  const small = x !== 0 && Math.abs(x) < 0.0995; // a price of a few tokens has no whole cents
  const text = x.toLocaleString("en", small ? { maximumSignificantDigits: 3 }
    : { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return currency ? `${text} ${currency}` : text;
}

export const percent = (x) => x === null || x === undefined || Number.isNaN(x) ? "–"
  : `${(100 * x).toFixed(x > 0 && x < 0.01 ? 1 : 0)} %`;

export function clock(seconds, span = 0) {
  const date = new Date(seconds * 1000);
  if (span > 3 * 86400) return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const time = { hour: "2-digit", minute: "2-digit", ...(span && span <= 600 ? { second: "2-digit" } : {}) };
  const text = date.toLocaleTimeString("en-GB", time);
  return span > 86400 ? `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${text}` : text;
}

export const moment = (seconds) => new Date(seconds * 1000).toLocaleString("en-GB", { day: "numeric",
  month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });

export function duration(seconds) {
  for (const [name, size] of [["day", 86400], ["hour", 3600], ["minute", 60]])
    if (seconds >= size) return `${shown(Number((seconds / size).toFixed(1)), 1)} ${name}${seconds === size ? "" : "s"}`;
  return `${seconds} seconds`;
}

// What spoke for a candidate, in words: "status=up x brand=visa" is "brand visa while status up".
export function plainly(reason) {
  const words = reason.split(" x ").map((part) => {
    const [, name, value] = /^([^=]*)=(.*)$/s.exec(part) || [null, "", part];
    return name === "id" ? `${value} in general` : `${name} ${value}`.trim();
  });
  return words.length > 1 ? `${words.slice(1).join(" and ")} while ${words[0]}` : words[0];
}

export const count = (n, noun) => `${shown(n)} ${noun}${n === 1 ? "" : "s"}`;

export const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);

export function table(head, rows, caption) {
  const line = (tag, row) => element("tr", {}, ...row.map((cell) =>
    element(tag, { ...(tag === "th" ? { scope: "col" } : {}), ...(number(cell) ? { class: "number" } : {}) }, cell)));
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption || `table: ${head.join(", ")}` },
    element("table", {}, ...(caption ? [element("caption", {}, caption)] : []),
      element("thead", {}, line("th", head)), element("tbody", {}, ...rows.map((row) => line("td", row)))));
}

const number = (cell) => typeof cell === "string" && /^[-–+]?[\d.,]*( %| [A-Z]{3})?$/.test(cell);
