"""Gates in pytest: fixtures that fail a test when a network is not proven, and a report of them.

pytest finds this by itself where the package is installed:

    def test_digits(bf_aot_certify):
        bf_aot_certify("digits.onnx", X, y, eps="8/255", clip=(0, 1), at_least=0.9)

    def test_never_weak_left(bf_aot_verify):
        bf_aot_verify("avoid.onnx", "head_on.vnnlib", timeout=60)

`pytest --bf-aot-report FILE.json` (or FILE.html) writes what was asked and answered, also by the processes of
pytest-xdist, and what could not be asked.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, Dict, Generator, List, Union

import pytest

_ROWS = pytest.StashKey[List[Dict[str, Any]]]()
_REPORTED = "bf_aot_checks"  # an attribute of a test's report, which pytest-xdist hands on


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("bf-aot").addoption(
        "--bf-aot-report", metavar="FILE", default=None,
        help="write what bf_aot_certify and bf_aot_verify asked, as .json or .html")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--bf-aot-report")
    if path is not None and Path(path).suffix not in (".json", ".html"):
        raise pytest.UsageError("--bf-aot-report: the file's name must end in .json or .html")
    config.stash[_ROWS] = []
    config.pluginmanager.register(_Collector(config))


def _row(request: pytest.FixtureRequest, kind: str, model: Any, start: float, passed: bool,
         **more: Any) -> None:
    row = {"test": request.node.nodeid, "kind": kind, "model": getattr(model, "name", str(model)),
           "sha256": getattr(model, "sha256", ""), **more, "passed": passed,
           "seconds": round(time.monotonic() - start, 3)}
    request.node.stash.setdefault(_ROWS, []).append(row)


@contextmanager
def _errors_in_report(request: pytest.FixtureRequest, kind: str, model: Any) -> Generator[None, None, None]:
    """A check that ends by an error, of a model that cannot be read for example, is a row of it."""
    start = time.monotonic()
    try:
        yield
    except Exception as error:
        _row(request, kind, model, start, False, error=str(error))
        raise


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
    outcome = yield
    if call.when == "call":
        setattr(outcome.get_result(), _REPORTED, item.stash.get(_ROWS, []))


class _Collector:
    """Takes the rows of each test's report, in the process that writes the report of them all."""

    def __init__(self, config: pytest.Config) -> None:
        self._rows = config.stash[_ROWS]

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._rows.extend(getattr(report, _REPORTED, []))


@pytest.fixture
def bf_aot_certify(request: pytest.FixtureRequest) -> Any:
    """A function that fails the test where a classifier is certified around too few samples.

    bf_aot_certify(model, X, y, eps, at_least=1, **options): the arguments of bf_aot.certify(); of
    several radii each must reach `at_least`, a share from 0 to 1, or each its own of a list.
    Returns what bf_aot.certify() returns.
    """
    import bf_aot
    from bf_aot._gates import loaded, missed, shares_of

    def certify(model: Any, X: Any, y: Any, eps: Any, *, at_least: Any = 1, **options: Any
                ) -> Union["bf_aot.Certified", "bf_aot.Curve"]:
        start = time.monotonic()
        with _errors_in_report(request, "certify", model):
            network = loaded(model, X[:1])
            found = bf_aot.certify(network, X, y, eps, **options)
        shares = shares_of(found, eps, at_least)
        for share in shares:
            status = share.result.status
            _row(request, "certify", network, start, share.passed, eps=str(share.eps),
                 at_least=str(share.at_least), samples=len(status),
                 **{kind: status.count(kind) for kind in ("certified", "falsified", "unknown", "wrong")})
        text = missed(network.name, shares)
        if text:
            pytest.fail(text, pytrace=False)
        return found

    return certify


@pytest.fixture
def bf_aot_verify(request: pytest.FixtureRequest) -> Any:
    """A function that fails the test where a property is not verified.

    bf_aot_verify(model, property, **options): those of Model.verify(). Returns its VerifyResult.
    """

    from bf_aot._gates import loaded, not_verified

    def verify(model: Any, property: Any, *, example: Any = None, **options: Any) -> Any:
        start = time.monotonic()
        with _errors_in_report(request, "verify", model):
            network = loaded(model, example)
            result = network.verify(property, **options)
        text = property if isinstance(property, str) and "(" not in property else repr(property)
        _row(request, "verify", network, start, result.verified, property=str(text),
             verdict=str(result.verdict))
        failed = not_verified(network.name, result)
        if failed:
            pytest.fail(failed, pytrace=False)
        return result

    return verify


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--bf-aot-report")
    if path is None or hasattr(session.config, "workerinput"):  # a process of pytest-xdist
        return
    rows = session.config.stash[_ROWS]
    if Path(path).suffix == ".json":
        text = json.dumps({"checks": rows}, indent=1) + "\n"
    else:
        text = _page(rows)
    Path(path).write_text(text, encoding="utf-8")


@pytest.hookimpl(hookwrapper=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> Generator[None, None, None]:
    yield
    rows = config.stash[_ROWS]
    if rows:
        passed = sum(row["passed"] for row in rows)
        report = config.getoption("--bf-aot-report")
        terminalreporter.write_line(f"bf-aot: {passed} of {len(rows)} checks passed"
                                    + (f", report in {report}" if report else ""))


def _page(rows: List[Dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row if name != "sha256"))
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        f'<tr class="{"passed" if row["passed"] else "failed"}">'
        + "".join(f"<td>{escape(str(row.get(name, '')))}</td>" for name in names) + "</tr>\n"
        for row in rows)
    return ('<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>bf-aot checks</title>\n'
            "<style>body{font:15px sans-serif}td,th{padding:.2em .6em;text-align:left}"
            ".failed{background:#fdd}</style>\n"
            f"<h1>bf-aot checks</h1>\n<table><tr>{head}</tr>\n{body}</table></html>\n")
