"""The scikit-learn classes, and the files that hold them."""
