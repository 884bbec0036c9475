"""Results for others to use: model files, programs, objects of other libraries."""
