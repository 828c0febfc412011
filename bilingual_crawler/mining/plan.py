"""Which pages are read, and which of them together: units that fit into memory, spread over buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
from ibis import _

if TYPE_CHECKING:
    import ibis.expr.types as ir

LARGE = 20_000
"""Pages from which a domain is cut by directories of its keys, which keeps 99.6 % of gold pairs together."""
COLUMNS = ("url", "domain", "language", "file", "offset", "length", "digest", "unit", "bucket")


def plan(pages: ir.Table, domains: ir.Table, buckets: int, large: int = LARGE) -> ir.Table:
    """The *pages* of *domains* that are read, once for each digest, with their ``unit`` and its ``bucket``."""
    wanted = domains.select("domain", language="a").union(domains.select("domain", language="b"))
    read = pages.semi_join(wanted, ("domain", "language")).filter(_.file.notnull())
    read = read.mutate(same=ibis.coalesce(_.digest, _.url))
    copy = ibis.row_number().over(group_by=("domain", "language", "same"), order_by=(_.url.length(), _.url))
    once = read.mutate(copy=copy).filter(_.copy == 0)
    sized = once.mutate(size=_.count().over(group_by="domain"))
    units = sized.mutate(unit=ibis.ifelse(_.size > large, _.of_directory, _.of_domain))
    return units.mutate(bucket=_.unit % buckets).select(*COLUMNS)
