"""The service's page, followed against a running service: every call with curl, and the client."""

import json
import os
import subprocess

from pages import DOCS, blocks
from reader import bash, environment, wait_for
from serving import free_port

ADMIN = "a-key-for-the-administrator"


def test_every_call_of_the_page_is_answered(tmp_path):
    port = free_port()
    variables = environment(tmp_path / "bin") | {"LONGRANK_ADMIN_KEY": ADMIN}
    curl = bash("command -v curl", tmp_path, dict(os.environ)).strip()
    strict = tmp_path / "bin" / "curl"  # fails where the answer is an error
    strict.write_text(f'#!/bin/sh\nexec {curl} --silent --show-error --fail-with-body "$@"\n')
    strict.chmod(0o755)

    page = [block for block in blocks(DOCS / "service.md") if block.language in ("sh", "python")]
    start, names, *calls = [block.text for block in page if block.language == "sh"]
    assert "longrank serve" in start
    names = names.replace("8000", str(port))
    command = ["longrank", "serve", "--port", str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=tmp_path, env=variables, **quiet)

    def call(text: str) -> str:
        return bash(f"{names}\n{text}", tmp_path, variables)

    try:
        wait_for(f"http://127.0.0.1:{port}/readyz", server)
        create = calls.pop(0)
        made = call(create.splitlines()[0])
        names += f'\nKEY="Authorization: Bearer {json.loads(made)["key"]}"'
        call(create.partition("\n")[2].partition("KEY=")[0])
        [last] = [text for text in calls if '/v1/models/routes -H "$ADMIN"  ' in text]
        calls.remove(last)
        for text in calls:
            call(text)
        assert (tmp_path / "routes.parquet").is_file()

        [client] = [block.text for block in page if block.text.startswith("from longrank.service")]
        program = f"key = {ADMIN!r}\n{client}print(decision.id)"
        (tmp_path / "client.py").write_text(program.replace("8000", str(port)))
        assert call("python client.py")

        other = json.loads(call('curl -X POST $URL/v1/models/routes/keys -H "$ADMIN"'))["id"]
        answers = call(last.replace("1a2b3c4d", other))
        assert "# HELP longrank_requests" in answers
        assert '"openapi":"3.1.' in answers.replace(" ", "")
    finally:
        server.terminate()
        server.wait(120)
