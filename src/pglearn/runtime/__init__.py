"""What every room may use of the machine: threads, Ctrl-C, the progress bar."""
