"""The benchmark: does a model trained on short visual sequences work on long ones?

    ivl-bench run --model inductive

This is the only package that needs torch.
"""
