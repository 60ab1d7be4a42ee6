"""Citation: the works to name by whoever uses a dataset."""

from ivl_shards.about import About

PAPER = """\
@inproceedings{Gupta18,
  author = {Gupta, Ankush and Vedaldi, Andrea and Zisserman, Andrew},
  title = {Inductive Visual Localisation: Factorised Training for Superior Generalisation},
  booktitle = {British Machine Vision Conference (BMVC)},
  year = {2018}
}"""

_TOOLKIT = """\
@software{ivl,
  title = {{IVL}: datasets and a benchmark for inductive visual localisation}
}"""


def citations(about: About) -> str:
    """BibTeX of the paper, the toolkit, and those whose work is in the dataset."""
    return "\n\n".join([PAPER, _TOOLKIT, *(o.cite for o in about.origins if o.cite)])
