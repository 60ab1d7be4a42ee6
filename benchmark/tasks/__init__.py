"""The tasks, one file for each dataset."""
