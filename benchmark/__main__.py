"""Run `ivl-bench` as `python -m benchmark`, where scripts are not on the PATH."""

from benchmark.cli import main

main()
