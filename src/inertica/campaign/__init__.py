"""Monte Carlo campaigns: a spec becomes units of work, units become rows in a store, rows become tables and pictures."""
