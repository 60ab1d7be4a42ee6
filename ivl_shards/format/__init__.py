"""What a dataset file is: fields, samples and memory; how files are written, checked and read.

The only package that knows h5py.
"""
