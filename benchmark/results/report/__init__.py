"""The report: runs, the paper's figures and the inductive loop on one self-contained page."""

from benchmark.results.report.entries import Entry, find_entries
from benchmark.results.report.page import write_page

__all__ = ["Entry", "find_entries", "write_page"]
