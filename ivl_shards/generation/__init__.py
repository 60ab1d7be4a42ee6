"""Generation of datasets: recipes, random numbers, shards, local processes and Dask."""
