"""Seeing what dtypes do: audits and explanations, and how tensors, dtypes, models and reports look
in a notebook.

| file | what is in it |
|---|---|
| `measure` | how large numbers are, how far apart, and what a dtype makes of them |
| `audit` | `al.audit`: a model in one dtype beside the same model in a wider one |
| `findings` | what an audit found: its rows, table and JSON |
| `advice` | which dtype a layer should have, and `apply_audit` |
| `explain` | `al.explain`: what every operation of a call did |
| `html` | `_repr_html_` of reports, tensors, dtypes and models |
| `picture` | pictures as SVG |
"""
