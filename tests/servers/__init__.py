"""Real servers for tests and benchmarks, each private to who starts it.

Every one listens on the loopback interface alone, keeps its files in a temporary folder of its own, and ends
with the process that started it, however that ends. Linux only. `system_packages.sh` installs what they need.
"""
