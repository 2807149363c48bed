"""Ratings from two tables of vectors: ``rating(u, i) = mean + a[u] + b[i] + p[u] . q[i]`` (Koren, Bell, Volinsky 2009, IEEE Computer 42(8)).

The ratings are generated from such a model with noise of a known size, which is then the best error that anybody can reach; or read from
a file in a MovieLens format (``user::item::rating::time``, or columns apart by tabs or commas, with or without a head line).
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np
from show import Progress, add_options, digest, number, plot  # the file beside this one

import paramstore as ps

Array = np.ndarray[Any, np.dtype[Any]]
OPTIMIZERS = {"adagrad": (ps.optim.Adagrad, 0.1), "adam": (ps.optim.Adam, 0.02), "sgd": (ps.optim.SGD, 0.02)}
RANK, NOISE = 4, 0.5  # of generated ratings


@dataclasses.dataclass
class Ratings:
    """Users and items as numbers from 0, and which ratings are held out; ``best`` is the least error that can be reached, if it is known."""

    users: Array
    items: Array
    values: Array
    held: Array
    best: float | None

    @classmethod
    def generated(cls, users: int, items: int, count: int, seed: int) -> Ratings:
        rng = np.random.default_rng(seed)
        p, q = rng.standard_normal((users, RANK)), rng.standard_normal((items, RANK)) / np.sqrt(RANK)
        a, b = rng.standard_normal(users) * 0.3, rng.standard_normal(items) * 0.3
        u, i = rng.integers(0, users, count), rng.integers(0, items, count)
        noise = rng.standard_normal(count) * NOISE
        values = 3.5 + a[u] + b[i] + np.einsum("nk,nk->n", p[u], q[i]) + noise
        held = rng.random(count) < 0.1
        return cls(u, i, values.astype(np.float32), held, float(np.sqrt(np.mean(noise[held] ** 2))))

    @classmethod
    def read(cls, path: str, seed: int) -> Ratings:
        rows = []
        try:
            lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise SystemExit(f"matrix_factorization: cannot read {path!r}: {error.strerror or error}") from None
        for k, line in enumerate(lines):
            parts = line.replace("::", "\t").replace(",", "\t").split("\t")
            try:
                rows.append((parts[0], parts[1], float(parts[2])))
            except (IndexError, ValueError):
                if k and line.strip():  # the first line may be a head
                    raise SystemExit(f"matrix_factorization: {path!r} line {k + 1} is no rating: {line[:60]!r}") from None
        if len(rows) < 100:
            raise SystemExit(f"matrix_factorization: {path!r} has {len(rows)} ratings; at least 100 are needed")
        users, items = (np.unique([r[c] for r in rows], return_inverse=True)[1] for c in (0, 1))
        held = np.random.default_rng(seed).random(len(rows)) < 0.1
        return cls(users, items, np.array([r[2] for r in rows], np.float32), held, None)


class Model:
    """The tables, as Parameters."""

    def __init__(self, store: ps.ParamStore, ratings: Ratings, rank: int, seed: int) -> None:
        users, items = int(ratings.users.max()) + 1, int(ratings.items.max()) + 1
        self.mean = np.float32(ratings.values[~ratings.held].mean())
        self.p = store.create("mf/user", (users, rank), initializer=ps.init.normal(std=0.1, seed=seed))
        self.q = store.create("mf/item", (items, rank), initializer=ps.init.normal(std=0.1, seed=seed + 1))
        self.a, self.b = store.create("mf/user_bias", (users, 1)), store.create("mf/item_bias", (items, 1))

    def rows(self, u: Array, i: Array, locked: bool = False) -> list[Array]:
        return [t.gather(k, use_locking=locked) for t, k in ((self.p, u), (self.q, i), (self.a, u), (self.b, i))]

    def errors(self, rows: list[Array], values: Array) -> Array:
        """Prediction less rating, (N,)."""
        p, q, a, b = rows
        found: Array = self.mean + a[:, 0] + b[:, 0] + np.einsum("nk,nk->n", p, q) - values
        return found

    def rmse(self, ratings: Ratings) -> float:
        """The root of the mean squared error of the held-out ratings."""
        u, i, values = ratings.users[ratings.held], ratings.items[ratings.held], ratings.values[ratings.held]
        return float(np.sqrt(np.mean(self.errors(self.rows(u, i), values).astype(np.float64) ** 2)))


def train(model: Model, ratings: Ratings, options: argparse.Namespace) -> list[tuple[float, float]]:
    """All epochs; answers the held-out error after each."""
    make, rate = OPTIMIZERS[options.optimizer]
    rate = rate if options.lr is None else options.lr
    optimizer = make(rate)
    locked, decay = options.mode == "locked", np.float32(options.decay)
    known = np.flatnonzero(~ratings.held)
    progress = Progress(options.epochs * len(known), "ratings")
    curve = []
    for epoch in range(options.epochs):
        order = np.random.default_rng([options.seed, epoch]).permutation(known)
        now = dataclasses.replace(optimizer, lr=rate * (1 - 0.95 * epoch / options.epochs))

        def work(task: ps.Task, now: Any = now) -> Any:
            u, i, values = (column[task.batch] for column in (ratings.users, ratings.items, ratings.values))
            with task.read():
                p, q, a, b = rows = model.rows(u, i, locked)
            yield
            error = model.errors(rows, values)
            e = error[:, None]
            steps = ((model.p, u, e * q + decay * p), (model.q, i, e * p + decay * q), (model.a, u, e + decay * a), (model.b, i, e + decay * b))
            yield
            with task.turn():
                for table, ids, gradient in steps:
                    now.apply(table, ps.IndexedSlices(ids, gradient, table.shape), use_locking=locked)
            return float((error.astype(np.float64) ** 2).sum()), len(u)

        parts = [order[k : k + options.batch] for k in range(0, len(order), options.batch)]
        ps.run_threads(work, parts, workers=4, threads=options.threads, ordered=options.mode == "sequencer",
                       done=lambda task, r: progress.add(r[1], *r))  # fmt: skip
        curve.append((epoch + 1.0, model.rmse(ratings)))
    return curve


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="matrix_factorization", description=(__doc__ or "").split("\n")[0])
    count = number(int, 1, 10**8)
    add_options(parser, (
        ("users", count, 2000, "to generate"), ("items", count, 1000, "to generate"), ("ratings", number(int, 100, 10**8), 300_000, "to generate"),
        ("rank", number(int, 1, 1000), RANK, "length of a vector"), ("epochs", count, 20, "passes over the ratings"),
        ("batch", count, 1024, "ratings in a micro-batch; 4 are a step"), ("threads", number(int, 1, 64), 2, "threads that work"),
        ("lr", number(float, 1e-6, 10.0), None, "learning rate (default: the optimizer's)"),
        ("decay", number(float, 0.0, 10.0), 0.02, "factor of the squared norm in the loss"), ("seed", number(int, 0, 10**9), 1, "of everything random"),
    ))  # fmt: skip
    parser.add_argument("--mode", choices=("sequencer", "locked", "hogwild"), default="sequencer", help="how threads work together (default: %(default)s)")
    parser.add_argument("--optimizer", choices=tuple(OPTIMIZERS), default="adagrad", help="(default: %(default)s)")
    parser.add_argument("--file", metavar="FILE", help="ratings in a MovieLens format (default: generated ones)")
    parser.add_argument("--plot", metavar="FILE", default="matrix_factorization.png",
                        help='PNG or SVG for the error, written if matplotlib is there; "" for none (default: %(default)s)')  # fmt: skip
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    start = time.perf_counter()
    ratings = Ratings.read(options.file, options.seed) if options.file else Ratings.generated(options.users, options.items, options.ratings, options.seed)
    ps.set_num_threads(options.threads if options.mode == "sequencer" else 1)
    store = ps.ParamStore()
    model = Model(store, ratings, options.rank, options.seed)
    before = model.rmse(ratings)
    curve = train(model, ratings, options)
    best = "" if ratings.best is None else f", {ratings.best:.4f} is the best possible"
    if options.plot:
        plot(options.plot, "Matrix factorization", "epochs", "error of held-out ratings", {options.optimizer: curve}, ratings.best)
    print(f"held-out RMSE: {before:.4f} before, {curve[-1][1]:.4f} after{best} ({int(ratings.held.sum()):,} ratings)")
    print(f"sha256: {digest(store)}")
    print(f"time: {time.perf_counter() - start:.1f} s with {options.threads} threads")


if __name__ == "__main__":
    main()
