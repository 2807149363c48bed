"""The optimizers' formulas, for one dense array and one step at a time: the math, as plainly as NumPy says it, and nothing shared with the library.

Each takes the weights, the gradient, a dict that keeps its state, the step (from 1) and the options, and answers the new weights. Python
floats take the arrays' dtype, so that a float32 run rounds each operation to float32.
"""

import numpy as np


def kept(state, name, like, start=0.0):
    return state.setdefault(name, np.full_like(like, start))


def sgd(w, g, state, t, lr, momentum=0.0, nesterov=False, weight_decay=0.0):
    step = g
    if momentum:
        state["m"] = m = momentum * kept(state, "m", w) + g
        step = g + momentum * m if nesterov else m
    return w * (1 - lr * weight_decay) - lr * step


def adagrad(w, g, state, t, lr, epsilon=1e-10, initial_accumulator_value=0.0, weight_decay=0.0):
    state["sum"] = total = kept(state, "sum", w, initial_accumulator_value) + g * g
    return w * (1 - lr * weight_decay) - lr * g / (np.sqrt(total) + epsilon)


def rowwise_adagrad(w, g, state, t, lr, epsilon=1e-10, initial_accumulator_value=0.0, weight_decay=0.0):
    state["sum"] = total = kept(state, "sum", w[:, 0], initial_accumulator_value) + (g * g).mean(axis=1)
    return w * (1 - lr * weight_decay) - lr / (np.sqrt(total) + epsilon)[:, None] * g


def rmsprop(w, g, state, t, lr, alpha=0.99, epsilon=1e-8, momentum=0.0, centered=False, weight_decay=0.0):
    state["square"] = variance = alpha * kept(state, "square", w) + (1 - alpha) * g * g
    if centered:
        state["mean"] = mean = alpha * kept(state, "mean", w) + (1 - alpha) * g
        variance = np.maximum(variance - mean**2, 0)
    d = g / (np.sqrt(variance) + epsilon)
    if momentum:
        state["m"] = d = momentum * kept(state, "m", w) + d
    return w * (1 - lr * weight_decay) - lr * d


def adam(w, g, state, t, lr, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.0):
    state["m"] = m = beta1 * kept(state, "m", w) + (1 - beta1) * g
    state["v"] = v = beta2 * kept(state, "v", w) + (1 - beta2) * g * g
    rate, correction = lr / (1 - beta1**t), 1 / np.sqrt(1 - beta2**t).item()
    return w * (1 - lr * weight_decay) - rate * m / (np.sqrt(v) * correction + epsilon)


def ftrl(w, g, state, t, lr, l1=0.0, l2=0.0, beta=0.0, initial_accumulator_value=0.0):
    n = kept(state, "n", w, initial_accumulator_value)
    state["n"] = more = n + g * g
    state["z"] = z = kept(state, "z", w) + g - (np.sqrt(more) - np.sqrt(n)) / lr * w
    new = (np.sign(z) * l1 - z) / ((beta + np.sqrt(more)) / lr + l2)
    return np.where(np.abs(z) <= l1, 0, new).astype(w.dtype)


def lamb(w, g, state, t, lr, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0.0):
    state["m"] = m = beta1 * kept(state, "m", w) + (1 - beta1) * g
    state["v"] = v = beta2 * kept(state, "v", w) + (1 - beta2) * g * g
    u = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon) + weight_decay * w
    size, step = np.linalg.norm(w, axis=1), np.linalg.norm(u, axis=1)
    trust = np.where((size > 0) & (step > 0), size / np.where(step > 0, step, 1), 1)
    return w - lr * trust[:, None] * u


def summed(ids, rows, shape):
    """The dense gradient: each row added in its turn, in its dtype (half types in float32, rounded once)."""
    wide = np.float32 if np.dtype(rows.dtype).itemsize == 2 else rows.dtype
    out, seen = np.zeros(shape, wide), set()
    for i, row in zip(ids.reshape(-1).tolist(), rows.reshape(ids.size, *shape[1:])):
        out[i] = row.astype(wide) if i not in seen else out[i] + row.astype(wide)
        seen.add(i)
    return out.astype(rows.dtype)
