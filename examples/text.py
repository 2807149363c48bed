"""Text for word vectors: words as numbers, what is kept for the held-out loss, and the blocks of words that a micro-batch is made of."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import documentation  # the file beside this one
import numpy as np

SAMPLE = 1e-3  # words that are a larger part of the text are thinned out
HELD_OUT = 20  # every 20th piece of text is kept for the held-out loss
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
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

    @property
    def keep(self) -> Array:
        """The probability with which an occurrence of each word stays: sqrt(s / f) + s / f for a word that is the part f of the text."""
        part = SAMPLE / (self.counts / self.counts.sum())
        return np.sqrt(part) + part


def pairs(ids: Array, piece_of: Array, window: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """All (centre, context) pairs. Each centre draws its own window from 1 to ``window``."""
    reach = rng.integers(1, window + 1, len(ids))
    centres, contexts = [], []
    for d in range(1, window + 1):
        together = piece_of[d:] == piece_of[:-d]
        for centre, context in ((slice(d, None), slice(None, -d)), (slice(None, -d), slice(d, None))):
            take = together & (reach[centre] >= d)
            centres.append(ids[centre][take])
            contexts.append(ids[context][take])
    return np.concatenate(centres), np.concatenate(contexts)


class Blocks:
    """One pass over a text, thinned, in blocks of SIZE words with the ``window`` words before and behind them.

    Word r of a block has the words at columns ``r + window + first[r] .. r + window + last[r]`` as context, itself left out.
    """

    SIZE = 16

    def __init__(self, corpus: Corpus, window: int, rng: np.random.Generator) -> None:
        ids, piece_of = corpus.train
        kept = rng.random(len(ids)) < corpus.keep[ids]
        ids, piece_of = ids[kept], piece_of[kept]
        n = len(ids)
        reach, at = rng.integers(1, window + 1, n), np.arange(n)
        starts = np.flatnonzero(np.diff(piece_of, prepend=-1))
        lengths = np.diff(starts, append=n)
        begin = np.repeat(starts, lengths)
        first = np.maximum(at - reach, begin) - at
        last = np.minimum(at + reach, begin + np.repeat(lengths, lengths) - 1) - at
        self.window, self.count = window, -(-n // self.SIZE)
        rest = self.count * self.SIZE - n
        padded = np.pad(ids, (window, rest + window))
        self.words = np.lib.stride_tricks.sliding_window_view(padded, self.SIZE + 2 * window)[:: self.SIZE]  # (count, SIZE + 2 window)
        shape = (self.count, self.SIZE, 1)
        self.first = np.pad(first, (0, rest), constant_values=1).astype(np.int16).reshape(shape)  # padding words have no context
        self.last = np.pad(last, (0, rest)).astype(np.int16).reshape(shape)
        self.contexts = np.pad(last - first, (0, rest)).astype(np.float32).reshape(shape)  # how many contexts each word has
        offset = np.arange(self.SIZE + 2 * window) - np.arange(self.SIZE)[:, None] - window
        self.offset, self.other = offset.astype(np.int16), offset != 0
        self.order = rng.permutation(self.count)  # neighbours are alike: a micro-batch of them would repeat few words

    def is_context(self, blocks: Array) -> Array:
        """Which columns are context of which word: (blocks, SIZE, SIZE + 2 window)."""
        inside: Array = (self.offset >= self.first[blocks]) & (self.offset <= self.last[blocks]) & self.other
        return inside
