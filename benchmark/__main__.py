"""`python -m benchmark`, which is what torchrun can start."""

from benchmark.cli import main

main()
