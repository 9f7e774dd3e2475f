import numpy as np


def autoregressive(phi, samples, rng, mean=1000.0, noise=10.0):
    """A first-order autoregressive series, after its initial transient."""
    shocks = rng.standard_normal(samples + 200)
    values = np.zeros(samples + 200)
    for index in range(1, len(values)):
        values[index] = phi * values[index - 1] + shocks[index]
    return mean + noise * values[200:]
