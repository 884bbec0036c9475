"""Methods by the names users type.  Adding a method: its file, and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from inertica.errors import InputError, nearest
from inertica.estimators.base import Capability, Estimator
from inertica.estimators.closed_loop.didim import Didim
from inertica.estimators.closed_loop.iv import Iv
from inertica.estimators.closed_loop.output_error import Clie, Cloe, Oloe
from inertica.estimators.consistent.bounded import BoundedNearest, Cad, ConsistentInside, FeasibleBounded, Uls
from inertica.estimators.consistent.strategy import PRIORS, Consistent
from inertica.estimators.frisch.method import Frisch
from inertica.estimators.linear.bayes import Bayes, Ridge
from inertica.estimators.linear.essential import Essential
from inertica.estimators.linear.irls import Irls
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.estimators.linear.ml import Ml
from inertica.estimators.linear.svd import Svd, SvdEssential
from inertica.estimators.linear.tls import Gtls, Tls
from inertica.estimators.neural.adann import AdaNN
from inertica.estimators.neural.htrnn import Htrnn
from inertica.estimators.recursive.joint import KINDS, ComputedTorqueFilter, JointFilter
from inertica.estimators.recursive.online import Rls, Rwls
from inertica.estimators.recursive.others import DualEkf, IdimEkf
from inertica.estimators.recursive.particles import ComputedTorqueParticles, ParticleFilter
from inertica.physical.priors import BaseRidge


def _towards(kind: Callable[..., Estimator], prior: str) -> Estimator:
    return kind(solve=Consistent.towards(prior))


_MAKERS: tuple[Callable[[], Estimator], ...] = (
    Ols,
    Wls,
    Irls,
    Tls,
    Gtls,
    Ml,
    Ridge,
    Bayes,
    Essential,
    Svd,
    SvdEssential,
    lambda: Ols(solve=Consistent()),
    lambda: Wls(solve=Consistent()),
    lambda: Irls(solve=Consistent()),
    lambda: Wls(solve=Consistent(prior=BaseRidge())),
    *(partial(_towards, Wls, prior) for prior in PRIORS if prior != "plain"),  # which depends on units: only when asked for
    Cad,
    Uls,
    BoundedNearest,
    FeasibleBounded,
    ConsistentInside,
    Iv,
    Didim,
    Clie,
    Cloe,
    Oloe,
    lambda: Iv(solve=Consistent()),
    lambda: Didim(solve=Consistent()),
    lambda: Clie(solve=Consistent()),
    lambda: Cloe(solve=Consistent()),
    AdaNN,
    Htrnn,
    Rls,
    Rwls,
    lambda: Rls(solve=Consistent()),
    *(partial(JointFilter, kind=kind) for kind in KINDS),
    ParticleFilter,
    *(partial(ComputedTorqueFilter, kind=kind) for kind in KINDS),
    ComputedTorqueParticles,
    DualEkf,
    IdimEkf,
    partial(JointFilter, consistent=True),
    partial(ComputedTorqueFilter, consistent=True),
    Frisch,
    lambda: Frisch(bounds="box", solve=Consistent()),
)

METHODS: dict[str, Callable[[], Estimator]] = {make().name: make for make in _MAKERS}
"""Name -> how it is made; the name follows from what a method is composed of."""


def able(capability: Capability) -> list[str]:
    """Names of the methods that can do something."""
    return [name for name, make in METHODS.items() if capability in make().capabilities]


def method(name: str | Estimator) -> Estimator:
    """A method by its name, with default options, or as it is; `+prior` behind a consistent one adds a pull towards the prior.

    Examples:
        >>> ia.method("pc-wls").name
        'pc-wls'
    """
    if not isinstance(name, str):
        return name
    if name in METHODS:
        return METHODS[name]()
    base, plus, prior = name.partition("+")
    if not plus or base not in METHODS:
        raise InputError(f"unknown method '{name}'; {nearest(name, METHODS)}")
    if prior not in PRIORS:
        raise InputError(f"unknown prior '{prior}' behind '{base}+'; {nearest(prior, PRIORS)}")
    plain = METHODS[base]()
    if Capability.TAKES_PRIOR not in plain.capabilities:
        names = ", ".join(n for n in able(Capability.TAKES_PRIOR) if "+" not in n)
        raise InputError(f"method '{base}' does not take a prior by +; these do: {names}")
    return replace(plain, solve=Consistent.towards(prior))  # type: ignore[type-var]
