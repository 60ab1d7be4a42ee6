"""The commands of `ivl-bench`, a module for each; cli.py puts them together."""
