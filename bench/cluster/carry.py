"""Inside of `meantime cluster 2`: so many megabytes by TCP from one node to the other, by plain sockets."""
import socket
import subprocess
import sys
import time
from pathlib import Path

SHELL = Path(__file__).with_name("node-shell")
PORT, PIECE = 7000, 1 << 20


def receive(_megabytes):
    with socket.create_server(("10.0.0.2", PORT)) as server:
        peer, _ = server.accept()
        buffer = bytearray(PIECE)
        while peer.recv_into(buffer):
            pass


def send(megabytes):
    end = time.monotonic() + 10
    while True:
        try:
            peer = socket.create_connection(("10.0.0.2", PORT))
            break
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
    for _ in range(megabytes):
        peer.sendall(bytes(PIECE))


def main():
    if len(sys.argv) == 3:
        {"send": send, "receive": receive}[sys.argv[1]](int(sys.argv[2]))
        return
    parts = [subprocess.Popen([SHELL, address, sys.executable, __file__, part, sys.argv[1]])
             for address, part in (("10.0.0.2", "receive"), ("10.0.0.1", "send"))]
    sys.exit(max(abs(part.wait()) for part in parts))


if __name__ == "__main__":
    main()
