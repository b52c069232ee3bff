"""Several machines by dask.distributed: dask_cluster.py MODEL [SCHEDULER].

A model is pickled with the bytes that it was read from, once for each worker. Without the address
of a scheduler two processes of this machine are the cluster.
"""

import sys

import numpy as np
from dask.distributed import Client

import bf_aot


def bounds_of(model, part):
    return model.bounds(part - 0.005, part + 0.005, method="crown")


def main():
    model = bf_aot.load(sys.argv[1])
    points = np.random.default_rng(0).uniform(-0.2, 0.2, (1000, model.input_count))
    cluster = {"address": sys.argv[2]} if len(sys.argv) > 2 else {"n_workers": 2,
                                                                 "threads_per_worker": 1,
                                                                 "dashboard_address": None}
    with Client(**cluster) as client:
        [everywhere] = client.scatter([model], broadcast=True)
        futures = [client.submit(bounds_of, everywhere, part) for part in np.array_split(points, 8)]
        lower = np.concatenate([bounds.lower for bounds in client.gather(futures)])
    here = bounds_of(model, points)
    print(f"{len(lower)} boxes; as here: {np.array_equal(lower, here.lower)}")


if __name__ == "__main__":
    main()
