"""A private PostgreSQL: made in a temporary folder, reachable through its socket only."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path


def binaries() -> Path | None:
    """Where initdb and pg_ctl are."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "pg_ctl").exists()), None)


class Cluster:
    """A server that can be started, stopped hard, and started again."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="lrpg-", dir="/tmp"))
        self._user = self._someone()
        self.data = self.folder / "data"
        self._run(
            "initdb", "-D", str(self.data), "-A", "trust", "-U", "longrank", "-N", "-E", "UTF8"
        )
        settings = f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n"
        settings += "max_connections = 60\nshared_buffers = 16MB\n"
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(settings)
        self.start()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql:///{database}?host={self.folder}&user=longrank"

    def start(self) -> None:
        log = self.folder / "log"
        self._run("pg_ctl", "-D", str(self.data), "-l", str(log), "-w", "-t", "600", "start")

    def stop(self, mode: str = "immediate") -> None:
        """``immediate`` is as if the machine had died."""
        self._run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "-t", "600", "stop")

    def remove(self) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _someone(self) -> pwd.struct_passwd | None:
        """PostgreSQL refuses to run as root."""
        if os.geteuid() != 0:
            return None
        for name in ("postgres", "nobody"):
            try:
                user = pwd.getpwnam(name)
            except KeyError:
                continue
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            return user
        raise RuntimeError("no user to run PostgreSQL as")

    def _run(self, program: str, *args: str) -> None:
        user = self._user
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        with tempfile.TemporaryFile() as output:  # a pipe would be kept open by the server
            done = subprocess.run(
                [str(self._programs / program), *args],
                stdout=output, stderr=subprocess.STDOUT, cwd=self.folder, check=False,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, **identity,
            )  # fmt: skip
            if done.returncode:
                output.seek(0)
                raise RuntimeError(f"{program} failed: {output.read().decode()}")
