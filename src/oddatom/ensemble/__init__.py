"""The untuned detector's parts: draws, histogram, members (centroids, atoms, spread), values of a row, joining."""
