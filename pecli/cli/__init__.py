"""The command line: one module per command, assembled by :mod:`.commands`.

Every command imports what it needs inside its body, so that help, completion
and the listing of encodings load neither NumPy nor h5py nor pyarrow.
"""
