"""Algorithm 1 and its steps, written once for every kind of shard."""
