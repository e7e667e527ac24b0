"""`python -m pdoctor_trace VERB ...` is `pdoctor VERB ...`."""

import sys

from pdoctor_trace.command import main

sys.exit(main())
