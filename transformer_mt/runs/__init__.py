"""What a run is on disk: its directory, its checkpoints, and how files are written so that they are whole."""
