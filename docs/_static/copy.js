// A button on every block of code that copies what a reader would type: no prompts, no output.

const PROMPT = /^(?:>>>|\.\.\.|\$)(?: |$)/;

function typed(text) {
  const lines = text.replace(/\n+$/, "").split("\n");
  if (!lines.some((line) => /^(?:>>>|\$) /.test(line))) return lines.join("\n");
  const kept = [];
  let continued = false; // a command of the shell that goes on after a backslash
  for (const line of lines) {
    if (continued || PROMPT.test(line)) {
      kept.push(continued ? line : line.replace(PROMPT, ""));
      continued = kept.at(-1).endsWith("\\") && (continued || line.startsWith("$ "));
    }
  }
  return kept.join("\n");
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // a page that is opened as a file
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser refused to copy");
}

function add(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    button.textContent = await copy(typed(block.querySelector("pre").textContent)).then(() => "Copied", () => "Failed");
    button.focus();
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.append(button);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("div[class*='highlight-']:not(.highlight-text) > .highlight").forEach(add);
});
