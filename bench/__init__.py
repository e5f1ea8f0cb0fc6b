"""The figures we hold ourselves to, each measured beside a reference on the same machine: `make bench`."""
