"""Methods that go through the samples once, in the order of time."""
