"""How datasets are generated: recipes, random numbers, shards, local processes and Dask."""
