"""An MPI program in Python without mpi4py: rank 1 waits for what nobody sends, or nobody does."""
import ctypes
import os
import sys
import time

mpi = ctypes.CDLL(os.environ["LIBRARY"], mode=ctypes.RTLD_GLOBAL)
WORLD, INT = ctypes.c_void_p(0x101), ctypes.c_void_p(0x209)


def rank():
    number = ctypes.c_int()
    mpi.MPI_Comm_rank(WORLD, ctypes.byref(number))
    return number.value


def receive():
    value = ctypes.c_int()
    mpi.MPI_Recv(ctypes.byref(value), 1, INT, 0, 7, WORLD, None)  # waits here


def send():
    time.sleep(0.1)
    value = ctypes.c_int()
    mpi.MPI_Send(ctypes.byref(value), 1, INT, 1, 7, WORLD)


mpi.MPI_Init(None, None)
print("begins")
if sys.argv[1] == "slow":
    for _ in range(3):
        if rank() == 1:
            receive()
        elif rank() == 0:
            send()
elif rank() == 1:
    receive()
elif sys.argv[1] == "late":
    time.sleep(60)
mpi.MPI_Barrier(WORLD)  # or here
mpi.MPI_Finalize()
