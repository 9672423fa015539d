"""Rows in files or memory maps, read in blocks; shards that spill to scratch files where memory is short."""
