"""Files of a crawl: WARC archives and logs, written safe against a kill, read within bounds.

- ``files``: replace a file whole, lock a folder, open files of others within bounds.
- ``records``: gzip members, JSON lines and TSV logs that grow while a crawl runs.
- ``warc``: a WARC record: its header, its response, the index of its place.
- ``archive``: open archives, list their responses, answer requests from them.
- ``sites``: the WARC files behind a path; the metadata of frozen sites.
- ``writer``: write the exchanges of a crawl as WARC.
"""
