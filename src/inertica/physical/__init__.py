"""What is physically possible: pseudo-inertia, matrix inequalities, priors, conic and log-det solvers, checks and repair."""
