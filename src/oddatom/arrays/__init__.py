"""What every other package builds on: threads, ordered sums, memory limits, quantiles, rows on a torch device."""
