import numpy as np

import paramstore as ps

store = ps.ParamStore()
emb = store.create("user/emb", (1000, 64), dtype="float32", initializer=ps.init.normal(std=0.1, seed=0))

ids = np.array([3, 7, 3])  # row 3 is updated twice, in this order
rows = np.full((3, 64), 0.5, np.float32)
emb.scatter_sub(ids, rows, use_locking=True)  # in place, under the Parameter's lock
print(emb)

try:
    emb.scatter_add([3, 1000], rows[:2])
except IndexError as error:  # nothing was written, row 3 included
    print(error)

print(ps.scatter_nd([[4], [3], [1], [1]], np.array([9, 10, 11, 12]), shape=[8]))  # a new array
print(ps.scatter_elements(np.zeros((2, 3)), [[0, 2, 2]], [[1.0, 2.0, 3.0]], axis=1, reduction="add"))
with ps.deterministic():  # the bits of the defining loop, on any device
    print(ps.explain("scatter_add", dtype="float32"))
