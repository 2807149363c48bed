"""Optimizers for tables: small values that hold options and no state; the state lies in Parameters beside the one they train.

>>> import paramstore as ps
>>> store = ps.ParamStore()
>>> emb = store.create("emb", (4, 2), "float64", initializer=1.0)
>>> _ = ps.optim.Adagrad(0.1).apply(emb, ps.IndexedSlices([3, 3], [[1.0, 2.0], [1.0, 2.0]], emb.shape))
>>> store.names()
['emb', 'emb/adagrad/step', 'emb/adagrad/sum']
>>> emb[3].round(6).tolist()
[0.9, 0.9]
"""

from __future__ import annotations

from .adagrad import Adagrad
from .adam import Adam
from .adamw import AdamW
from .base import Optimizer
from .ftrl import Ftrl
from .lamb import LAMB
from .rmsprop import RMSProp
from .rowwise_adagrad import RowWiseAdagrad
from .sgd import SGD

__all__ = ["Optimizer", "SGD", "Adagrad", "RowWiseAdagrad", "RMSProp", "Adam", "AdamW", "Ftrl", "LAMB"]
