// Calls of the public API: everything that the page shows comes from there.

import { $ } from "./format.js";

export class Failed extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export async function call(path) {
  const key = $("key").value.trim();
  let answer;
  try {
    answer = await fetch(path, { headers: key ? { Authorization: `Bearer ${key}` } : {} });
  } catch {
    throw new Failed(0, "The service does not answer. The page goes on trying.");
  }
  let body;
  try {
    body = await answer.json();
  } catch { // a proxy's own page, say
    throw new Failed(answer.status || 502, `Not an answer of the service (status ${answer.status}). The page goes on trying.`);
  }
  if (!answer.ok) throw new Failed(answer.status, body.detail || answer.statusText);
  return body;
}

export const path = (model, rest = "", query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  return `/v1/models/${encodeURIComponent(model)}${rest}${text ? `?${text}` : ""}`;
};
