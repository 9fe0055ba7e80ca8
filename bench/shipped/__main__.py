"""What `meantime bench` runs: this folder, with the installation's prefix and the command's words."""
import os
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)
from shipped import command  # noqa: E402

try:
    try:
        status = command.main(Path(sys.argv[1]), sys.argv[2:])
    finally:
        sys.stdout.flush()
except BrokenPipeError:  # meantime bench | head
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left in the buffer
    status = 141
sys.exit(status)
