"""Methods by the names users type.  Adding a method: its file, and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

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
from inertica.physical.priors import BaseRidge, Entropic, Euclidean, Prior, Pullback, Riemannian

PRIORS: dict[str, Prior] = {
    "euclidean": Euclidean(1.0),
    "entropic": Entropic(),
    "pullback": Pullback(),
    "riemann": Riemannian(),
}
"""What may follow the name of a consistent method and a plus; their strength is chosen by cross-validation, but for `MILD`."""

MILD = "entropic"
"""The prior whose strength is mild (see `mild`): it keeps every link near the model where data do not decide, at no cost to them."""


def with_prior(name: str, kind: type, prior: str) -> Callable[[], Estimator]:
    """A consistent method with a pull towards the prior: `pc-irls+entropic`."""
    strength: Literal["mild", "cross-validated"] = "mild" if prior == MILD else "cross-validated"
    return named(name, kind, solve=Consistent(prior=PRIORS[prior], strength=strength))


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
    **{f"pc-wls+{prior}": with_prior(f"pc-wls+{prior}", Wls, prior) for prior in PRIORS},
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
    """A method with its default options; `+prior` behind a consistent method adds a pull towards the prior."""
    if name in METHODS:
        return METHODS[name]()
    base, plus, prior = name.partition("+")
    if not plus or base not in METHODS:
        raise InputError(f"unknown method '{name}'; {nearest(name, METHODS)}")
    if prior not in PRIORS:
        raise InputError(f"unknown prior '{prior}' behind '{base}+'; {nearest(prior, PRIORS)}")
    plain = METHODS[base]()
    if not isinstance(getattr(plain, "solve", None), Consistent):
        able = [n for n, make in METHODS.items() if "+" not in n and isinstance(getattr(make(), "solve", None), Consistent)]
        raise InputError(f"method '{base}' does not take a prior by +; these do: {', '.join(able)}")
    return with_prior(name, type(plain), prior)()
