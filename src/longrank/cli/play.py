"""``longrank play``."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
import webbrowser
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli.terminal import console, needs, say
from longrank.errors import InvalidInput

if TYPE_CHECKING:
    from longrank.service.play import Desk


@needs("service")
def play(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 0,
    rate: Annotated[
        float, typer.Option(min=0.1, max=1000.0, help="Simulated payments a second.")
    ] = 20.0,
    seconds: Annotated[
        float | None,
        typer.Option(min=1.0, help="Stop after this many seconds. Default: run until Ctrl-C."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the payments.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Stage an outage, save a picture of the earnings as this PNG file, and stop."
        ),
    ] = None,
) -> None:
    """Watch longrank route simulated payments on a live page, and cause outages to see it react.

    Starts the real service on a temporary store and opens its page in the browser. The payments,
    the providers and their fees are simulated; the service routes them as it would route yours.
    Buttons on the page take a provider down, raise its fee or change the traffic. The page shows
    what longrank earns compared with the best fixed list and with perfect knowledge, what it has
    learned about each provider, and why each payment went where it went.

    With `--record` it runs for `--seconds` (90 by default), takes the first provider of the fixed
    list down half-way, and saves a picture of the result. This needs Chromium or Chrome.

    Needs `pip install '.[service]'`.

    Example: `longrank play --rate 50`
    """
    from longrank.service import play as playing
    from longrank.service.app import build
    from longrank.service.engine.engine import Engine
    from longrank.service.http.limits import Limits
    from longrank.service.http.logs import configure_logging
    from longrank.service.server import listen, make_server
    from longrank.service.store.store import open_store

    if record is not None:
        if record.suffix.lower() != ".png":
            raise InvalidInput("--record", "end in .png", record)
        playing.browser()  # fail now rather than in a minute
    started, stopping = time.monotonic(), threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        stopping.set()  # what is raised within a finaliser is ignored
        signal.default_int_handler(number, frame)

    for each in (signal.SIGINT, signal.SIGTERM):  # both end with a summary
        signal.signal(each, interrupt)
    configure_logging("error")
    with tempfile.TemporaryDirectory(prefix="longrank-play-") as folder:
        listener = listen("127.0.0.1", port)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        panel, engine = playing.Panel(), Engine(open_store(f"{folder}/payments.db"))
        server = make_server(build(engine, auth=False, more=panel.routes()), Limits())
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        serving.start()
        if not no_browser and record is None:
            webbrowser.open(url)  # the page says that the desk is not open yet
        desk = None
        try:
            with console.status("opening the desk"):
                desk = playing.Desk(url, seed=seed)
                while not engine.ready and serving.is_alive():
                    time.sleep(0.01)
                desk.open()
                panel.desk = desk
            console.print(
                f"Routing simulated payments at {url} (ready after "
                f"{time.monotonic() - started:.0f} s). Press Ctrl-C to stop.",
                highlight=False,
                soft_wrap=True,
            )
            span = seconds or (90.0 if record is not None else None)
            _run(desk, rate, span, stopping, outage=record is not None)
            if record is not None:
                playing.record(f"{url}?picture#payments/all", record)
                say(f"saved {record}")
        except KeyboardInterrupt:
            pass
        finally:
            stopping.set()
            if desk is not None:
                _summary(desk)
                desk.close()
            server.should_exit = True
            serving.join(120.0)
            listener.close()


def _run(
    desk: Desk, rate: float, seconds: float | None, stopping: threading.Event, *, outage: bool
) -> None:
    """Route payments for so many seconds, or until Ctrl-C; with an outage after half."""
    timers = [] if seconds is None else [threading.Timer(seconds, stopping.set)]
    if outage and seconds is not None:
        timers.append(threading.Timer(seconds / 2, desk.act, ("down", desk.fixed[0])))
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        desk.run(rate, stopping)
    finally:
        for timer in timers:
            timer.cancel()


def _summary(desk: Desk) -> None:
    """Summarise the game in money."""
    money = desk.money
    if not money.payments:
        return
    gain = money.longrank - money.fixed
    say(
        f"\n{money.payments:,} simulated payments. longrank earned {money.longrank:,.2f} EUR, "
        f"{abs(gain):,.2f} EUR {'less' if gain < 0 else 'more'} than the best fixed list "
        f"({money.fixed:,.2f} EUR); perfect knowledge would have earned {money.perfect:,.2f} EUR. "
        "Luck plays no part in the differences."
    )
