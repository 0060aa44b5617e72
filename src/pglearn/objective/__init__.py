"""What is minimised: labels, views and folds; graph, propagation and loss; and the way back to the weights."""
