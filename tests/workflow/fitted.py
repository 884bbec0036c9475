"""A SCARA arm's log with its fit, for tests of what follows a fit."""

import inertica as ia
from inertica.estimators.base import Estimate, Estimator, Problem
from inertica.estimators.registry import method
from inertica.experiment import Experiment
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.workflow.decisions.filter import recipe_for
from inertica.workflow.identify.self_application import Repetitions, Replicas, replicas

CUTOFF = 15.0


class Fitted:
    """A SCARA arm's log with its fit."""

    def __init__(self, noise: str | None = "standard", t0: float = 0.0, name: str = "wls") -> None:
        self.description: Description = ia.load("scara4")
        experiment = Experiment.of(self.description, noise=noise, threads=1)
        (whole,) = experiment.run(ia.catalog_trajectory("scara4").trajectory, seed=3)
        self.log: Log = whole.sliced(t0, t0 + 4.0)
        self.recipe: Recipe = recipe_for(CUTOFF, self.log.rate, Recipe())
        base = base_model(self.description.layout)
        self.problem = Problem(base, (prepare(self.log, self.recipe),), self.description.prior)
        self.method: Estimator = method(name)
        self.estimate: Estimate = self.method.estimate(self.problem)
        self.truth = experiment.truth

    def applied(self, description: Description | None = None, log: Log | None = None, **options: int) -> Replicas:
        """Simulated with the true parameters, so that what is found shows what the pipeline does to them."""
        d = description or self.description
        return replicas(
            d, self.truth, [log or self.log], self.recipe, self.problem, self.method, repetitions=Repetitions(**options)
        )
