"""The report of a study: one HTML file that works offline."""

from lowland.study.report.page import check_name, report_html, write_report

__all__ = ["check_name", "report_html", "write_report"]
