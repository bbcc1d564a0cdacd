"""What the tests of the service share: rounds, engines, a clock that can be set, real servers."""

import io
import logging
import shutil
import tempfile
from pathlib import Path
from shutil import which

import psycopg
import pytest
from cluster import Cluster, binaries
from serving import Clock, make, service, skip

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:  # the fixture says so
    webdriver = None

from longrank.service.engine.engine import Engine
from longrank.service.http.logs import configure_logging
from longrank.service.store import postgres
from longrank.service.store.postgres import PostgresStore
from longrank.service.store.sqlite import SqliteStore
from longrank.service.store.store import open_store


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def folder():
    """A folder in memory where there is one: fsync is not what these tests are about."""
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    path = Path(tempfile.mkdtemp(prefix="longrank-", dir=where))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def path(folder):
    return folder / "decisions.db"


@pytest.fixture
def engine(path, clock):
    """An engine over a SQLite file with one model, ``m``."""
    with Engine(SqliteStore(path), clock=clock) as engine:
        make(engine, "m")
        yield engine


@pytest.fixture
def reopen(path, clock):
    """Opens the same file again."""
    opened = []

    def again(**settings) -> Engine:
        engine = Engine(SqliteStore(path), clock=clock, **settings).start()
        opened.append(engine)
        return engine

    yield again
    for engine in opened:
        engine.close()


@pytest.fixture
def http(path, clock):
    """The application over a fresh file, behind uvicorn on loopback, as the administrator."""
    with service(path, clock=clock, max_bytes=100_000) as client:
        yield client


@pytest.fixture(scope="module")
def module_http(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "decisions.db"
    with service(path, max_bytes=100_000) as client:
        yield client


@pytest.fixture
def shared_http(module_http):
    """The same, of one service for all tests of a module; their models are deleted."""
    yield module_http
    for model in module_http.engine.models():
        module_http.engine.delete(model.name)


@pytest.fixture
def root_logger():
    """The root logger; afterwards the process logs as before."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture
def lines(root_logger):  # noqa: ARG001
    """What is logged, in the form in which the service logs it."""
    stream = io.StringIO()
    configure_logging("debug", stream)
    return stream


HELD = """
const later = setTimeout, every = setInterval, ask = fetch, read = Response.prototype.json;
let held = false, pending = 0;
function counted(promise) {
  const done = () => later(() => pending--, 0); // after whatever waits for it
  pending++;
  promise.then(done, done);
  return promise;
}
window.setInterval = (work, span) => every(() => held || work(), span);
window.fetch = (...args) => counted(ask(...args));
Response.prototype.json = function () { return counted(read.call(this)); };
window.hold = () => { held = true; };
window.isQuiet = () => pending === 0;
"""  # lets a test hold a page that refreshes itself, and know when nothing is under way


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    driver, chromium = which("chromedriver"), which("chromium")
    if webdriver is None or driver is None or chromium is None:
        skip("Chromium, its driver or selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, Service(driver))
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HELD})
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium):
    """The browser, on an empty page, with nothing left of the test before."""
    chromium.get("about:blank")
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.set_window_size(1100, 1400)
    chromium.get_log("browser")
    return chromium


@pytest.fixture(scope="session")
def cluster():
    """A private PostgreSQL server."""
    programs = binaries()
    if programs is None:
        skip("PostgreSQL")
    cluster = Cluster(programs)
    yield cluster
    cluster.remove()


@pytest.fixture
def hurried():
    """Lets a database end what is silent or locked as soon as a service's does."""


@pytest.fixture
def database(cluster, request, monkeypatch):
    """The URL of an empty database of this test's own, which waits for a busy machine."""
    if "hurried" not in request.fixturenames:
        for name in ("LEASE", "CERTAIN", "APPEND", "STATEMENT", "PREPARING", "LOCK_WAIT"):
            monkeypatch.setattr(postgres, name, 600.0)
        for name in ("lock_timeout", "idle_in_transaction_session_timeout"):
            monkeypatch.setitem(postgres._SERVER, name, "600000")
        monkeypatch.setitem(postgres._CLIENT, "connect_timeout", 120)
    name = f"t{abs(hash(request.node.nodeid)) % 10**12}"
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield cluster.url(name)
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def engines(database, clock):
    """Two engines on one database with one model, ``m``, as in two processes."""
    both = [Engine(PostgresStore(database), clock=clock).start() for _ in range(2)]
    make(both[0], "m")
    both[1].follow()
    yield both
    for engine in both:
        engine.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def where(request, path):
    """What ``--store`` would say: each of the databases."""
    return str(path) if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.fixture
def store(where):
    """An empty store."""
    store = open_store(where)
    yield store
    store.close()
