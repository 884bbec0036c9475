"""Options and text that `identify`, `compare` and `predict` share."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

from inertica.cli.console import table
from inertica.cli.reading import add_reading
from inertica.errors import InputError
from inertica.estimators.options import READERS
from inertica.excitation.files import load_trajectory
from inertica.preprocessing.filters import FILTERS
from inertica.preprocessing.recipe import Regressor
from inertica.report.names import short_names
from inertica.robot import friction
from inertica.validation.residuals import Residual
from inertica.workflow.identify.before import Before
from inertica.workflow.identify.settings import Settings

if TYPE_CHECKING:
    from rich.console import RenderableType


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """ROBOT LOG... [--validate LOG]..., and how to read them."""
    parser.add_argument("robot", metavar="ROBOT", help="built-in name, DH YAML, URDF, MJCF, SDFormat or robot card")
    parser.add_argument(
        "logs", metavar="LOG", nargs="+",
        help="recorded motion; FILE@t0:t1 takes a slice, FILE+FILE joins files on their clocks; all enter one fit",
    )  # fmt: skip
    parser.add_argument(
        "--validate", metavar="LOG", action="append", default=[], help="a log that is only predicted; may be given several times"
    )
    add_prior(parser)
    add_reading(parser)


def add_prior(parser: argparse.ArgumentParser) -> None:
    """For logs that `simulate` wrote."""
    parser.add_argument(
        "--prior", choices=("truth",),
        help="start a fit of a simulated log from the values that it was simulated with; they are 15 %% off by default",
    )  # fmt: skip


def add_choices(parser: argparse.ArgumentParser) -> None:
    """What is chosen by cross-validation unless it is stated."""
    fixed = parser.add_argument_group("choices", "made by cross-validation on the logs unless they are stated here")
    fixed.add_argument("--cutoff", metavar="HZ|none", type=_cutoff, help="of the filter of positions; none for no filter")
    fixed.add_argument("--filter", metavar="NAME", help=f"of positions: {', '.join(FILTERS)}; forward delays the motion")
    fixed.add_argument("--decimate", metavar="HZ", type=_positive, help="bandwidth to decimate to; follows the cut-off")
    fixed.add_argument("--delay", metavar="S[,S..]", type=numbers, help="of torque behind motion in s, one or one per joint")
    fixed.add_argument("--friction", metavar="A,B", help=f"laws on every joint: {', '.join(friction.LAWS)}, or none")
    fixed.add_argument(
        "--refine-shapes", action="store_true",
        help="find the constants of friction laws that enter nonlinearly, too: Stribeck velocity and exponent, widths",
    )  # fmt: skip
    fixed.add_argument(
        "--force", action="store_true",
        help="fit the logs although their check found a problem, and write the model of a result that is not usable",
    )  # fmt: skip
    fixed.add_argument(
        "--gravity", metavar="auto|=X,Y,Z",
        help="free fall in the base frame in m/s^2 (--gravity=0,0,-9.81), or auto to find how the robot is mounted; the default "
        "unless the card states gravity or the model file does not stand upright",
    )  # fmt: skip
    fixed.add_argument(
        "--regressor", choices=get_args(Regressor), default="torque",
        help="what rows of linear fits say: torques, or without accelerations rates of momentum, or power; torque by default",
    )  # fmt: skip
    fixed.add_argument("--velocity", choices=("recorded", "differences"), help="where velocity comes from")


def add_friction_export(parser: argparse.ArgumentParser) -> None:
    """What becomes of friction laws that the format of a model file lacks."""
    parser.add_argument(
        "--approximate-friction", action=argparse.BooleanOptionalAction, default=True,
        help="write the viscous and Coulomb friction closest to laws that URDF and MJCF lack, over the speeds of the logs (default)",
    )  # fmt: skip
    parser.add_argument(
        "--exact-friction", dest="approximate_friction", action="store_false",
        help="leave friction laws out of the model file that its format lacks",
    )  # fmt: skip


SHORTCUTS: Mapping[str, tuple[str, str]] = {
    "start": ("START", "first estimate"),
    "optimiser": ("OPT", "minimiser of clie, cloe and oloe"),
    "stop": ("RULE", "stop when both criteria are met, or either"),
    "tuned-for": (
        "J,J,..",
        "with --retune: inertia per joint that the loop's gains were chosen for; as the card states it by default",
    ),
}
"""Options of methods that have a switch of their own: name -> metavar, help."""

SWITCHES: Mapping[str, str] = {
    "retune": "let the simulated loop's gains follow the estimate, so that bandwidth and damping stay",
    "estimate-gains": "estimate the gains of the loop, too, as far as the log tells them from the parameters",
}


def add_reference(parser: argparse.ArgumentParser) -> None:
    """What the controller followed."""
    parser.add_argument(
        "--reference", metavar="TRAJ", action="append", default=[],
        help="trajectory the controller followed, one for all logs or one for each (validation logs last); columns qr1.. of the "
        "logs by default",
    )  # fmt: skip


def add_loop(parser: argparse.ArgumentParser) -> None:
    """For methods that simulate the controller, and whatever else a method has to choose."""
    loop = parser.add_argument_group("controller", "for methods that simulate it; law and gains are in the card, under loop:")
    add_reference(loop)  # type: ignore[arg-type]
    for name, (metavar, words) in SHORTCUTS.items():
        loop.add_argument(
            f"--{name}", metavar=metavar, help=words + (f": {', '.join(READERS[name].words)}" if name in READERS else "")
        )
    for name, words in SWITCHES.items():
        loop.add_argument(f"--{name}", action="store_true", help=words)
    loop.add_argument(
        "--option", metavar="NAME=VALUE", action="append", default=[], type=_option,
        help="any option of the method, such as iterations=20, integrator=rk2, observed=velocity; may be given several times",
    )  # fmt: skip


def method_options(arguments: argparse.Namespace) -> dict[str, str]:
    """Options of the method, from their own switches and from --option."""
    out = dict(getattr(arguments, "option", ()))
    for name in (*SHORTCUTS, *SWITCHES):
        stated = getattr(arguments, name.replace("-", "_"), None)
        if stated:
            if name in out:
                raise InputError(f"the option '{name}' is stated twice: as --{name} and as --option {name}={out[name]}")
            out[name] = "yes" if stated is True else stated
    return out


def settings(arguments: argparse.Namespace, method: str = "auto") -> Settings:
    """What the command line fixes."""
    delay = arguments.delay[0] if arguments.delay and len(arguments.delay) == 1 else arguments.delay
    laws = None if arguments.friction in (None, "auto") else _laws(arguments.friction)
    references = tuple(load_trajectory(name) for name in getattr(arguments, "reference", ()))
    options = method_options(arguments)
    chosen, cutoff = getattr(arguments, "filter", None), arguments.cutoff
    if cutoff == "none" and chosen not in (None, "none"):
        raise InputError(f"--cutoff none means no filter, but --filter {chosen} is stated")
    chosen, cutoff = ("none", None) if cutoff == "none" else (chosen, cutoff)
    fixed = (cutoff, arguments.decimate, delay, laws, arguments.velocity, references, options)
    quick, force = (bool(getattr(arguments, name, False)) for name in ("quick", "force"))
    gravity, regressor = _gravity(arguments.gravity), arguments.regressor
    stated = getattr(arguments, "prior", None)
    prior: Literal["truth"] | None = "truth" if stated == "truth" else None
    refine = bool(getattr(arguments, "refine_shapes", False))
    return Settings(
        method, *fixed, quick=quick, force=force, gravity=gravity, regressor=regressor, filter=chosen, prior=prior,
        refine_shapes=refine,
    )  # fmt: skip


def residual_table(residuals: Mapping[str, Residual], before: Before | None = None) -> RenderableType:
    """Relative residuals per data set and joint, in percent, and those of the model that came in."""
    joints = [str(j + 1) for j in range(len(next(iter(residuals.values())).raw.per_joint))]
    shown = dict(zip(residuals, short_names(list(residuals)), strict=True))
    data_sets = [(shown[name], r) for name, r in residuals.items()]
    if before is not None:
        data_sets.append((f"{shown.get(before.data_set, before.data_set)}, model that came in", before.residual))
    rows = [
        [name if kind == "raw" else "", kind, *(percent(x) for x in (relative.all, *relative.per_joint))]
        for name, r in data_sets
        for kind, relative in (("raw", r.raw), ("filtered", r.filtered))
    ]
    title = (
        "residuals |measured - predicted| / |measured| in percent, over all joints and for each; raw: torque as recorded, "
        "filtered: both low-passed"
    )
    return table(title, ("data set", "", "all", *joints), rows, right=("all", *joints))


def percent(value: float) -> str:
    return f"{100.0 * value:.2f}" if math.isfinite(value) else "-"


def _cutoff(word: str) -> float | Literal["none"]:
    return "none" if word == "none" else _positive(word)


def _positive(word: str) -> float:
    value = _number(word)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{word}' should be a number of Hz greater than zero")
    return value


def numbers(word: str) -> tuple[float, ...]:
    values = tuple(_number(part) for part in word.split(","))
    if not all(map(math.isfinite, values)):
        raise argparse.ArgumentTypeError(f"'{word}' should be finite numbers of seconds")
    return values


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{word}' is not a number") from None


def _gravity(word: str | None) -> Literal["auto"] | tuple[float, float, float] | None:
    """auto, or three numbers."""
    if word is None:
        return None
    if word.strip() == "auto":
        return "auto"
    try:
        x, y, z = (float(part) for part in word.split(","))
    except ValueError:
        raise InputError(f"--gravity should be auto, or free fall in the base frame such as 0,0,-9.81; not '{word}'") from None
    return (x, y, z)


def _option(word: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not name.strip() or (sign and not value.strip()):
        raise argparse.ArgumentTypeError(f"'{word}' should be NAME=VALUE, or NAME for a switch")
    return name.strip(), value.strip() if sign else "yes"


def _laws(words: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in words.split(",") if name.strip())
    if not names:
        raise InputError(f"--friction names no law; choose from {', '.join(friction.LAWS)}, or none")
    if names == ("none",):
        return ()
    for name in names:
        if friction.law(name, 0).memory:
            raise InputError(
                f"the friction law '{name}' has memory; `inertica friction` identifies it, identify takes laws without"
            )
    return names
