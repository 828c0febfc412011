"""The main program of a helper process; its argument is the file descriptor of its pipe."""

import sys
from multiprocessing.connection import Connection

from bilingual_crawler.pages.sandbox.helper import serve

serve(Connection(int(sys.argv[1])))
