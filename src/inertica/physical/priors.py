"""Priors: how far parameters are from those known before, and how much that costs.

Each prior adds strength * noise * d(chi, chi_0)^2 to the squares of the data.  The noise variance of a row makes the strength free of
units: with d in units of the parameters' own sizes, strength 1 weighs a change of a parameter by its own size like one residual
of one standard deviation, so the prior has a relative standard deviation of 1 / sqrt(strength).

Euclidean, observability-weighted and pullback distances are quadratic.  With J the pseudo-inertia of a body and J_0 its prior,

    pullback    d^2 = tr((J_0^-1 (J - J_0))^2)                         the metric of the cone, held constant at the prior
    entropic    d^2 = 2 (tr(J_0^-1 J) - log det(J_0^-1 J) - 4)         log-det (Bregman) divergence, convex
    riemannian  d^2 = |log(J_0^-1/2 J J_0^-1/2)|_F^2                   affine-invariant distance, geodesically convex

(Lee, Wensing and Park 2020; survey, eq. 66 with the corrected d(chi, chi_0)).  The last three agree to second order around the
prior.  Sign-constrained drives and friction count as 1x1 pseudo-inertias in the last two; other parameters as in the Euclidean
one.  A parameter whose prior is exactly zero is one of which nothing is known (friction in most model files): its size is what
would explain all the torque there is, so that it is hardly pulled.  A link without any values is pulled with strength 0.01 (the
default of the Euclidean prior) to a body of typical size by the last two, and not at all by the metric of the cone in the first.

Distances on the cone start from a real body.  A link of the prior that is none (model files have links with mass and no inertia)
is replaced by one: the eigenvalues of its pseudo-inertia, in the body's units, are lifted to a hundredth; `metric_notes` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from inertica.arrays import Array
from inertica.physical.constraints import MARGIN
from inertica.physical.fit import Fit
from inertica.physical.pseudo import PSEUDO, pseudo_inertias
from inertica.physical.scales import Reference
from inertica.robot import inertia
from inertica.threads import one_thread

TINY = 1e-2
"""Strength of the default pull: a prior standard deviation of ten times the parameters' sizes, which only decides where data are
silent."""

_FLAT = 1e-2
"""Eigenvalues of a pseudo-inertia (in the body's units) are lifted to this where the prior is no real body."""

FAR = 1e6
"""Times its least scale beyond which no parameter is looked for: of a column that data hardly see, all of the torque would ask for
more than solvers have digits for."""

_EDGE = 1e-12
"""Eigenvalues of a body relative to its prior below this count as outside: there derivatives have no digits left."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """|W (chi - centre)|^2, W (k, P)."""

    W: Array
    centre: Array

    def value(self, chi: Array) -> float:
        miss = self.W @ (chi - self.centre)
        return float(miss @ miss)

    def gradient(self, chi: Array) -> Array:
        return np.asarray(2.0 * self.W.T @ (self.W @ (chi - self.centre)))

    def hessian(self, chi: Array) -> Array:
        return self._hessian

    @cached_property
    def _hessian(self) -> Array:
        return np.asarray(2.0 * self.W.T @ self.W)


class Penalty(Protocol):
    """A prior's cost as a smooth function of chi; infinite outside its domain."""

    def value(self, chi: Array) -> float: ...

    def gradient(self, chi: Array) -> Array: ...

    def hessian(self, chi: Array) -> Array:
        """Second derivative, or a positive semidefinite stand-in for it."""
        ...


class Prior(Protocol):
    """A distance with a strength."""

    @property
    def strength(self) -> float: ...

    def penalty(self, reference: Reference, fit: Fit) -> Penalty: ...


@dataclass(frozen=True)
class Euclidean:
    """Squared changes, each parameter measured by its own size."""

    strength: float = TINY

    def penalty(self, reference: Reference, fit: Fit) -> Quadratic:
        return Quadratic(_weight(self.strength, fit) * np.diag(1.0 / believed_sizes(reference, fit)), reference.values)


@dataclass(frozen=True)
class Plain:
    """strength |chi - chi_0|^2 in SI units, whatever the sizes of parameters and noise (survey, eq. 65, with `Ols`).

    Kilograms and kilogram square metres count alike, so the result depends on the units; `Euclidean` does not.
    """

    strength: float = 1e-3

    def penalty(self, reference: Reference, fit: Fit) -> Quadratic:
        return Quadratic(float(np.sqrt(self.strength)) * np.eye(reference.layout.size), reference.values)


@dataclass(frozen=True)
class Observability:
    """Squared changes weighed by how little the data say about them.

    With the singular values s of the scaled observation matrix in units of the noise, direction by direction the weight is
    1 / (1 + s^2 / strength): silent directions feel the full pull, well-determined ones hardly any.
    """

    strength: float = 1.0

    def penalty(self, reference: Reference, fit: Fit) -> Quadratic:
        size = believed_sizes(reference, fit)
        with one_thread():
            _, s, Vt = np.linalg.svd(fit.A * size)
        observed = np.zeros(len(Vt))
        observed[: len(s)] = s**2 / max(fit.noise, 1e-300)
        # square root of the weight, since W is squared in the penalty
        share = np.sqrt(1.0 / (1.0 + observed / self.strength))
        return Quadratic(_weight(self.strength, fit) * (share[:, None] * Vt) / size, reference.values)


@dataclass(frozen=True)
class BaseRidge:
    """strength |D (beta - beta_0)|^2 with D the column norms of R, as in `ridge`, and a tiny Euclidean pull where beta is silent.

    Unlike the others its strength is relative to the data, not to their noise.
    """

    strength: float = 1e-4

    def penalty(self, reference: Reference, fit: Fit) -> Quadratic:
        norms = np.linalg.norm(fit.R, axis=0)
        # rows of D (T chi - beta_0): the base parameters of chi in units of their columns
        ridge = np.sqrt(self.strength) * norms[:, None] * fit.T
        return Quadratic(np.vstack([ridge, Euclidean().penalty(reference, fit).W]), reference.values)


@dataclass(frozen=True)
class Pullback:
    """Riemannian metric of the pseudo-inertia cone held at the prior: quadratic, and the same in every frame and unit."""

    strength: float = 1.0

    def penalty(self, reference: Reference, fit: Fit) -> Quadratic:
        # bodies get the metric of the cone, everything else its own size
        W, point = np.diag(1.0 / believed_sizes(reference, fit)), metric_point(reference)
        for where, known in zip(point.where, point.known, strict=True):
            if known:
                W[where, where] = _congruent(_inverse_root(point.values[where]))
        centre = np.where(reference.empty, reference.values, point.values)
        return Quadratic(_weight(self.strength, fit) * W, centre)


@dataclass(frozen=True)
class Entropic:
    """Log-det divergence from the prior; its solutions lie strictly inside the cone."""

    strength: float = 1.0

    def penalty(self, reference: Reference, fit: Fit) -> Penalty:
        return ConePenalty(reference, fit, self.strength, riemannian=False)


@dataclass(frozen=True)
class Riemannian:
    """Affine-invariant distance to the prior on the cone of pseudo-inertias.

    Not convex in chi (only along geodesics): a Gauss-Newton method finds a local minimum from the prior.
    """

    strength: float = 1.0

    def penalty(self, reference: Reference, fit: Fit) -> Penalty:
        return ConePenalty(reference, fit, self.strength, riemannian=True)


class ConePenalty:
    """The entropic or Riemannian distance of all bodies and sign-constrained scalars, times a factor.

    With K = C J C', C J_0 C' = I, both are functions of K alone, and their derivatives are needed in svec coordinates of K only:
    everything is done for all bodies at once.
    """

    def __init__(self, reference: Reference, fit: Fit, strength: float, *, riemannian: bool) -> None:
        self.factor, self.riemannian = strength * fit.noise, riemannian
        sizes = believed_sizes(reference, fit)
        self.size = reference.layout.size
        point = metric_point(reference)
        self.origin = point.values
        self.where = np.array([w.start for w in point.where], int)[:, None] + np.arange(10)
        roots = np.array([_inverse_root(point.values[w]) for w in point.where]).reshape(-1, 4, 4)
        self.maps = np.einsum("iab,kbc,idc->ikad", roots, PSEUDO, roots)  # (bodies, 10, 4, 4)
        self.weight = np.where(point.known, 1.0, min(1.0, TINY / strength))  # (bodies,)
        self.scalars, self.other = scalars, other = _scalar_split(reference)
        self.scalar_prior = reference.values[scalars]
        self.other_scale, self.other_prior = sizes[other], reference.values[other]

    def scaled(self, chi: Array) -> Array:
        """(..., bodies, 4, 4) pseudo-inertias in the coordinates in which the prior is the identity."""
        return np.asarray(np.einsum("...ik,ikab->...iab", chi[..., self.where], self.maps))

    def inside(self, chi: Array) -> bool:
        return bool(np.all(chi[self.scalars] > 0.0) and (not len(self.where) or np.linalg.eigvalsh(self.scaled(chi)).min() > 0.0))

    def value(self, chi: Array) -> float:
        return float(self.values(chi[None])[0])

    def gradient(self, chi: Array) -> Array:
        return np.asarray(self.derivatives(chi[None])[0][0])

    def hessian(self, chi: Array) -> Array:
        """Exact for the entropic distance; for the other as far as it is convex (eigenvalues below e), Gauss-Newton beyond.

        With h the distance as a function of one eigenvalue, d^2 tr h(K)[H, H] = sum_ab h'[e_a, e_b] H_ab^2 in the eigenbasis,
        h'[., .] the divided difference of h'.
        """
        return np.asarray(self.derivatives(chi[None])[1][0])

    def exact_hessian(self, chi: Array) -> Array:
        """Negative curvature included, which the Riemannian distance has far from the prior."""
        return self.hessian(chi) if not self.riemannian else np.asarray(self.derivatives(chi[None], exact=True)[1][0])

    def values(self, chi: Array) -> Array:
        """(n,) of (n, P) parameters."""
        d = (chi[:, self.other] - self.other_prior) / self.other_scale
        ratio = chi[:, self.scalars] / self.scalar_prior
        e = np.asarray(np.linalg.eigvalsh(self.scaled(chi)), float)
        # points outside get a harmless eigenvalue for the logarithms and an infinite value below
        inside = np.all(ratio > _EDGE, axis=1) & np.all(e > _EDGE, axis=(1, 2))
        ratio, e = np.where(inside[:, None], ratio, 1.0), np.where(inside[:, None, None], e, 1.0)
        bodies = self._distance(e).sum(axis=2) @ self.weight
        out = np.sum(d**2, axis=1) + np.sum(self._distance(ratio), axis=1) + bodies
        return np.where(inside, self.factor * out, np.inf)

    def derivatives(self, chi: Array, exact: bool = False) -> tuple[Array, Array]:
        """(n, P) gradients and (n, P, P) second derivatives of (n, P) parameters, these without negative ones unless `exact`."""
        g, H = np.zeros((len(chi), self.size)), np.zeros((len(chi), self.size, self.size))
        g[:, self.other] = 2.0 * (chi[:, self.other] - self.other_prior) / self.other_scale**2
        H[:, self.other, self.other] = 2.0 / self.other_scale**2
        ratio = chi[:, self.scalars] / self.scalar_prior
        g[:, self.scalars] = self._first(ratio) / self.scalar_prior
        H[:, self.scalars, self.scalars] = self._curvature(ratio, ratio, exact) / self.scalar_prior**2
        e, U = np.linalg.eigh(self.scaled(chi))
        # derivatives of functions of eigenvalues are diagonal in the eigenbasis (Daleckii-Krein)
        turned = np.swapaxes(U, -1, -2)[:, :, None] @ self.maps @ U[:, :, None]  # (n, bodies, 10, 4, 4)
        g[:, self.where] = np.einsum("i,nib,nikbb->nik", self.weight, self._first(e), turned)
        weighted = turned * self._curvature(e[..., :, None], e[..., None, :], exact)[:, :, None]
        flat, curved = (x.reshape(*turned.shape[:3], 16) for x in (turned, weighted))
        blocks = self.weight[:, None, None] * (flat @ np.swapaxes(curved, -1, -2))
        for body, where in enumerate(self.where):
            H[:, where[0] : where[-1] + 1, where[0] : where[-1] + 1] = blocks[:, body]
        return self.factor * g, self.factor * H

    def local_squares(self, chi: Array) -> tuple[Array, Array]:
        """(m, P) and (m,): to second order around chi the value is |rows d + right|^2 and a constant, d the change of chi.

        For steps that must not square the condition number.
        """
        other, scalars = (np.zeros((len(k), self.size)) for k in (self.other, self.scalars))
        other[np.arange(len(self.other)), self.other] = 1.0 / self.other_scale
        ratio = chi[self.scalars] / self.scalar_prior
        # a square bend^2 (d + first / (2 bend^2))^2 has the value's slope and half its curvature
        bend = np.sqrt(0.5 * self._curvature(ratio, ratio))
        scalars[np.arange(len(self.scalars)), self.scalars] = bend / self.scalar_prior
        right = [(chi[self.other] - self.other_prior) / self.other_scale, 0.5 * self._first(ratio) / bend]
        rows = [other, scalars]
        e, U = np.linalg.eigh(self.scaled(chi))
        turned = np.swapaxes(U, -1, -2)[:, None] @ self.maps @ U[:, None]  # (bodies, 10, 4, 4)
        bends = np.sqrt(0.5 * self.weight[:, None, None] * self._curvature(e[:, :, None], e[:, None, :]))
        slopes = 0.5 * self.weight[:, None] * self._first(e) / np.einsum("iaa->ia", bends)
        for where, part, bend, slope in zip(self.where, turned, bends, slopes, strict=True):
            block = np.zeros((16, self.size))
            block[:, where] = (part * bend).reshape(10, 16).T
            rows.append(block)
            right.append(np.diag(slope).ravel())
        return np.sqrt(self.factor) * np.vstack(rows), np.sqrt(self.factor) * np.concatenate(right)

    def _distance(self, e: Array) -> Array:
        return np.log(e) ** 2 if self.riemannian else 2.0 * (e - np.log(e) - 1.0)

    def _first(self, e: Array) -> Array:
        return 2.0 * np.log(e) / e if self.riemannian else 2.0 * (1.0 - 1.0 / e)

    def _curvature(self, a: Array, b: Array, exact: bool = False) -> Array:
        """Divided differences of the first derivative; where these are small or negative Gauss-Newton, unless `exact`."""
        if not self.riemannian:
            return np.asarray(2.0 / (a * b))
        # the divided difference of nearby eigenvalues cancels; the derivative at their middle errs by less than 1e-10 there
        near = np.abs(a - b) <= 1e-5 * np.maximum(a, b)
        middle, gap = 0.5 * (a + b), np.where(near, 1.0, a - b)
        second = np.where(near, 2.0 * (1.0 - np.log(middle)) / middle**2, (self._first(a) - self._first(b)) / gap)
        gauss_newton = np.where(near, 1.0 / middle, (np.log(a) - np.log(b)) / gap) ** 2
        # beyond eigenvalues of e the distance curves downwards along rays; a fifth of Gauss-Newton keeps steps finite
        return second if exact else np.maximum(second, 0.2 * gauss_newton)


def second_order(penalty: Penalty, chi: Array) -> Quadratic:
    """The quadratic with the penalty's slope and curvature at chi."""
    e, V = np.linalg.eigh(penalty.hessian(chi))
    # flat directions get the least curvature that rounding can show, so that the centre stays finite
    e = np.maximum(e, 1e-14 * e[-1])
    centre = chi - V @ ((V.T @ penalty.gradient(chi)) / e)
    return Quadratic(np.sqrt(0.5 * e)[:, None] * V.T, centre)


def near_prior(reference: Reference, fit: Fit, penalty: ConePenalty) -> Array:
    """(P,) minimum of the data and of the prior to second order about its origin, within no constraints.

    One factorisation of as many rows as there are base parameters, where the minimum itself takes many.
    """
    free = np.flatnonzero(reference.free)
    chi = np.where(reference.free, penalty.origin, reference.values)
    A, right = fit.A[:, free], fit.A @ chi - fit.z
    (gradient,), (hessian,) = penalty.derivatives(chi[None])
    with one_thread():
        # with mu = 2 (A d - z): H d = -g - A' mu, and A d from it
        # bodies are not coupled by it
        solved = splu(sp.csc_matrix(hessian[np.ix_(free, free)])).solve(np.column_stack([A.T, gradient[free]]))
        inverse, pulled = solved[:, :-1], solved[:, -1]
        mu = cho_solve(cho_factor(A @ inverse + 0.5 * np.eye(len(A))), right - A @ pulled)
    chi[free] -= pulled + inverse @ mu
    return chi


def chosen_strength(strengths: Sequence[float], score: Callable[[float], float]) -> tuple[float, dict[float, float]]:
    """The strength with the lowest score (an error on data left out, say), and all scores; the stronger one of equals."""
    scores = {strength: score(strength) for strength in strengths}
    return min(sorted(scores, reverse=True), key=lambda s: scores[s]), scores


def believed_sizes(reference: Reference, fit: Fit) -> Array:
    """(P,) by how much a parameter may well differ from its prior: its scale, or, where nothing is known of it, the value at which it
    alone would explain all of the torque.
    """
    effect = np.linalg.norm(fit.A, axis=0)
    # by Cauchy-Schwarz no value beyond |z| / |column| explains more torque than there is
    everything = np.minimum(np.linalg.norm(fit.z) / np.where(effect > 0.0, effect, np.inf), FAR * reference.scale)
    return np.where(reference.unknown, np.maximum(reference.scale, everything), reference.scale)


def _weight(strength: float, fit: Fit) -> float:
    return float(np.sqrt(strength * fit.noise))


@dataclass(frozen=True, eq=False)
class MetricPoint:
    """The prior as a point of the cone.

    Args:
        values: (P,) with the bodies that were none replaced, and bodies of typical size where there are no values.
        where: slice of every body.
        known: of which bodies there are values.
        replaced: people's names of the bodies that were no real ones.
        empty: of those without any values.
    """

    values: Array
    where: tuple[slice, ...]
    known: tuple[bool, ...]
    replaced: tuple[str, ...]
    empty: tuple[str, ...]


def metric_point(reference: Reference) -> MetricPoint:
    """From where distances on the cone are measured."""
    values, known, replaced, empty = np.array(reference.values), [], [], []
    for body, where, size in reference.bodies:
        back = np.diag(1.0 / np.diag(size.pseudo))
        known.append(bool(np.any(values[where])))
        if not known[-1]:
            values[where] = inertia.from_pseudo_inertia(back @ back)
            empty.append(reference.label(body))
            continue
        e, V = np.linalg.eigh(size.pseudo @ pseudo_inertias(values[where]) @ size.pseudo)
        # a body on the boundary of the cone has no inverse, and so no metric
        if e[0] < MARGIN:
            values[where] = inertia.from_pseudo_inertia((back @ V * np.maximum(e, _FLAT)) @ (back @ V).T)
            replaced.append(reference.label(body))
    return MetricPoint(values, tuple(w for _, w, _ in reference.bodies), tuple(known), tuple(replaced), tuple(empty))


def metric_notes(prior: Prior, reference: Reference) -> tuple[str, ...]:
    """What a prior on the cone had to assume about links that are no real bodies, one sentence each."""
    if not isinstance(prior, Pullback | Entropic | Riemannian):
        return ()
    point, out = metric_point(reference), []
    if point.replaced:
        links = ", ".join(point.replaced)
        out.append(f"the prior of {links} is not that of a real body; distances are measured from the nearest thicker one")
    if point.empty:
        out.append(f"the prior says nothing about {', '.join(point.empty)}; data and constraints decide there")
    return tuple(out)


def _scalar_split(reference: Reference) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of sign-constrained scalars with a positive prior, and of the other parameters that are no body's."""
    body = np.zeros(reference.layout.size, bool)
    for _, where, _ in reference.bodies:
        body[where] = True
    signed = np.array([p.lower == 0.0 for p in reference.layout.parameters]) & ~body & (reference.values > 0.0)
    return np.flatnonzero(signed), np.flatnonzero(~signed & ~body)


def _inverse_root(ten: Array) -> Array:
    """C with C J_0 C' = I."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(pseudo_inertias(ten))))


def _congruent(root: Array) -> Array:
    """(10, 10) w with |w ten|^2 = tr((J_0^-1 J)^2) for C = root."""
    from inertica.physical.pseudo import svec

    return svec(root @ PSEUDO @ root.T).T
