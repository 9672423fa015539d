"""The untuned detector's parts: draws, histogram, members (centroids, atoms, spread), their values of a row, joining."""
