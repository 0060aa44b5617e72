"""Tables in: files to data frames (`read`), data frames to numbers (`encode`).

Nothing is imported here: a fit needs `pglearn.tables.scaling` and none of the rest.
"""
