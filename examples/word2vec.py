"""Skip-gram word vectors with negative sampling (Mikolov et al. 2013, arXiv:1310.4546); every update is an in-place scatter.

The text is the documentation that ships with the running Python (documentation.py), or a file. The two tables are Parameters of a ParamStore.

A step is MICRO_BATCHES micro-batches, whatever the number of threads. Threads gather and compute against the tables as the last step
left them; then the micro-batches are applied in their order. So the bits of the tables do not depend on the number of threads. Products
are summed by einsum's own loops, not by BLAS, whose bits may depend on its threads.

The gradients of a word that occurs often in a micro-batch all see the same old row; their plain sum would overshoot. It is clipped by
count: c gradients of one row weigh as their average times min(c, CLIP). Rarer words get word2vec's own step.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import documentation  # the file beside this one
import numpy as np

import paramstore as ps

MICRO_BATCHES = 4  # in a step
CLIP = 16  # gradients of one row in a micro-batch that weigh in full
SAMPLE = 1e-3  # words that are a larger part of the text are thinned out
OFTEN = 20  # rarer words are not listed as neighbours; their vectors are mostly noise
HELD_OUT = 20  # every 20th piece of text is kept for the held-out loss
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
ASK_FOR = ("file", "string", "error", "function", "list", "thread")
Array = np.ndarray[Any, np.dtype[Any]]


def read_pieces(path: str | None, max_words: int | None) -> list[list[str]]:
    """The text as pieces of words; no window reaches from one into another. A piece is a docstring, or a paragraph of the file."""
    if path is None:
        texts = documentation.texts()
    else:
        try:
            texts = iter(re.split(r"\n\s*\n", Path(path).read_text(encoding="utf-8", errors="replace")))
        except OSError as error:
            raise SystemExit(f"word2vec: cannot read the text {path!r}: {error.strerror or error}") from None
    pieces, total = [], 0
    for text in texts:
        words = WORD.findall(text.lower())
        if max_words is not None:
            words = words[: max_words - total]
        if words:
            pieces.append(words)
            total += len(words)
        if total == max_words:
            break
    if total < 1000:
        raise SystemExit(f"word2vec: the text {path or 'of the documentation'!r} has {total} words; at least 1000 are needed")
    longest = min(1000, total // (2 * HELD_OUT))
    return [piece[k : k + longest] for piece in pieces for k in range(0, len(piece), longest)]


@dataclass
class Corpus:
    """Words as numbers, the most frequent first; ``train`` and ``held`` are (words, number of the piece that each is in)."""

    words: list[str]
    counts: Array
    train: tuple[Array, Array]
    held: tuple[Array, Array]

    @classmethod
    def of(cls, pieces: list[list[str]], min_count: int) -> Corpus:
        tally = Counter(word for piece in pieces for word in piece)
        words = sorted((w for w, c in tally.items() if c >= min_count), key=lambda w: (-tally[w], w))
        if len(words) < 20:
            raise SystemExit(f"word2vec: only {len(words)} words occur at least {min_count} times (--min-count); at least 20 are needed")
        number = {word: k for k, word in enumerate(words)}
        ids = np.array([number[w] for piece in pieces for w in piece if w in number], np.int64)
        piece_of = np.repeat(np.arange(len(pieces)), [sum(w in number for w in piece) for piece in pieces])
        held = piece_of % HELD_OUT == HELD_OUT - 1
        return cls(words, np.array([tally[w] for w in words]), (ids[~held], piece_of[~held]), (ids[held], piece_of[held]))


def pairs(ids: Array, piece_of: Array, window: int, rng: np.random.Generator, keep: Array | None = None) -> tuple[Array, Array]:
    """All (centre, context) pairs, shuffled. Each centre draws its own window from 1 to ``window``; frequent words are thinned by ``keep``."""
    if keep is not None:
        kept = rng.random(len(ids)) < keep[ids]
        ids, piece_of = ids[kept], piece_of[kept]
    reach = rng.integers(1, window + 1, len(ids))
    centres, contexts = [], []
    for d in range(1, window + 1):
        together = piece_of[d:] == piece_of[:-d]
        for centre, context in ((slice(d, None), slice(None, -d)), (slice(None, -d), slice(d, None))):
            take = together & (reach[centre] >= d)
            centres.append(ids[centre][take])
            contexts.append(ids[context][take])
    order = rng.permutation(sum(map(len, centres)))
    return np.concatenate(centres)[order], np.concatenate(contexts)[order]


class SkipGram:
    """The model: ``score(centre, word) = in[centre] . out[word]``; a context should score high, random words low."""

    def __init__(self, store: ps.ParamStore, corpus: Corpus, dim: int, negatives: int, seed: int) -> None:
        self.size, self.negatives = len(corpus.words), negatives
        half = 0.5 / dim
        self.inner = store.create("word2vec/in", (self.size, dim), initializer=ps.init.uniform(-half, half, seed=seed))
        self.outer = store.create("word2vec/out", (self.size, dim))
        weight = corpus.counts**0.75
        self.noise = np.repeat(np.arange(self.size), np.ceil(weight / weight.sum() * 1e6).astype(np.int64))

    def scores(self, centre: Array, context: Array, rng: np.random.Generator) -> tuple[Array, Array, Array, Array, Array]:
        """in-rows (B, D), words (B, 1 + K), out-rows (B, 1 + K, D), their scores, and which of the words count.

        Column 0 is the context. A random word that is the context by chance does not count.
        """
        words = np.empty((len(centre), 1 + self.negatives), np.int64)
        words[:, 0] = context
        words[:, 1:] = self.noise[rng.integers(0, len(self.noise), (len(centre), self.negatives))]
        counts = words != context[:, None]
        counts[:, 0] = True
        v, u = self.inner.gather(centre), self.outer.gather(words)
        return v, words, u, np.einsum("bd,bkd->bk", v, u), counts

    @staticmethod
    def loss(scores: Array, counts: Array) -> float:
        """The sum of ``-log sigmoid(score)`` for contexts and ``-log sigmoid(-score)`` for random words."""
        signed = scores.copy()
        signed[:, 0] *= -1
        return float((np.logaddexp(np.float32(0), signed) * counts).sum(dtype=np.float64))

    def gradients(self, centre: Array, context: Array, lr: float, rng: np.random.Generator) -> tuple[tuple[Array, ...], float]:
        """One micro-batch: (ids, rows) to subtract from ``in`` and from ``out``, and its loss. It changes nothing."""
        v, words, u, scores, counts = self.scores(centre, context, rng)
        slope = 1 / (1 + np.exp(-scores))
        slope[:, 0] -= 1
        slope *= counts * np.float32(lr)
        to_centre = np.einsum("bk,bkd->bd", slope, u) * self.clip(centre)[:, None]
        to_words = np.einsum("bk,bd->bkd", slope * self.clip(words), v)
        return (centre, to_centre, words, to_words), self.loss(scores, counts)

    def clip(self, ids: Array) -> Array:
        """The weight of each update of a row with c updates: min(1, CLIP / c)."""
        times = np.bincount(ids.reshape(-1), minlength=self.size)
        return np.minimum(1, CLIP / np.maximum(times, 1)).astype(np.float32)[ids]

    def apply(self, centre: Array, to_centre: Array, words: Array, to_words: Array) -> None:
        """Subtracts a micro-batch's gradients in place."""
        self.inner.scatter_sub(centre, to_centre)
        self.outer.scatter_sub(words, to_words)

    def mean_loss(self, centre: Array, context: Array, seed: int) -> float:
        """The loss for each pair, over given pairs with random words that are the same at every call."""
        rng, total = np.random.default_rng(seed), 0.0
        for k in range(0, len(centre), 4096):
            _, _, _, scores, counts = self.scores(centre[k : k + 4096], context[k : k + 4096], rng)
            total += self.loss(scores, counts)
        return total / len(centre)


