"""Runs Scripts/netlab."""

import sys

from lab.network import netlab

if __name__ == "__main__":
    try:
        sys.exit(netlab.run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if not getattr(error, "is_for_people", False):
            raise
        sys.exit(str(error))
