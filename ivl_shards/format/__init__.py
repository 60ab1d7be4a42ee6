"""The file format: fields, samples and memory; writing, checking and reading files.

This is the only package that imports h5py.
"""
