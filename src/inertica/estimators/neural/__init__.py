"""Least squares approached step by step: the Adaline neuron and the Hopfield-Tank network."""
