"""What test suites written for JAX import from its private modules: samples, comparisons, parameters and the class of its tests."""
