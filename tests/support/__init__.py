"""What several test modules use: small configurations, corpora, models, and a command line to call."""
