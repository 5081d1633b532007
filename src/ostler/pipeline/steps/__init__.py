"""Steps from samples to results: DataFrame in, DataFrame out."""
