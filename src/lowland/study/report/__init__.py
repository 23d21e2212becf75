"""The report of a study: one page that opens by a double click, without a network."""

from lowland.study.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
