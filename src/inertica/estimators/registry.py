"""Methods by the names users type.  Adding a method: its file, and one line here."""

from __future__ import annotations

from collections.abc import Callable

from inertica.errors import InputError, nearest
from inertica.estimators.base import Estimator
from inertica.estimators.bayes import Bayes, Ridge
from inertica.estimators.bounded import BoundedNearest, Cad, ConsistentInside, FeasibleBounded
from inertica.estimators.consistent import Consistent, named
from inertica.estimators.didim import Didim
from inertica.estimators.essential import Essential
from inertica.estimators.irls import Irls
from inertica.estimators.iv import Iv
from inertica.estimators.least_squares import Ols, Wls
from inertica.estimators.ml import Ml
from inertica.estimators.output_error import Clie, Cloe, Oloe
from inertica.estimators.svd import Svd, SvdEssential
from inertica.estimators.tls import Gtls, Tls
from inertica.physical.priors import BaseRidge, Entropic, Euclidean, Pullback, Riemannian

METHODS: dict[str, Callable[[], Estimator]] = {
    "ols": Ols,
    "wls": Wls,
    "irls": Irls,
    "tls": Tls,
    "gtls": Gtls,
    "ml": Ml,
    "ridge": Ridge,
    "bayes": Bayes,
    "essential": Essential,
    "svd": Svd,
    "svd-essential": SvdEssential,
    "pc-ols": named("pc-ols", Ols, solve=Consistent()),
    "pc-wls": named("pc-wls", Wls, solve=Consistent()),
    "pc-irls": named("pc-irls", Irls, solve=Consistent()),
    "pc-ridge": named("pc-ridge", Wls, solve=Consistent(prior=BaseRidge())),
    "pc-wls+euclidean": named("pc-wls+euclidean", Wls, solve=Consistent(prior=Euclidean(1.0), strength="cross-validated")),
    "pc-wls+entropic": named("pc-wls+entropic", Wls, solve=Consistent(prior=Entropic(), strength="cross-validated")),
    "pc-wls+pullback": named("pc-wls+pullback", Wls, solve=Consistent(prior=Pullback(), strength="cross-validated")),
    "pc-wls+riemann": named("pc-wls+riemann", Wls, solve=Consistent(prior=Riemannian(), strength="cross-validated")),
    "cad": Cad,
    "uls": named("uls", Ols),
    "cls-1": BoundedNearest,
    "cls-2": FeasibleBounded,
    "cls-3": ConsistentInside,
    "iv": Iv,
    "didim": Didim,
    "clie": Clie,
    "cloe": Cloe,
    "oloe": Oloe,
    "pc-iv": named("pc-iv", Iv, solve=Consistent()),
    "pc-didim": named("pc-didim", Didim, solve=Consistent()),
    "pc-clie": named("pc-clie", Clie, consistent=True),
    "pc-cloe": named("pc-cloe", Cloe, consistent=True),
}


def method(name: str) -> Estimator:
    """A method with its default options."""
    if name not in METHODS:
        raise InputError(f"unknown method '{name}'; {nearest(name, METHODS)}")
    return METHODS[name]()
