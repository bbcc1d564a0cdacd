"""The button that copies a block of code, in a real browser."""

import html
import json
import os
import re
import subprocess
from shutil import which

import pytest
from pages import DOCS

pytestmark = pytest.mark.browser

# What a page shows, and what a reader gets who copies it.
BLOCKS = {
    ">>> def f(x):\n...     return x\n...\n>>> f(1)\n1\n>>>\n>>> f(2)  # >>> \n2\n\n": (
        "def f(x):\n    return x\n\nf(1)\n\nf(2)  # >>> "
    ),
    "$ longrank run a \\\n    --seeds 3\ndone\n$ ls\nx.csv\n": (
        "longrank run a \\\n    --seeds 3\nls"
    ),
    "curl $URL/healthz\n\nx = [...]  # >>> no prompt\n": (
        "curl $URL/healthz\n\nx = [...]  # >>> no prompt"
    ),
    ">>> print('a\\\\')\na\\\n": "print('a\\\\')",
}
PRESS = """
const copied = [];
const clipboard = { writeText: async (text) => copied.push(text) };
Object.defineProperty(navigator, "clipboard", { value: clipboard });
addEventListener("load", async () => {
  const buttons = [...document.querySelectorAll("button")];
  const before = buttons.map((button) => [button.textContent, button.tabIndex]);
  for (const button of buttons) { button.click(); await new Promise((done) => setTimeout(done)); }
  const found = { copied, before, after: buttons.map((button) => button.textContent) };
  document.body.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = JSON.stringify(found);
});
"""


@pytest.fixture
def found(tmp_path):
    chromium = which("chromium")
    if chromium is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Chromium is not installed")
    block = "<div class='highlight-{}'><div class=highlight><pre>{}</pre></div></div>"
    body = "".join(block.format("default", html.escape(text)) for text in BLOCKS)
    body += block.format("text notranslate", "what a command prints")
    script = (DOCS / "_static" / "copy.js").read_text()
    page = tmp_path / "page.html"
    page.write_text(f"<body>{body}<script>{script}</script><script>{PRESS}</script>")
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--virtual-time-budget=1000", f"--user-data-dir={tmp_path / 'user'}", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)[1]))


def test_every_block_but_output_has_a_button_that_copies_what_one_types(found):
    assert found["copied"] == list(BLOCKS.values())
    assert found["before"] == [["Copy", 0]] * len(BLOCKS)  # reached by the Tab key
    assert found["after"] == ["Copied"] * len(BLOCKS)
