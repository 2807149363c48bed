"""What is handed from the measuring process to the reporting one, and written as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

__all__ = ["Time", "Row", "Run", "SCHEMA"]

SCHEMA = 1


@dataclass
class Time:
    """One contender's time.

    Attributes:
        seconds: the median; None where ``note`` says why there is none.
        cores: processors that were busy while it ran; None where it ran too short to say.
        note: what went wrong. With a time: the result differs from ours, so the time does not count.
    """

    peer: str
    label: str
    seconds: float | None
    yardstick: bool = False
    note: str = ""
    samples: list[float] = field(default_factory=list)
    cores: float | None = None

    @property
    def counts(self) -> bool:
        return self.seconds is not None and not self.yardstick and not self.note


@dataclass
class Row:
    """A workload, measured. ``floor`` is in seconds: the bytes that must move over the bandwidth."""

    name: str
    group: str
    form: str
    op: str
    table: list[int]
    index_shape: list[int]
    dtype: str
    index: str
    ids: str
    width: int
    unique: int
    floor_bytes: int
    floor: float
    ours: float | None
    samples: list[float] = field(default_factory=list)
    times: list[Time] = field(default_factory=list)
    note: str = ""  # why there is no time of ours

    @property
    def fastest(self) -> Time | None:
        """The fastest real peer whose result is ours."""
        return min((t for t in self.times if t.counts), key=lambda t: t.seconds or 0.0, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the fastest real peer."""
        fastest = self.fastest
        return fastest.seconds / self.ours if fastest and fastest.seconds and self.ours else None

    @property
    def over_floor(self) -> float | None:
        return self.ours / self.floor if self.ours and self.floor else None

    def best(self, peer: str, label: str = "") -> Time | None:
        """That peer's fastest way, or the failure if it has no other."""
        mine = [t for t in self.times if t.peer == peer and (not label or t.label == label)]
        return min(mine, key=lambda t: (bool(t.note), t.seconds or float("inf")), default=None)

    def to_json(self) -> dict[str, Any]:
        fastest = self.fastest
        return {
            **asdict(self),
            "fastest": fastest and {"peer": fastest.peer, "label": fastest.label, "seconds": fastest.seconds},
            "ratio": self.ratio,
            "over_floor": self.over_floor,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Row:
        known = {k: data[k] for k in (f.name for f in fields(cls)) if k in data}
        return cls(**{**known, "times": [Time(**t) for t in data["times"]]})


@dataclass
class Run:
    """Everything measured with one number of threads. ``bandwidth`` is in bytes a second; ``used`` is the one that floors are made of."""

    threads: int
    bandwidth: dict[str, float] = field(default_factory=dict)
    peers: dict[str, str] = field(default_factory=dict)  # name -> version
    missing: dict[str, str] = field(default_factory=dict)  # name -> why
    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "rows": [row.to_json() for row in self.rows]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Run:
        return cls(**{**data, "rows": [Row.from_json(row) for row in data["rows"]]})
