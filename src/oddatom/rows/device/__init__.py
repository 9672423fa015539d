"""Rows on a torch device: shards whose passes run there."""
