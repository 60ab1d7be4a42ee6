"""From a model to scores: the inductive loop, decoding of texts, metrics."""
