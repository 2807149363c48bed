"""``paramstore bench``: a named table of workloads, ours beside every peer that can be imported, in one run.

Only ratios within one run mean anything. Nothing here is imported by the rest of paramstore.

    workloads.py   the table: what is timed
    arguments.py   arrays for a row of it, and the bytes that must move
    ours.py        paramstore's calls
    peers/         one file per peer: the same calls in NumPy, torch, ...
    measure.py     turns, medians, the memory's bandwidth
    child.py       measures, in a process of its own for each thread count
    parent.py      starts those processes and outlives their deaths
    report.py plot.py goals.py command.py
"""
