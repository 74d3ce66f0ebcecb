"""The files of this project: paths, data of tests, and the imports of its modules."""
