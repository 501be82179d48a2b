"""The whole configuration: its sections with all defaults, and how they are read, changed and written."""
