"""The panel of the desk: the service's own page, with one section more and its buttons."""

from typing import Annotated, Any

import msgspec

from longrank.service.http.problems import Refused
from longrank.service.http.routes import HTML, FileName, Route
from longrank.service.http.service import Reply, Service
from longrank.service.http.status import PAGE_HEADERS, static_file
from longrank.service.play.traffic import Desk

Payments = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
_HEAD = (
    '<link rel="stylesheet" href="/desk/desk.css">\n'
    '  <script type="module" src="/desk/desk.js"></script>'
)


class Action(msgspec.Struct, forbid_unknown_fields=True):
    """A press of a button."""

    action: str
    which: str


class Panel:
    """The page with the desk in it, and the desk's state and buttons, as routes of the service."""

    def __init__(self) -> None:
        self.desk: Desk | None = None

    def routes(self) -> list[Route[..., Any]]:
        """Return what is served beside the API; the page takes the place of the service's."""

        def reads(self: object) -> None: ...
        def reads_file(self: object, file: FileName) -> None: ...
        def reads_state(self: object, payments: Payments | None = None) -> None: ...
        def presses(_: object, action: str, which: str) -> Action:
            return Action(action, which)

        def route(
            method: str, path: str, handler: Any, request: Any, **more: Any
        ) -> Route[..., Any]:
            return Route("desk", method, path, handler, "open", {200: bytes}, request, **more)

        return [
            route("GET", "/", self._page, reads, media=(HTML,)),
            route("GET", "/desk/state", self._state, reads_state, query=("payments",)),
            route("POST", "/desk/act", self._act, presses),
            route("GET", "/desk/{file}", self._file, reads_file),
        ]

    async def _page(self, service: Service) -> Reply:  # noqa: ARG002
        page = static_file("index.html").body
        assert isinstance(page, bytes)
        page = page.replace(b"<!-- head of a panel -->", _HEAD.encode())
        page = page.replace(b"<!-- panel -->", b'<section id="desk"></section>')
        return Reply(page, PAGE_HEADERS)

    async def _file(self, service: Service, file: str) -> Reply:  # noqa: ARG002
        return static_file(file, __package__)

    async def _state(self, service: Service, payments: int | None) -> Reply:  # noqa: ARG002
        return _answer(self._ready().state(payments))

    async def _act(self, service: Service, body: Action) -> Reply:  # noqa: ARG002
        desk = self._ready()
        desk.act(body.action, body.which)
        return _answer(desk.state())

    def _ready(self) -> Desk:
        if self.desk is None:
            raise Refused(503, "the desk is not open yet")
        return self.desk


def _answer(state: dict[str, Any]) -> Reply:
    return Reply(msgspec.json.encode(state), PAGE_HEADERS)
