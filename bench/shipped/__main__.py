"""What `meantime bench` runs: this folder, with the installation's prefix and the command's words."""
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)
from shipped import command  # noqa: E402

sys.exit(command.main(Path(sys.argv[1]), sys.argv[2:]))
