"""How a file is read: what its format does not say by itself."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields

from lowland.errors import ParameterError

OF_TEXT = ("separator", "decimal", "thousands", "encoding", "header")  # options of .csv and .tsv files
OF_SHEETS = ("sheet", "header", "missing", "decimal", "thousands")  # options of .xlsx and .ods files


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading a file; None means that it is detected."""

    separator: str | None = None  # between the cells of a line
    decimal: str | None = None  # "." or ","
    thousands: str | None = None  # between groups of three digits; "" for none
    encoding: str | None = None  # such as "utf-8", "cp1252" or "utf-16"
    header: bool | None = None  # whether the first line contains column names
    missing: tuple[str, ...] = ()  # marks of missing values, beside the usual ones such as NA
    array: str | None = None  # the array of a .npz file, or the part of a .h5ad file: X, layers/NAME or obsm/NAME
    sheet: str | None = None  # the sheet of a spreadsheet

    def __post_init__(self) -> None:
        if isinstance(self.missing, str):
            object.__setattr__(self, "missing", (self.missing,))
        object.__setattr__(self, "missing", tuple(self.missing))
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError as error:
                raise ParameterError(
                    f"`encoding={self.encoding!r}`: unknown encoding. Choose one such as 'utf-8', 'cp1252' or 'utf-16'."
                ) from error
        if self.separator is not None and (len(self.separator) != 1 or not self.separator.isascii()):
            raise ParameterError(
                f"`separator={self.separator!r}` must be one character, such as ';'. Write '\\t' for a tab."
            )
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"`decimal={self.decimal!r}` must be '.' or ','.")
        if self.thousands is not None and (len(self.thousands) > 1 or self.thousands.isalnum()):
            raise ParameterError(f"`thousands={self.thousands!r}` must be one character, such as ',', or '' for none.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise ParameterError(f"`decimal` and `thousands` are both {self.decimal!r}. Choose different characters.")
        if self.separator is not None and self.separator == self.decimal:
            raise ParameterError(f"`separator` and `decimal` are both {self.decimal!r}. Choose different characters.")

    def given(self) -> list[str]:
        """Return the names of the options that were set."""
        return [f.name for f in fields(self) if getattr(self, f.name) != f.default]

    def refuse_others(self, allowed: tuple[str, ...], what: str) -> None:
        """Raise an error for an option that does not apply to the format."""
        for name in self.given():
            if name not in allowed:
                whose = {"array": ".npz and .h5ad files", "sheet": ".xlsx and .ods files"}.get(name, "text")
                files = "the path of a .csv or .tsv file" if whose == "text" else whose
                raise ParameterError(f"`{name}` applies only to {files}, not to {what}. Omit it.")
