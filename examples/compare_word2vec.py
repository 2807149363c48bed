"""Words per second and held-out loss of examples/word2vec.py beside gensim's Word2Vec, if that is installed: same text, same options.

Both train on the same words with the same dimension, window, number of random words, passes and threads, and are judged by the same
function. The time is that of training alone: the text has been read, and the vocabulary built.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import word2vec  # the file beside this one; it must be first, see there
import numpy as np
from show import add_options, number
from text import Corpus, pairs, read_pieces

import paramstore as ps


def ours(corpus: Corpus, options: argparse.Namespace, threads: int, mode: str, optimizer: str) -> tuple[float, word2vec.SkipGram]:
    """Words per second, and the trained model."""
    given = ["--threads", threads, "--epochs", options.epochs, "--dim", options.dim, "--window", options.window, "--negatives", options.negatives]
    asked = word2vec.parse([str(a) for a in given] + ["--mode", mode, "--optimizer", optimizer])
    ps.set_num_threads(threads if mode in word2vec.ORDERED else 1)
    store = ps.ParamStore()
    model = word2vec.SkipGram(store, corpus, options.dim, options.negatives, seed=1)
    trainer = word2vec.Trainer(model, store, corpus, asked)
    trainer.progress.add = lambda *a, **k: None  # type: ignore[method-assign]
    start = time.perf_counter()
    trainer.train()
    return options.epochs * len(corpus.train[0]) / (time.perf_counter() - start), model


def gensims(corpus: Corpus, options: argparse.Namespace, threads: int) -> tuple[float, word2vec.SkipGram]:
    """Words per second, and gensim's tables in a model of ours."""
    from gensim.models import Word2Vec

    ids, piece_of = corpus.train
    sentences = [[corpus.words[i] for i in piece] for piece in np.split(ids, np.flatnonzero(np.diff(piece_of)) + 1)]
    theirs = Word2Vec(
        sg=1, hs=0, negative=options.negatives, window=options.window, vector_size=options.dim, min_count=1, sample=1e-3, workers=threads, seed=1
    )
    theirs.build_vocab(sentences)
    start = time.perf_counter()
    theirs.train(sentences, total_examples=theirs.corpus_count, epochs=options.epochs)
    rate = options.epochs * len(ids) / (time.perf_counter() - start)
    model = word2vec.SkipGram(ps.ParamStore(), corpus, options.dim, options.negatives, seed=1)
    known = np.array([theirs.wv.key_to_index.get(word, -1) for word in corpus.words])
    for table, trained in ((model.inner, theirs.wv.vectors), (model.outer, theirs.syn1neg)):
        table[np.flatnonzero(known >= 0)] = trained[known[known >= 0]]
    return rate, model


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="compare_word2vec", description=(__doc__ or "").split("\n")[0])
    count = number(int, 1, 10**6)
    add_options(parser, (
        ("epochs", count, 5, "passes over the text"), ("dim", count, 64, "length of a word's vector"),
        ("window", number(int, 1, 100), 5, "most words to each side that are context"), ("negatives", count, 5, "random words for each pair"),
        ("max-words", count, None, "use only the first N words of the text"), ("rounds", count, 1, "how often; the best rate is shown"),
    ))  # fmt: skip
    parser.add_argument("--threads", type=number(int, 1, 64), nargs="+", default=[1, 2], metavar="N", help="(default: 1 2)")
    parser.add_argument("--modes", nargs="+", choices=word2vec.MODES, default=["sequencer", "hogwild"], help="of ours")
    parser.add_argument("--optimizers", nargs="+", choices=tuple(word2vec.OPTIMIZERS), default=["rowwise_adagrad", "sgd"], help="of ours")
    parser.add_argument("--text", metavar="FILE", help="UTF-8 text (default: Python's documentation)")
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too")
    options = parser.parse_args(argv)
    corpus = Corpus.of(read_pieces(options.text, options.max_words), 5)
    held = pairs(*corpus.held, options.window, np.random.default_rng(1))
    print(f"{len(corpus.train[0]):,} words, {len(corpus.words):,} different, {options.epochs} passes; {len(held[0]):,} held-out pairs")
    print(f"{'':32} {'threads':>7} {'words/s':>10} {'loss':>7}")
    rows: list[dict[str, Any]] = []
    for threads in options.threads:
        calls: dict[str, Any] = {"gensim": lambda t=threads: gensims(corpus, options, t)}
        for optimizer in options.optimizers:
            for mode in options.modes:
                calls[f"{optimizer}, {mode}"] = lambda t=threads, m=mode, o=optimizer: ours(corpus, options, t, m, o)
        best: dict[str, float] = {}
        losses: dict[str, float] = {}
        for _ in range(options.rounds):  # in turns: the machine's speed drifts
            for name, call in list(calls.items()):
                try:
                    rate, model = call()
                except ImportError:
                    print("gensim is not installed")
                    del calls[name]
                    continue
                best[name] = max(rate, best.get(name, 0.0))
                losses[name] = model.mean_loss(*held, 1)
        for name, rate in best.items():
            rows.append({"name": name, "threads": threads, "words_per_second": round(rate), "loss": round(losses[name], 4)})
            print(f"{name:32} {threads:7} {rate:10,.0f} {losses[name]:7.4f}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
