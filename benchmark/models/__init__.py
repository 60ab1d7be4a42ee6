"""Models: the contract, inductive readers and counters, their end-to-end twins, layers."""
