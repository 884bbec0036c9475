"""What the pages of methods say that no registry knows: criterion, algorithm, assumptions, when it fails, where it is from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """Of one class of methods.

    Args:
        criterion: what is minimised, as a formula; W beta = y are the rows of the base parameters.
        algorithm: how that is done.
        assumes: what must hold.
        fails: when it does not work, and what is seen then.
        reference: papers by the names of docs/references.md, with sections and equations.
    """

    criterion: str
    algorithm: str
    assumes: str
    fails: str
    reference: str


NOISE_IN_W = "Motion without noise: positions behind a filter without delay, velocities and accelerations by differences."
LOOP = "The control law, its gains and its rate are those of the robot, and the reference is the one that was followed."
SURVEY = "the survey, section"

TOLD: dict[str, Told] = {
    "Ols": Told(
        "min |W beta - y|^2",
        "Rows go through a tall-skinny QR factorisation joint by joint, never stacked; R beta = z is solved, or, as `pc-ols`, the same "
        "R factor under the condition that every link could exist (interior point with a certificate).",
        f"{NOISE_IN_W} Torque noise of the same size on all joints.",
        "Noise in W biases the estimate towards zero; joints with large torques dominate the small ones; weak excitation shows as a large "
        "condition number and large standard deviations.",
        f"{SURVEY} 3.1, eqs. 17-19.",
    ),
    "Wls": Told(
        "min sum_j |W_j beta - y_j|^2 / sigma_j^2,   sigma_j^2 = |r_j|^2 / (N_j - p_j)",
        "Each joint is fitted alone for sigma_j (p_j the rank of its columns), rows are divided by it, and the R factors are brought "
        "together. `pc-` solves over links that could exist; `+euclidean`, `+entropic`, `+pullback`, `+riemann` add a pull to the prior in "
        "that metric, its strength by cross-validation or mild.",
        f"{NOISE_IN_W} Noise of a joint's torque of one size over time. With a prior: that its errors look like the metric says.",
        "As `ols` under noise in the motion; a joint whose friction law is wrong counts little rather than being noticed. With a strong "
        "prior and poor excitation it returns the prior.",
        f"{SURVEY} 3.1, eqs. 20-21 (corrected); consistent forms section 7; metrics: Rucker and Wensing 2022; Wensing, Kim and Slotine 2018.",
    ),
    "Irls": Told(
        "min sum_jk rho(r_jk / s_j),   s_j = 1.4826 median |r_jk|",
        "Weighted least squares again and again with weights rho'(u) / u: Huber's first, which have one solution, then the bisquare, "
        "which drops gross errors altogether; ends when nothing changes.",
        "Outliers are in the torque and less than about a third of a joint's rows.",
        "Outliers in the motion act through the regressor and are not seen; decimation spreads one over its neighbours; with more than a "
        "third of the rows wrong the scale s_j is wrong, too.",
        f"{SURVEY} 3.1, eqs. 22-24.",
    ),
    "Tls": Told(
        "min |[dW dy] D^-1|_F   subject to   (W + dW) beta = y + dy,   D the column norms of [W y]",
        "Closed form from the R factor: beta = (W'W - s^2 D^2)^-1 W'y, s the smallest singular value of [W y] D^-1.",
        "Errors of equal relative size, without correlation, in all columns and the torque.",
        "Columns made of one noisy motion are correlated and err differently: errors of hundreds of percent at the survey's higher noise, "
        "worst on weakly excited parameters.",
        f"{SURVEY} 3.2, eqs. 26-27; Van Huffel and Vandewalle.",
    ),
    "Gtls": Told(
        "min |W beta - y|^2 / (a' C a),   a = [beta; -1],   C the covariance of the errors in [W y]",
        "Smallest generalised singular vector of the R factor against a square root of C; C by sending white position noise through the "
        "filter and differences that made the motion and recording what the regressor does with it.",
        "Noise levels stated or readable from the data; torque noise independent of the motion's (open loop, or torque sensors).",
        "In a closed loop noisy positions command the torque, too, which correlates what is assumed independent; Coulomb columns when "
        "noise of the velocity exceeds the velocity.",
        "Van Huffel and Vandewalle.",
    ),
    "Ml": Told(
        "min 1/2 sum_k e_k' (G_k S G_k')^-1 e_k,   e_k = Y(s_k) beta - tau_k,   G_k = d e_k / d (q, dq, ddq, tau)",
        "Gauss-Newton with the exact gradient from derivatives of regressor and torque by the engine; steps are halved until the criterion "
        "falls. Rows whose dry friction may have either sign are left out.",
        "Noise variances S stated or measured; noise independent from sample to sample and of the torque.",
        "Noise that goes round the control loop moves the robot itself and is not modelled (36 % off at the survey's highest noise); strong "
        "filters in front correlate the noise.",
        f"{SURVEY} 4.2, eq. 36 (exponent corrected).",
    ),
    "Ridge": Told(
        "min sum_j |W_j beta - y_j|^2 / sigma_j^2 + strength |D (beta - beta_0)|^2,   D the column norms",
        "One solve of the stacked R factor; the strength is given, or the one that predicts left-out blocks best.",
        "Prior values better than nothing where the data are silent.",
        "Pulls to wrong values when the prior is wrong and the excitation poor; its covariance is that of the data's noise and does not "
        "hold this bias.",
        "Textbook ridge regression; no paper of its own.",
    ),
    "Bayes": Told(
        "chi | y,   chi ~ N(chi_0, P_0),   y_j = W_j T chi + e_j,   e_j ~ N(0, sigma_j^2 m_j)",
        "Gaussian posterior in closed form from the R factor; m_j, the correlation time of the residuals, makes as many samples count as "
        "are independent.",
        "The prior's errors are independent and as large as stated.",
        "A prior that is surer than it should be draws even well-determined parameters; links are not held possible.",
        "Textbook Bayesian linear regression; no paper of its own.",
    ),
    "Essential": Told(
        "min sum_j |W_j beta - y_j|^2 / sigma_j^2 with as few parameters as the data justify, the others zero",
        "The base parameter with the largest relative standard deviation is dropped and the rest refitted on the R factor, until "
        "max / min of them is below `ratio`, or none exceeds `relative` percent.",
        "What is dropped is zero.",
        "A dropped parameter that is not zero shifts its torque to correlated ones, and standard deviations are too small by that; poor "
        "excitation makes parameters look unessential.",
        "the consistent-parameters paper, section III; the DIDIM paper (30 %).",
    ),
    "Svd": Told(
        "min |chi - chi_ref|   over all chi that minimise |y - W chi|",
        "chi = chi_ref + V_1 S_1^-1 U_1' (y - W chi_ref) with the non-zero singular values of the weighted standard regressor.",
        "Prior values right in directions that the torque does not show.",
        "Parameters with large numbers (masses) move more readily than others; links may become impossible, which `link_tolerance` tells.",
        "the consistent-parameters paper, eq. 30.",
    ),
    "SvdEssential": Told(
        "min |E^-1 (chi - chi_ref)|   over all chi that minimise |y - W chi|,   E = diag(essential parameters)",
        "`essential` first, then the singular value decomposition of W E: only essential parameters leave their reference, in proportion "
        "to their size.",
        "Prior values right wherever the data are silent; what is not essential is at the prior.",
        "As `essential` and `svd`: a wrong prior stays in whatever was dropped.",
        "the consistent-parameters paper, eqs. 31-33.",
    ),
    "Cad": Told(
        "none: chi = chi_0",
        "The prior's values; data only serve to state their residual.",
        "That the CAD model is right.",
        "Always where the model leaves something out (cables, drives, friction): the residual shows it.",
        "the Jaco2 paper, column CAD.",
    ),
    "Uls": Told(
        "min |W beta - y|^2",
        "`ols` under the paper's name.",
        "As `ols`.",
        "As `ols`.",
        "the Jaco2 paper, eq. 8.",
    ),
    "BoundedNearest": Told(
        "min |T chi - beta_uls|^2   with every standard parameter within bounds around the prior",
        "A quadratic programme; where several chi are equally near, a pull that hardly weighs takes the one closest to the prior.",
        "Bounds around the prior hold the true values.",
        "Nearness is meant in SI numbers, whatever the data determine; no link is asked to be possible.",
        "the Jaco2 paper, CLS-1.",
    ),
    "FeasibleBounded": Told(
        "min |W chi - y|^2 + a small pull   with M > 0, inertia about the centre > 0, masses and first moments within bounds",
        "Interior point on the cone with a certificate of how near the optimum is.",
        "Bounds around the prior hold the true values; joints weigh alike as in `ols`.",
        "Positive inertia alone allows bodies without a mass density (triangle inequality); bounds that are wrong pull everything else.",
        "the Jaco2 paper, CLS-2, eqs. 3 and 5.",
    ),
    "ConsistentInside": Told(
        "min |W chi - y|^2 + a small pull   over bodies that can exist, centre and mass inside ellipsoids",
        "Interior point on the cone with a certificate; ellipsoids from prior and kinematics (`link_ellipsoids`).",
        "Ellipsoids around the prior's centres hold the true ones; joints weigh alike as in `ols`.",
        "Ellipsoids that are too small pull everything else; noise in the motion biases as in `ols`.",
        "the Jaco2 paper, CLS-3, eqs. 4 and 6.",
    ),
    "Iv": Told(
        "Z' Sigma^-1 (y - W beta) = 0,   Z = W(q_s, dq_s, ddq_s) of the motion simulated with beta",
        "Simulate the loop with the estimate, build the instruments Z, solve, repeat until residual and parameters stand still; what the "
        "filter does to the simulated motion is taken out of W. `pc-iv`: the nearest point in the metric of the instruments whose links could exist.",
        f"{LOOP} Noise of the positions independent of the simulated motion.",
        "Position noise so high that W holds little else; a simulated loop far from the real one makes the instruments weak (large standard "
        "deviations) rather than the answer wrong.",
        f"{SURVEY} 4.1, eqs. 32-35.",
    ),
    "Didim": Told(
        "beta_{i+1} = argmin |y - W(q_s, dq_s, ddq_s) beta|^2_{Sigma^-1},   simulated with beta_i",
        "Simulate the loop with the current estimate, fit the measured torque with the regressor of the simulated motion, repeat; two to five "
        "times in the table below. `pc-didim` with links that could exist in every step.",
        f"{LOOP} Friction is near the modelled law.",
        "A simulated loop with less than about a third of the real bandwidth; stick-slip that the law does not have; a start at which the "
        "simulated robot falls out of its loop.",
        f"the DIDIM paper; {SURVEY} 5.3, eqs. 45-46.",
    ),
    "Clie": Told(
        "min sum_j |tau_j - tau_s,j(beta)|^2 / sigma_j^2",
        "Nonlinear least squares (Levenberg-Marquardt, or another optimiser) with b + 1 closed-loop simulations per Jacobian, all lanes of "
        "one batch, or exact tangents.",
        LOOP,
        "Local minima from far starts: begin at the prior or at `didim`; some ten times slower than `didim` at the same accuracy.",
        f"{SURVEY} 5.2, eqs. 42-44.",
    ),
    "Cloe": Told(
        "min sum |q - q_s(beta)|^2   (velocity, both, or the tool's position if asked)",
        "As `clie`, on positions.",
        LOOP,
        "A good controller hides the parameters from the position: flat criterion, slow convergence, wide intervals; local minima from far "
        "starts.",
        f"{SURVEY} 5.1, eqs. 37-41.",
    ),
    "Oloe": Told(
        "min sum |q - q_s(beta)|^2   with q_s driven by the measured torque, anew from the measured state every `horizon` seconds",
        "As `cloe`, on short stretches without the controller.",
        "Little noise in the measured state, from which every stretch starts; torque held as recorded.",
        "A robot without its controller is a double integrator: noise of the start grows with time, so that the error goes from 0.3 % to "
        "more than 80 % over the survey's noise (picture). Prefer `cloe`.",
        f"{SURVEY} 5.1 names it.",
    ),
    "AdaNN": Told(
        "min |W beta - y|^2, approached by beta_k = beta_{k-1} + eta Y_k' (tau_k - Y_k beta_{k-1})",
        "Steepest descent from the prior, one random sample a step or all rows; the normalised rule takes the best step along the gradient.",
        "As `ols`; well-conditioned motion.",
        "Along weak directions the error shrinks with the square of a small singular value; the stochastic form ends on the noise of its "
        "last samples; no covariance.",
        f"{SURVEY} 6.2 and 9.3.7, eq. 50.",
    ),
    "Htrnn": Told(
        "min |W s - y|^2 / 2   inside |s| < alpha",
        "u <- u + eta (Psi s - kappa), s = alpha tanh(u / theta), Psi = -W'W, kappa = -W'y, from the prior.",
        "As `ols`; parameters inside the range alpha; well-conditioned motion.",
        "As every steepest descent on poorly conditioned motion; a parameter outside the range is held at alpha, which the estimate says.",
        f"{SURVEY} 6.3 and 9.3.8, eqs. 52-55 (corrected).",
    ),
    "Rls": Told(
        "min sum_k factor^(N-k) |W_k beta - y_k|^2   at every sample N",
        "Rows go into a triangular factor one after the other by Givens rotations; with `directional` forgetting only what a new row brings "
        "something about is forgotten. `pc-rls` asks for possible links when the estimate is read.",
        f"{NOISE_IN_W} Online: what is known in time (causal filters).",
        "Noise in W biases as in `ols`; exponential forgetting loses what the motion stops exciting; directional forgetting follows slowly.",
        "Cao and Schwartz 2000 (directional forgetting); else textbook.",
    ),
    "Rwls": Told(
        "min sum_j |W_j beta - y_j|^2 factor^(N-k) / sigma_j^2   at every sample N",
        "Every joint keeps a factor of its own rows; they are weighed and brought together when the estimate is asked for.",
        f"{NOISE_IN_W} Online: what is known in time (causal filters).",
        "As `rls`; weights of a joint with few rows are rough.",
        "Cao and Schwartz 2000 (directional forgetting); else textbook.",
    ),
    "JointFilter": Told(
        "posterior of z = (dq, q, beta):   dq' = dq + int M^-1 (tau - h) dt + v,   q' = q + int dq dt + v,   beta' = beta + v,   y = q + w",
        "`ekf` with exact Jacobians of the transition, `ukf` and `cdkf` with sigma points, `sr` in square-root form; driven by the measured "
        "torque, positions as recorded. `pc-ekf` keeps every link possible.",
        "Noise white and as large as stated (or found by `tune`); starting values with their spread; friction smooth at the scale of a sample.",
        "Variances far off; sharp friction moves the estimate at reversals; at low rates one step per sample is coarse; at the survey's "
        "highest noise the filters end 34 to 48 % off on the TX40, and their intervals do not say so.",
        f"{SURVEY} 6.1 and 9.3.6.",
    ),
    "ComputedTorqueFilter": Told(
        "the same posterior, with tau computed by the simulated controller from reference and state",
        "As the joint filters, with the control law inside the transition at its own rate; noise that the controller feeds back and friction "
        "jumps at reversals are noise of their own.",
        f"{LOOP} Starting values with their spread.",
        "A good loop hides the parameters from the position: at the survey's higher noise the estimate stays near its start (8 to 14 % off), and "
        "only possible links (`pc-ekf-ct`) hold it.",
        f"{SURVEY} 6.1.",
    ),
    "ParticleFilter": Told(
        "the same posterior as of the joint filters, as weighted particles",
        "Optimal proposal, systematic resampling, kernels that keep mean and covariance; Rao-Blackwellised by default: a Gaussian around each "
        "particle carries most of the uncertainty.",
        "As the joint filters.",
        "Dozens of parameters are many dimensions: without the Gaussians expect little; with them it is as good as `ekf` and slower.",
        f"{SURVEY} 6.1; Arulampalam et al. 2002; Liu and West 2001.",
    ),
    "ComputedTorqueParticles": Told(
        "the same, with tau computed by the simulated controller",
        "As `pf`, with the control law inside the transition.",
        f"{LOOP} Starting values with their spread.",
        "As the `-ct` filters: at higher noise it stays near its start.",
        f"{SURVEY} 6.1; Arulampalam et al. 2002; Liu and West 2001.",
    ),
    "DualEkf": Told(
        "x' = f(x, beta) + v, y = H x + w   beside   beta' = beta + v, y = H x(beta) + w",
        "Two extended filters side by side; the state follows corrected parameters by dx / dbeta.",
        "As the joint filters; parameters that do not move.",
        "How errors of state and parameters go together is kept only in part. As for `ekf`, intervals are too narrow at the survey's higher "
        "noise (half of them hold the true value).",
        f"{SURVEY} 6.1.",
    ),
    "IdimEkf": Told(
        "beta' = beta + v,   tau = Y(q, dq, ddq) beta + w",
        "A Kalman filter of the parameters alone; without their noise it is recursive weighted least squares with a prior.",
        NOISE_IN_W,
        "Positions without a filter, as in the picture: noise in the regressor biases it more than any other filter here, and its intervals "
        "do not hold that.",
        f"{SURVEY} 6.1.",
    ),
    "Frisch": Told(
        "min |W beta - y| + |beta|   over l <= beta <= u, the box of the Frisch scheme",
        "p + 1 fits, each with all noise in one variable, give the vertices; `bbrf` intersects the boxes of windows of rows; then a convex "
        "programme inside.",
        "Independent noise of unknown size on the torque and on every column.",
        "Columns of one noisy motion do not err independently: the box hardly ever holds the true values, and the point is worse than least "
        "squares. Units matter.",
        "the Frisch paper, sections 2.3, 3.3 and 3.4, eq. 24.",
    ),
}
