"""Tables in: files to data frames (`read`), data frames to numbers (`encode`).

Nothing is imported here, so that `pglearn.tables.scaling`, which needs only numpy, stays cheap to import.
"""
