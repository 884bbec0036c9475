"""Logs from frames by the rules of files, and back; pandas and polars are optional."""

import numpy as np
import pytest

from inertica.errors import FileError, InputError
from inertica.logs.from_frame import from_frame
from inertica.robot.load import load

N = 50


def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    names = ("q1 [deg]", "q2", "tau1", "tau2")
    return {"time": np.arange(N) * 0.01, **{name: rng.normal(size=N) for name in names}, "note": np.array(["x"] * N)}


def test_columns_mean_what_they_mean_in_a_file():
    given = columns()
    log = from_frame(given)
    assert log.n == 2 and log.rate == pytest.approx(100.0) and log.need("q")[:, 0] == pytest.approx(np.radians(given["q1 [deg]"]))
    assert any("note" in note for note in log.notes) and str(log.origin) == "frame"
    again = from_frame(log.table())
    for symbol, values in log.signals.items():
        assert np.array_equal(again.signals[symbol], values)
    robot = load("planar2")
    assert from_frame(given, robot).joints == robot.robot.joint_names
    assert from_frame({k: v for k, v in given.items() if k != "time"}, rate=50.0).rate == pytest.approx(50.0)


def test_dates_are_clocks_and_none_is_a_missing_value():
    given = columns()
    start = np.datetime64("2026-01-02T03:04:05", "ns")
    given["time"] = start + (given["time"] * 1e9).round().astype("timedelta64[ns]")
    tau = given["tau1"].astype(object)
    tau[3] = None
    log = from_frame(given | {"tau1": tau})
    assert np.diff(log.t) == pytest.approx(0.01) and log.mask[3] and np.count_nonzero(log.mask) == 1


def test_what_is_no_frame_is_refused():
    with pytest.raises(InputError, match="not from list"):
        from_frame([1, 2, 3])
    with pytest.raises(FileError, match="needs two or more"):
        from_frame({k: v[:1] for k, v in columns().items()})


def test_pandas_and_back():
    pd = pytest.importorskip("pandas", reason="pandas is optional and not installed")
    frame = pd.DataFrame(columns()).set_index("time")
    log = from_frame(frame)
    assert log.n == 2 and log.rate == pytest.approx(100.0)
    out = log.to_pandas()
    assert list(out.columns) == ["t", "q1", "q2", "tau1", "tau2"] and np.array_equal(out["tau2"], log.need("tau")[:, 1])
    assert from_frame(out).need("q") == pytest.approx(log.need("q"), abs=0.0)
    prior = load("planar2").prior
    assert dict(zip(prior.to_pandas()["name"], prior.to_pandas()["value"], strict=True))["M1"] == prior["M1"]


def test_polars_and_back():
    pl = pytest.importorskip("polars", reason="polars is optional and not installed")
    log = from_frame(pl.DataFrame(columns()))
    assert log.n == 2
    assert np.array_equal(log.to_polars()["tau2"].to_numpy(), log.need("tau")[:, 1])
    with_gap = log.to_polars().with_columns(tau1=pl.when(pl.col("t") > 0.3).then(None).otherwise(pl.col("tau1")))
    assert np.isnan(from_frame(with_gap).need("tau")[-1, 0])
