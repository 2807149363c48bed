"""Skip-gram word vectors with negative sampling (Mikolov et al. 2013, arXiv:1310.4546); every update is an in-place scatter.

The text is the documentation that ships with the running Python (documentation.py), or a file. The two tables are Parameters of a ParamStore.

Random words are shared: a block of 16 neighbouring words meets its contexts and 32 random words in one matrix product, in which a random
word counts as often as it would if every pair had drawn its own (Ji et al. 2016, arXiv:1604.04661).

A step is WORKERS micro-batches, whatever the number of threads. Four modes of threading:

    sequencer    all micro-batches of a step read the tables as the step before left them, and are applied one after the other
    accumulator  as sequencer, but the gradients of a step are merged first, and applied once
    locked       threads go on at their own pace; each read and each update holds the table's lock
    hogwild      the same without locks: an update may be lost

In the first two the bits of the tables do not depend on the number of threads. (On one machine: BLAS sums products in an order of its own.)
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy loads its BLAS: the threads are ours, and its sums must not depend on their number

import argparse
import dataclasses
import functools
import sys
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
from show import Progress, add_options, digest, number, plot  # the files beside this one
from text import Array, Blocks, Corpus, pairs, read_pieces

import paramstore as ps

WORKERS = 4  # micro-batches in a step
SHARED = 32  # random words that a block shares
OFTEN = 20  # rarer words are not listed as neighbours; their vectors are mostly noise
ASK_FOR = ("file", "string", "error", "function", "list", "thread")
ORDERED = ("sequencer", "accumulator")
MODES = (*ORDERED, "locked", "hogwild")
OPTIMIZERS = {  # and the learning rate at the start
    "rowwise_adagrad": (ps.optim.RowWiseAdagrad, 0.1), "adagrad": (ps.optim.Adagrad, 0.05), "sgd": (ps.optim.SGD, 0.025),
    "momentum": (functools.partial(ps.optim.SGD, momentum=0.9), 0.0025), "rmsprop": (ps.optim.RMSProp, 0.002), "adam": (ps.optim.Adam, 0.002),
}  # fmt: skip


class SkipGram:
    """The model: ``score(centre, word) = in[centre] . out[word]``; a context should score high, random words low."""

    def __init__(self, store: ps.ParamStore, corpus: Corpus, dim: int, negatives: int, seed: int) -> None:
        self.size, self.negatives = len(corpus.words), negatives
        half = 0.5 / dim
        self.inner = store.create("word2vec/in", (self.size, dim), initializer=ps.init.uniform(-half, half, seed=seed))
        self.outer = store.create("word2vec/out", (self.size, dim))
        weight = corpus.counts**0.75
        self.noise = np.repeat(np.arange(self.size), np.ceil(weight / weight.sum() * 2e5).astype(np.int64))

    def random_words(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        words: Array = self.noise[rng.integers(0, len(self.noise), shape)]
        return words

    def gradients(self, blocks: Blocks, numbers: Array, task: ps.Task, locked: bool, wants_loss: bool) -> Generator[None, None, Any]:
        """One micro-batch: [(table, ids, gradient of their rows)], its loss, and the pairs that this is the sum of. Yields when it has read."""
        width, w = blocks.words.shape[1], blocks.window
        words = np.empty((len(numbers), width + SHARED), np.int64)
        words[:, :width] = blocks.words[numbers]
        words[:, width:] = self.random_words((len(numbers), SHARED), task.rng)
        centres = np.ascontiguousarray(words[:, w : width - w])
        context = blocks.is_context(numbers)
        weight = blocks.contexts[numbers] * np.float32(self.negatives / SHARED)
        with task.read():
            v = self.inner.gather(centres, use_locking=locked)  # (blocks, SIZE, D)
            u = self.outer.gather(words, use_locking=locked)  # (blocks, width + SHARED, D)
        yield
        slope = np.matmul(v, u.transpose(0, 2, 1))  # the scores, (blocks, SIZE, width + SHARED)
        loss, count = self._loss(slope, context, weight) if wants_loss else (0.0, 0)
        np.negative(slope, out=slope)
        with np.errstate(over="ignore"):
            np.exp(slope, out=slope)
        slope += 1
        np.reciprocal(slope, out=slope)  # sigmoid
        near, far = slope[:, :, :width], slope[:, :, width:]
        near -= 1
        near *= context
        far *= weight
        return [(self.inner, centres, np.matmul(slope, u)), (self.outer, words, np.matmul(slope.transpose(0, 2, 1), v))], loss, count

    @staticmethod
    def _loss(scores: Array, context: Array, weight: Array) -> tuple[float, int]:
        """The sum of ``-log sigmoid(score)`` for contexts and ``-log sigmoid(-score)`` for random words; and the number of contexts."""
        width = context.shape[2]
        near = (np.logaddexp(np.float32(0), -scores[:, :, :width]) * context).sum(dtype=np.float64)
        far = (np.logaddexp(np.float32(0), scores[:, :, width:]) * weight).sum(dtype=np.float64)
        return float(near + far), int(context.sum())

    def mean_loss(self, centre: Array, context: Array, seed: int) -> float:
        """The loss for each pair, each with random words of its own, which are the same at every call."""
        rng, total = np.random.default_rng(seed), 0.0
        for k in range(0, len(centre), 4096):
            ids, right = centre[k : k + 4096], context[k : k + 4096, None]
            words = np.concatenate([right, self.random_words((len(ids), self.negatives), rng)], axis=1)
            counts = words != right  # a random word that is the context by chance does not count
            counts[:, 0] = True
            scores = np.einsum("bd,bkd->bk", self.inner.gather(ids), self.outer.gather(words))
            scores[:, 0] *= -1
            total += float((np.logaddexp(np.float32(0), scores) * counts).sum(dtype=np.float64))
        return total / len(centre)


class Trainer:
    """The loop over epochs, in any of the MODES.

    Args:
        hook: called with (store, number of epochs done) when no thread is at work: the place to save a checkpoint.
    """

    def __init__(self, model: SkipGram, store: ps.ParamStore, corpus: Corpus, options: argparse.Namespace,
                 hook: Callable[[ps.ParamStore, int], Any] = lambda store, epochs: None) -> None:  # fmt: skip
        self.model, self.store, self.corpus, self.options, self.hook = model, store, corpus, options, hook
        make, rate = OPTIMIZERS[options.optimizer]
        self.rate = rate if options.lr is None else options.lr
        self.optimizer = make(self.rate)
        self.locked, self.ordered = options.mode == "locked", options.mode in ORDERED
        self.accumulators = {t.name: ps.Accumulator(WORKERS) for t in (model.inner, model.outer)} if options.mode == "accumulator" else {}
        self.progress = Progress(options.epochs * len(corpus.train[0]), "words")

    def train(self) -> None:
        """All epochs; the learning rate falls in a straight line to a hundredth."""
        for epoch in range(self.options.epochs):
            self._epoch(epoch)
            self.hook(self.store, epoch + 1)

    def _epoch(self, epoch: int) -> None:
        options = self.options
        blocks = Blocks(self.corpus, options.window, np.random.default_rng([options.seed, epoch]))
        each = max(1, options.batch // Blocks.SIZE)
        starts = range(0, blocks.count, each)
        words = len(self.corpus.train[0])

        def work(task: ps.Task) -> Generator[None, None, tuple[int, float, int, float]]:
            at = task.batch
            lr = self.rate * (1 - 0.99 * (epoch + at / blocks.count) / options.epochs)
            wants_loss = task.worker == 0 and task.step % 4 == 0
            numbers = blocks.order[at : at + each]
            found, loss, count = yield from self.model.gradients(blocks, numbers, task, self.locked, wants_loss)
            yield
            last = at + each >= blocks.count or task.worker == WORKERS - 1
            self._apply(task, found, lr, last)
            end = min(at + each, blocks.count)
            return words * end // blocks.count - words * at // blocks.count, loss, count, lr

        ps.run_threads(work, starts, workers=WORKERS, threads=options.threads, ordered=self.ordered, seed=options.seed * 10_000 + epoch,
                       done=lambda task, r: self.progress.add(*r[:3], note=f"  lr {r[3]:.4f}"))  # fmt: skip

    def _apply(self, task: ps.Task, found: list[Any], lr: float, last: bool) -> None:
        if not self.accumulators:
            with task.turn():
                for table, ids, gradient in found:
                    self._step(table, ids, gradient, lr)
            return
        for table, ids, gradient in found:
            self.accumulators[table.name].push(task.worker, ps.IndexedSlices(ids, gradient, table.shape))
        with task.turn():  # by then those before have pushed
            for table, _, _ in found if last else ():
                self.accumulators[table.name].take(task.worker + 1, lambda s, t=table: self._step(t, s.indices, s.values, lr))  # type: ignore[misc]

    def _step(self, table: ps.Parameter, ids: Array, gradient: Array, lr: float) -> None:
        if self.options.optimizer == "sgd" and not self.accumulators:  # nothing to sum first: each row is subtracted as it comes
            gradient *= np.float32(lr)
            table.scatter_sub(ids, gradient, use_locking=self.locked)
        else:
            slices = ps.IndexedSlices(ids, gradient, table.shape)
            dataclasses.replace(self.optimizer, lr=lr).apply(table, slices, use_locking=self.locked)


def neighbours(model: SkipGram, corpus: Corpus, text: str | None) -> Iterator[str]:
    """Lines with the nearest words, by cosine, of a few frequent words that carry meaning."""
    unit = model.inner.numpy()
    unit /= np.sqrt(np.einsum("vd,vd->v", unit, unit))[:, None] + 1e-12
    asked = [w for w in ASK_FOR if text is None and w in corpus.words]
    asked += [w for w in corpus.words if len(w) > 5 and w not in asked]  # short frequent words say little
    for word in asked[: len(ASK_FOR)]:
        k = corpus.words.index(word)
        cosine = np.einsum("vd,d->v", unit, unit[k])
        near = [n for n in np.argsort(-cosine, kind="stable") if n != k and corpus.counts[n] >= OFTEN][:6]
        yield f"  {word:>10}: " + ", ".join(f"{corpus.words[n]} {cosine[n]:.2f}" for n in near)


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="word2vec", description="Train skip-gram word vectors with negative sampling on English text.")
    count = number(int, 1, 10**9)
    add_options(parser, (
        ("threads", number(int, 1, 64), 2, f"threads that work (at most {WORKERS} do); ordered results do not depend on it"),
        ("epochs", count, 5, "passes over the text"),
        ("dim", number(int, 1, 10_000), 64, "length of a word's vector"),
        ("window", number(int, 1, 100), 5, "most words to each side that are context"),
        ("negatives", number(int, 1, 1000), 5, "random words for each pair"),
        ("lr", number(float, 1e-6, 10.0), None, "learning rate at the start (default: the optimizer's)"),
        ("batch", number(int, 1, 1_000_000), 512, f"words in a micro-batch, in blocks of {Blocks.SIZE}; {WORKERS} micro-batches are a step"),
        ("min-count", count, 5, "leave out words that occur less often"),
        ("seed", number(int, 0, 10**9), 1, "of everything random"),
        ("max-words", count, None, "use only the first N words of the text (default: all)"),
    ))  # fmt: skip
    parser.add_argument("--mode", choices=MODES, default="sequencer", help="how threads work together (default: %(default)s)")
    parser.add_argument("--optimizer", choices=tuple(OPTIMIZERS), default="rowwise_adagrad", help="(default: %(default)s)")
    parser.add_argument("--text", metavar="FILE", help="UTF-8 text, paragraphs apart by empty lines (default: Python's documentation)")
    parser.add_argument("--plot", metavar="FILE", default="word2vec.png",
                        help='PNG or SVG for the loss, written if matplotlib is there; "" for none (default: %(default)s)')  # fmt: skip
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    start = time.perf_counter()
    corpus = Corpus.of(read_pieces(options.text, options.max_words), options.min_count)
    held = pairs(*corpus.held, options.window, np.random.default_rng(options.seed))
    if not len(held[0]) or not len(corpus.train[0]):
        raise SystemExit("word2vec: the text is too short to set a part of it aside; use a longer one or a smaller --min-count")
    print(f"{options.text or 'documentation of Python ' + sys.version.split()[0]}: {corpus.counts.sum():,} words, "
          f"{len(corpus.words):,} different, read in {time.perf_counter() - start:.1f} s")  # fmt: skip
    ps.set_num_threads(options.threads if options.mode in ORDERED else 1)  # while one applies, the others wait
    store = ps.ParamStore()
    model = SkipGram(store, corpus, options.dim, options.negatives, options.seed)
    trainer = Trainer(model, store, corpus, options)
    before = model.mean_loss(*held, options.seed)
    trainer.train()
    rate = trainer.progress.rate
    after = model.mean_loss(*held, options.seed)
    if options.plot:
        plot(options.plot, "Skip-gram with negative sampling", "part of the training", "loss for each pair", {options.mode: trainer.progress.losses})
    print("nearest words (cosine):", *neighbours(model, corpus, options.text), sep="\n")
    print(f"held-out loss: {before:.4f} before, {after:.4f} after ({len(held[0]):,} pairs)")
    print(f"ordered: {'yes' if trainer.ordered else 'no'} (mode {options.mode}, optimizer {options.optimizer})")
    print(f"sha256: {digest(store)}")
    print(f"speed: {rate:,.0f} words/s in training")
    print(f"time: {time.perf_counter() - start:.1f} s with {options.threads} threads")


if __name__ == "__main__":
    main()
