"""The main job as stages, the record it leaves and what it is worth."""
