"""The docstrings of the TensorFlow spellings, from the table of operators."""

from __future__ import annotations

from ...ops import OPS

__all__ = ["nd_doc", "rows_doc", "segment_doc", "tensor_doc"]

_ROWS = """{doc}

        In C order, for each k in ``indices``:  x = var[indices[k]], u = values[k]:  x = {formula}.{extra}

        Args:
            sparse_delta: `IndexedSlices` with int32 or int64 indices and values of shape ``indices.shape + var.shape[1:]``, or without
                dimensions: then it stands for all of them.
            use_locking: hold the variable's lock during the call (TensorFlow ignores it).

        Returns the variable.

        Raises:
            TypeError: no IndexedSlices, or a use_locking that is no bool.
            ValueError: values of another dtype.
            InvalidArgumentError: shapes, dtypes or indices that do not fit; on a GPU bad indices are ignored. Nothing was written.

        Source: tf.Variable.scatter_{op}.

        >>> from paramstore.frontends import tensorflow as tf
        >>> tf.Variable([8.0, 6.0]).scatter_{op}(tf.IndexedSlices([2.0, 2.0], [1, 1])).numpy().tolist()
        {result}
        """
_ROWS_RESULT = {
    "add": "[8.0, 10.0]", "sub": "[8.0, 2.0]", "mul": "[8.0, 24.0]", "div": "[8.0, 1.5]", "min": "[8.0, 2.0]", "max": "[8.0, 6.0]",
    "update": "[8.0, 2.0]",
}  # fmt: skip

_ND = """{doc}

        In C order, for each tuple of ``indices``:  x = var[tuple], u = its update:  x = {formula}.

        Args:
            indices: int32 or int64, shape (..., K) with 1 <= K <= the rank; of one dimension, they are tuples of one index.
            updates: shape ``indices.shape[:-1] + var.shape[K:]``.

        Returns the variable.

        Raises:
            ValueError: updates of another dtype.
            InvalidArgumentError: shapes, dtypes or indices that do not fit; on a GPU bad indices are ignored. Nothing was written.

        Source: tf.Variable.scatter_nd_{op}.

        >>> from paramstore.frontends import tensorflow as tf
        >>> tf.Variable([8.0, 6.0]).scatter_nd_{op}([[1], [1]], [2.0, 2.0]).numpy().tolist()
        {result}
        """

_TENSOR = """A copy of ``tensor`` with updates applied at index tuples. {doc}

    In C order, for each tuple of ``indices``:  x = out[tuple], u = its update:  x = {formula}.

    Args:
        tensor: the array to start from; it is not changed.
        indices: int32 or int64, rank at least 2, shape (..., K) with 1 <= K <= tensor.ndim.
        updates: shape ``indices.shape[:-1] + tensor.shape[K:]``, dtype of tensor.{policy}

    Raises:
        InvalidArgumentError: shapes, dtypes or indices that do not fit.

    Source: tf.tensor_scatter_nd_{op}.

    >>> tensor_scatter_nd_{op}([8.0, 6.0], [[1], [1]], [2.0, 2.0]).tolist()
    {result}
    """

_SEGMENT = """{doc}

    In C order, for each k in ``segment_ids``:  x = out[segment_ids[k]], u = data[k]:  x = {formula}; {after}

    Args:
        data: shape ``segment_ids.shape + row``{shape}.
        segment_ids: {ids}

    Raises:
        InvalidArgumentError: shapes, dtypes or ids that do not fit.

    Source: tf.math.{name}.

    >>> {example}
    {result}
    """


def rows_doc(op: str) -> str:
    """For ``Variable.scatter_<op>``."""
    extra = "\n        A zero among the values is an error for every dtype." if op == "div" else ""
    return _ROWS.format(doc=OPS[op].doc, formula=OPS[op].formula, op=op, result=_ROWS_RESULT[op], extra=extra)


def nd_doc(op: str) -> str:
    """For ``Variable.scatter_nd_<op>``."""
    return _ND.format(doc=OPS[op].doc, formula=OPS[op].formula, op=op, result=_ROWS_RESULT[op])


def tensor_doc(op: str) -> str:
    """For ``tensor_scatter_nd_<op>``."""
    policy = "" if op == "update" else '\n        bad_indices_policy: "" or "DEFAULT", "ERROR" or "IGNORE"; see `scatter_nd`.'
    return _TENSOR.format(doc=OPS[op].doc, formula=OPS[op].formula, op=op, result=_ROWS_RESULT[op], policy=policy)


_SEGMENT_RESULT = {"sum": "5.0", "prod": "6.0", "min": "2.0", "max": "3.0", "mean": "2.5", "sqrt_n": "3.535534"}
_EMPTY = {"sum": "0", "prod": "1", "min": "the dtype's highest value", "max": "its lowest", "mean": "0", "sqrt_n": "0"}


def segment_doc(kind: str, op: str, is_sorted: bool) -> str:
    """For ``segment_<kind>`` and ``unsorted_segment_<kind>``."""
    after = {"mean": "then divided by the count", "sqrt_n": "then divided by the root of the count"}.get(kind, "nothing else")
    empty = ("1" if kind == "prod" else "0") if is_sorted else _EMPTY[kind]
    name = f"{'' if is_sorted else 'unsorted_'}segment_{kind}"
    ids = "int32 or int64, shape (N,), never falling."
    ids = ids if is_sorted else f"{'int16, ' if op == 'add' else ''}int32 or int64; negative ones are left out."
    first = {"min": "3.4028235e+38", "max": "-3.4028235e+38"}.get(kind, empty + ".0") if not is_sorted else empty + ".0"
    call = f"{name}([2.0, 3.0], [1, 1]{'' if is_sorted else ', 2'})"
    return _SEGMENT.format(
        doc=f"{OPS[op].doc} Segments without rows are {empty}.", formula=OPS[op].formula, name=name, ids=ids, after=after,
        shape=", shape (N, ...)" if is_sorted else "",
        example=f"[str(v) for v in {call}]", result=f"['{first}', '{_SEGMENT_RESULT[kind]}']",
    )  # fmt: skip
