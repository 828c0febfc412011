"""The style sheet of the HTML report."""

CSS = """
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #17202a; --soft: #5b6673; --line: #e1e5ea;
  --blue: #1f6fc9; --fill: #1f6fc91f; --bar: #2f7fd6; --drop: #c2571a; }
@media (prefers-color-scheme: dark) { :root {
  --page: #12161b; --card: #1b2128; --ink: #e8ecf1; --soft: #9aa6b4; --line: #303942;
  --blue: #6aaef2; --fill: #6aaef224; --bar: #4b93dd; --drop: #e58a4f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 17px; margin: 0 0 4px; }
p { margin: 0 0 12px; }
.soft, .note { color: var(--soft); }
.note { font-size: 13px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 18px 20px; margin-top: 18px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
  margin-top: 22px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.tile b { display: block; font-size: 28px; line-height: 1.15; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
a { color: var(--blue); text-decoration: none; overflow-wrap: anywhere; }
a:hover { text-decoration: underline; }
svg { display: block; width: 100%; height: auto; margin-top: 6px; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .value { fill: var(--ink); font-size: 14px; font-weight: 600; }
svg .grid { stroke: var(--line); }
svg .pace { stroke: var(--soft); stroke-dasharray: 4 5; }
svg .series { fill: none; stroke: var(--blue); stroke-width: 2; stroke-linejoin: round; }
svg .area { fill: var(--fill); }
svg .dot { fill: var(--blue); }
.bars { display: grid; grid-template-columns: minmax(110px, 250px) 64px 1fr; gap: 7px 14px; align-items: center;
  margin: 12px 0 4px; }
.bars .number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { background: var(--bar); height: 16px; border-radius: 0 4px 4px 0; min-width: 2px; }
.bar.drop { background: var(--drop); }
h3 { font-size: 14px; margin: 18px 0 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin-top: 10px; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 500; font-size: 13px; }
th, td { padding: 7px 12px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pairs td:nth-child(1), .pairs td:nth-child(2) { width: 42%; min-width: 220px; }
.left td:nth-child(1), .left td:nth-child(2) { width: 35%; }
.pairs small { display: block; color: var(--soft); overflow-wrap: anywhere; }
.files { list-style: none; margin: 8px 0 0; padding: 0; columns: 2 300px; }
.files li { padding: 2px 0; }
"""
