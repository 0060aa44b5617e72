"""A package, so that `from tests import oracle` means this folder whatever else is installed."""
