"""The report of a run: a dict that shows itself."""

import html
from typing import Any, Dict, Union
import os


class Report(Dict[str, Any]):
    """The JSON report of a session (``executor/report/README.md`` names its fields), and its table."""

    def __init__(self, fields: Dict[str, Any], table: str) -> None:
        super().__init__(fields)
        self.table = table

    def __str__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return _busy_table(self) + f"<pre>{html.escape(self.table)}</pre>"

    def html(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a page with the table and a bar of each processor's time."""
        title = html.escape(f"{self['model']}: {self['strategy']}")
        page = (
            f"<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>{title}</title></head>\n"
            f"<body style='font-family: sans-serif'><h1>{title}</h1>\n{self._repr_html_()}\n</body></html>\n"
        )
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)


def _busy_table(report: Dict[str, Any]) -> str:
    seconds = report.get("seconds") or 0
    rows = []
    for processor in report.get("processors", []):
        busy = sum(processor["busySeconds"].values())
        share = 100 * busy / seconds if seconds else 0
        memory = processor["memory"]
        full = 100 * memory["peak"] / memory["capacity"] if memory["capacity"] else 0
        rows.append(
            f"<tr><td>ipu {processor['processor']}</td><td>{_bar(share)}</td><td>{share:.0f} % busy</td>"
            f"<td>{_bar(full)}</td><td>{full:.0f} % of memory</td></tr>"
        )
    return f"<table>{''.join(rows)}</table>"


def _bar(percent: float) -> str:
    width = max(0.0, min(100.0, percent))
    return (
        "<div style='width:12em;background:#eee'>"
        f"<div style='width:{width:.1f}%;background:#4a7;height:1em'></div></div>"
    )
