"""Message groups and segmentation."""
