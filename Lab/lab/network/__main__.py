"""Scripts/netlab."""

from lab.common.trouble import main
from lab.network.netlab import run

if __name__ == "__main__":
    main(run)
