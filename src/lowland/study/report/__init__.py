"""The report of a study: one page that opens by a double click, without a network."""

from lowland.study.report.page import check_name, report_html, write_report

__all__ = ["check_name", "report_html", "write_report"]
