"""Phrases of Python in messages of the library, and what they become on the command line.

The library does not depend on the command line: its messages name arguments, arrays and functions. Only this table
rewrites them for flags and files. tests/cli/shared/test_phrases.py tries mistakes with every method and fails if a
phrase is missing here.
"""

from __future__ import annotations

import re

_DENSE = "Store the data as a dense table"


def _count(found: re.Match[str]) -> str:
    what, are = {"sample": "row", "feature": "column"}[found[2]], "is" if found[3] == "1" else "are"
    return f"The data has {found[1]} {what}{'s' * (found[1] != '1')}, but at least {found[3]} {are} required"


def _flags(found: re.Match[str]) -> str:
    return found[1].replace(", --", " --")


def _entry(found: re.Match[str]) -> str:
    return f"in row {int(found[1]) + 1}, column {int(found[2]) + 1}"


# In the whole message, in this order. Phrases that scikit-learn's own checks look for come first.
PHRASES = (
    (r": Found array with 0 sample\(s\)(?: while a minimum of \d+ is required)?(?=\.)", ""),
    (r"Found array with (\d+) (sample|feature)\(s\)(?: \([^()]*(?:\([^()]*\))?\))? while a minimum of (\d+) is "
     "required", _count),
    (r" \(n_(?:features|samples)(?:=\d+)?(?:, 1 sample)?\)|n_samples=(?=\d+ rows)", ""),
    (r"(?<=: )n_features=(\d+)", r"the data has \1 columns"),
    (r"(?<=: )n_samples=(\d+)", r"the data has \1 rows"),
    (r"\(could not convert string to float\)", ""),
    (r"\(for instance with lowland\.impute\(X, 'mean'\)\)", "(lowland fit --impute mean, or --drop-missing)"),
    (r"(?<=replace infinity) and impute: lowland\.impute\(.*?'mean'\)",
     " by missing values and impute them (lowland fit --impute mean)"),
    (r"(?<=replace infinity by missing values): np\.where\([^)]*\)[^)]*\)", ""),
    (r"\(lowland\.TablePreparer\)", "(lowland fit --prepare auto)"),
    (r"Expected 2D array, got (\d)D array instead\. Reshape your data: .*?\b(?:single row|into one row)\.",
     r"The file contains a \1D array, not a table. Store it with one line per row and one column per feature."),
    (r"min\(n_features, n_classes - 1\) = min\((\d+), (\d+)\)", r"the number of columns, \1, or of classes - 1, \2"),
    (r"min\(n_samples, n_features\) ?= ?(\d+)", r"\1"),
    (r"(?:-k \d+: )?The number of components, (\d+), must be", r"-k \1: the number of components must be"),
    (r"\bX has (\d+) features, but (\w+) is expecting (\d+) features as input",
     r"FILE has \1 columns, but \2 needs \3"),
    (r"X does not have valid feature names, but (\w+) was fitted with feature names",
     r"FILE has no column names, but \1 was fitted to columns with names."),
    (r"X has feature names, but (\w+) was fitted without feature names",
     r"FILE has column names, but \1 was fitted to columns without names."),
    (r"inverse_transform: X has (\d+) columns", r"FILE has \1 columns"),
    (r"Select the fitted columns by name: X\[model\.feature_names_in_\]", "Select the fitted columns with --columns"),
    (r"[Pp]ass coordinates as transform returns them", "Use coordinates as lowland transform writes them"),
    (r"[Pp]ass what transform returned", "Use what lowland transform wrote"),
    (r"load_dataset\(name=('[^']*')\): unknown name", r"There is no data set \1"),
    (r"(\d+) points span at most (\d+) dimensions, not (\d+)", r"-k \3: \1 points span at most \2 dimensions"),
    (r"(\d+) components were requested, but", r"-k \1:"),
    (r" \(see \w+_\)", ""),
    (r"must be <= n_features\((\d+)\)", r"must be at most the number of columns, \1"),
    (r": Cannot have number of splits n_splits=\d+ greater than the number of samples: n_samples=\d+", ""),
    (r"n_splits=\d+ cannot be greater than the number of members in each class",
     "each class has fewer rows than folds"),
    (r"is not a valid (?:integer range|integer|float range|float)\b", "is not a valid number"),
    (r"(?<= has) dtype object(?=, but)", " text"),
    # arrays
    (r"Pass [XZy]\.toarray\(\)", _DENSE),
    (r"has shape \((\d+), (\d+)\)", r"has \1 rows and \2 columns"),
    (r"has shape \((\d+),\)", r"has length \1"),
    (r"at \[(\d+), (\d+)\](?:, counted from 0)?", _entry),
    (r"[Pp]ass \(([A-Z]) \+ \1\.T\) / 2", "average it with its transpose"),
    (r"call np\.fill_diagonal\(\w, 0\)", "set the diagonal to zero"),
    (r"Pass an inverse VI, such as [\w.]+\([\w.]+\([\w.]+\)\)", "Remove such columns, or choose another metric"),
    (r"or pass the variances V of the columns", "or choose another metric"),
    (r"to be float64|Convert to float64|Pass float64", "Convert to double precision"),
    (r" for an array with shape \([^)]*\) and data type \w+", ""),
    (r"such as \((\d+), (\d+)\)", r"such as \1,\2"),
    (r"drop=\['([^']*)'\]", r"--drop '\1'"),
    (r"\b(?:Input )?sample_weight\b", "--weight"),
    (r"(?<=[Cc]hoose another) workspace", " folder with --workspace"),
    (r"If not, set the kind of the column \(kinds=\{.*?\}\), or use", "If not, use"),
    # functions and objects
    (r",? or (?:pass )?a function\b(?: of [\w ,]+(?<! )| that [\w ]+)?(?=[.,;])", ""),
    (r",? a RandomState,? (?:or )?a Generator| or a covariance_estimator|, a splitter\b[^.]*(?=\.)", ""),
    (r"For other metrics of scikit-learn pass [\w.]+\(X, '[^']*'\) as 'precomputed' distances",
     "For another metric, use a file of distances and the metric 'precomputed'"),
    (r"(?: of|All names are listed by|Choose one of) sklearn\.metrics\.get_scorer_names\(\)",
     " Choose a scorer of scikit-learn, such as accuracy or r2"),
    (r"Pass a fitted method with inverse_transform, such as PCA",
     "Use a model that has one, such as of lowland fit pca"),
    (r"lowland\.quality\.evaluate", "lowland evaluate"),
    (r'lowland\.config\(memory="([^"]+)"\)', r"--memory \1"),
    (r"Iterate over transform_chunks instead", "Write it with lowland transform"),
    (r"lowland\.save writes one", "lowland fit --model writes one. The model comes before the data file"),
    # columns and labels
    (r"open_rows\(file, (--.*?)\)(?=[.,](?: |$))", _flags),
    (r"Name the columns of numbers with columns=…", "Name the columns of numbers with --columns"),
    (r"pass its name as y\b", "name it with --label"),
    (r"\(X\.drop\(columns=\.\.\.\)\), pass the column of class labels as y",
     "(--drop or --columns), name the column of class labels (--label)"),
    (r"whose name contains a comma, pass it as one name: \['(.*)'\]",
     r"""whose name contains a comma, quote it: '"\1"'"""),
    (r"[Cc]all fit\(X, y\) with one (?:label|value) per row|[Pp]ass one label per row(?: as y)?",
     "Name the column of labels with --label"),
    (r"Input y contains", "The column of labels contains"),
    (r"Input X contains", "FILE contains"),
    (r"^sweep (?=')", "--sweep "),
    (r"Pass data\.", "Check the file."),
)  # fmt: skip

# Outside of quotation marks, where names of files and columns stand.
WORDS = (
    (r"\bNone\b", "none"),
    (r"\bTrue\b", "yes"),
    (r"\bFalse\b", "no"),
    (r"\bfloat64\b", "double precision"),
    (r"\bfloat32\b", "single precision"),
    (r"(?<![\w-])X(?![\w'-])", "FILE"),
    (r"(?<![\w-])Z(?![\w'-])", "COORDINATES"),
    (r"(?:(?<=^)|(?<=\. ))y(?= )", "The column of labels"),
    (r"(?<![\w'-])y(?=[ ,.])", "the column of labels"),
    (r"\bPass\b", "Use"),
    (r"\bpass\b", "use"),
)
