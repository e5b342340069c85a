"""Prints 300 floats and their digests' length; ends with status 7."""
import hashlib
import sys

length = 0
for i in range(300):
    length += len(hashlib.sha256(repr(i / 7).encode()).hexdigest())
print('floats', 300)
print('length', length)
sys.exit(7)
