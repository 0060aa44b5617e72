"""Learned graphs that answer together: labels of all rows, new rows, class shares, suggestions."""
