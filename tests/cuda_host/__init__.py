"""A stand-in for a GPU, for tests only: the backend's own kernels and launch code, run by this machine's processor.

It is not a GPU and shows nothing about one: neither speed, nor the memory model, nor the compiler's code. What it shows is that the
sources of the kernels, and all of the Python around them, mean what the CPU's do. Users cannot select it.
"""
