"""What is known before any motion: geometry, drives, friction laws, prior values, limits; readers, writers and the catalog."""
