"""Inspection of datasets: info, verify, previews, dataset card, Croissant metadata."""
