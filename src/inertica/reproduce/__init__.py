"""Published studies repeated in simulation, their printed numbers beside ours."""
