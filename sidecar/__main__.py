"""`python -m sidecar`: the same command, for whoever knows the interpreter and not the path."""

from sidecar.cli.main import main

if __name__ == "__main__":
    main(prog_name="sidecar")
