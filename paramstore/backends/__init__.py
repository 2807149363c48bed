"""Where kernels come from. Importing a backend registers its kernels."""
