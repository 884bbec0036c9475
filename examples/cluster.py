"""A Monte Carlo study on a Dask cluster: the same numbers as on one machine, resumable, with tables and a page at the end.

    python examples/cluster.py [SCHEDULER [SPEC [FOLDER]]]

SCHEDULER is the address of a running cluster, such as tcp://head:8786; without one (or with `local`) two workers are started here.
Needs `pip install 'inertica[dask]'`.
"""

import sys
from pathlib import Path

import inertica as ia
from inertica.campaign.engines import Dask
from inertica.campaign.page import write_page
from inertica.campaign.summary import lines

SPEC = """\
name: small-arm
about: three methods on a small arm, two levels of noise
robots: [scara4]
noise:
  - {name: quiet, q: 1e-6, tau: 0.02, unit: rad}
  - {name: loud, q: 1e-4, tau: 1, unit: rad}
cutoff: 20
methods:
  - {method: ols, filters: [butterworth]}
  - {method: wls, filters: [butterworth]}
  - {method: pc-wls, filters: [butterworth]}
runs: 4
block: 2
seed: 1
"""


def main() -> None:  # workers import this file: nothing may happen on import
    address = sys.argv[1] if len(sys.argv) > 1 else "local"
    spec = Path(sys.argv[2] if len(sys.argv) > 2 else "small-arm.yaml")
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else "small-arm")
    if not spec.exists():
        spec.write_text(SPEC)
    engine = Dask(local=2) if address == "local" else Dask(address)

    # stopped and started again, the campaign goes on where it was
    store = ia.run_campaign(spec, folder, engine=engine, progress=lambda p: print(f"{p.done} of {p.total} units"))
    for line in lines(store):
        print(f"{line.place.noise:8} {line.place.label:8} {100 * line.mean['d_par']:8.3f} % off, {line.rows[0]} fits")
    print(f"see {write_page(store, folder / 'report.html')}")


if __name__ == "__main__":
    main()
