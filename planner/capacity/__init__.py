"""What is left: node pools, headroom, what still fits, what growth and other changes would bring."""