class Progress:
    """A line with words per second and the recent loss: rewritten in place on a terminal, twelve lines in all elsewhere."""

    def __init__(self) -> None:
        self.terminal, self.start, self.shown = sys.stdout.isatty(), time.perf_counter(), 0.0
        self.loss, self.pairs = 0.0, 0

    def show(self, done: float, words: float, loss: float, count: int, lr: float) -> None:
        self.loss, self.pairs = self.loss + loss, self.pairs + count
        now = time.perf_counter()
        if done < 1 and (now - self.shown < 0.2 if self.terminal else done < self.shown):
            return
        self.shown = now if self.terminal else done + 1 / 12
        line = f"{done:4.0%}  {words / (now - self.start):9,.0f} words/s  loss {self.loss / self.pairs:.4f}  lr {lr:.4f}"
        print(f"\r{line}" if self.terminal else line, end="\n" if done == 1 or not self.terminal else "", flush=True)
        self.loss, self.pairs = 0.0, 0


def train(model: SkipGram, corpus: Corpus, options: argparse.Namespace) -> None:
    """All epochs; the learning rate falls in a straight line to a hundredth."""
    share = corpus.counts / corpus.counts.sum()
    keep = np.sqrt(SAMPLE / share)
    progress = Progress()
    step = MICRO_BATCHES * options.batch
    with ThreadPoolExecutor(options.threads) as pool:
        for epoch in range(options.epochs):
            rng = np.random.default_rng([options.seed, epoch])
            centres, contexts = pairs(*corpus.train, options.window, rng, keep)
            for start in range(0, len(centres), step):
                lr = options.lr * (1 - 0.99 * (epoch + start / len(centres)) / options.epochs)
                end = min(start + step, len(centres))

                def micro_batch(k: int, lr: float = lr, epoch: int = epoch, c: Array = centres, x: Array = contexts) -> Any:
                    draw = np.random.default_rng([options.seed, epoch, k])
                    return model.gradients(c[k : k + options.batch], x[k : k + options.batch], lr, draw)

                results = list(pool.map(micro_batch, range(start, end, options.batch)))
                for update, _ in results:
                    model.apply(*update)
                done = (epoch + end / len(centres)) / options.epochs
                words = done * options.epochs * len(corpus.train[0])
                progress.show(done, words, sum(loss for _, loss in results), end - start, lr)


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


