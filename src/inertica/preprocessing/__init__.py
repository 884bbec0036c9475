"""From a `Log` to a `Motion`: one clock, filters, derivatives, delay, decimation, periods, every choice in a `Recipe`."""