def digest(store: ps.ParamStore) -> str:
    """SHA-256 over the names, shapes and bytes of all tables."""
    sha = hashlib.sha256()
    for name, table in store.items():
        sha.update(f"{name} {table.shape} {table.dtype}\n".encode())
        sha.update(table.numpy().tobytes())
    return sha.hexdigest()


def number(kind: type, low: float, high: float) -> Any:
    """A type for argparse: a number in [low, high]."""

    def read(text: str) -> Any:
        try:
            if low <= kind(text) <= high:
                return kind(text)
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"{text!r} is not {'an integer' if kind is int else 'a number'} in [{low}, {high}]")

    return read


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="word2vec", description="Train skip-gram word vectors with negative sampling on English text.")
    count = number(int, 1, 10**9)
    for name, kind, default, text in (
        ("threads", number(int, 1, 64), 2, "threads that compute; the result does not depend on it"),
        ("epochs", count, 12, "passes over the text"),
        ("dim", number(int, 1, 10_000), 64, "length of a word's vector"),
        ("window", number(int, 1, 100), 5, "most words to each side that are context"),
        ("negatives", number(int, 1, 1000), 5, "random words for each pair"),
        ("lr", number(float, 1e-6, 10.0), 0.025, "learning rate at the start"),
        ("batch", number(int, 1, 1_000_000), 512, f"pairs in a micro-batch; {MICRO_BATCHES} micro-batches are a step"),
        ("min-count", count, 5, "leave out words that occur less often"),
        ("seed", number(int, 0, 10**9), 1, "of everything random"),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{text} (default: %(default)s)")
    parser.add_argument("--max-words", type=count, metavar="N", help="use only the first N words of the text (default: all)")
    parser.add_argument("--text", metavar="FILE", help="UTF-8 text, paragraphs apart by empty lines (default: Python's documentation)")
    parser.add_argument("--ordered", action=argparse.BooleanOptionalAction, default=True, help="ask for kernels that keep C order")
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
    ps.set_num_threads(options.threads)
    store = ps.ParamStore()
    model = SkipGram(store, corpus, options.dim, options.negatives, options.seed)
    with ps.deterministic() if options.ordered else contextlib.nullcontext():
        before = model.mean_loss(*held, options.seed)
        train(model, corpus, options)
        after = model.mean_loss(*held, options.seed)
        kernel = ps.explain("scatter_sub", dtype="float32").kernel
    assert kernel is not None
    print("nearest words (cosine):", *neighbours(model, corpus, options.text), sep="\n")
    print(f"held-out loss: {before:.4f} before, {after:.4f} after ({len(held[0]):,} pairs)")
    print(f"ordered: {'yes' if kernel.mode == 'ordered' else 'no'} (kernel {kernel.name})")
    print(f"sha256: {digest(store)}")
    print(f"time: {time.perf_counter() - start:.1f} s with {options.threads} threads")


if __name__ == "__main__":
    main()
