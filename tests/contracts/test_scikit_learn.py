"""scikit-learn's estimator checks for every method of the registry."""

import pytest
import scipy
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from lowland.methods.base.traits import traits_of

from .battery import METHODS, load_method

# Checks that our methods fail intentionally, each with its reason.
EXPECTED_FAILURES = {
    "check_array_api_same_namespace": "a model fitted on one array library or device transforms arrays of any other: "
    "it may be fitted on a GPU and used on a laptop",
}

# They dispatch arrays, which needs scipy 1.14, or subtract a fraction from integers in place.
NEWER = ("check_array_api_input", "check_positive_only_tag_during_fit")
ESTIMATORS = [cls(**traits_of(cls).quick) for cls in map(load_method, METHODS)]


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # its tables are small and often degenerate
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda est: EXPECTED_FAILURES)
def test_scikit_learn_contract(estimator, check):
    if "cuda" in str(getattr(check, "keywords", "")) and not torch_sees_a_gpu():
        pytest.skip("no GPU: scikit-learn itself only asks whether torch was built for one")
    if parse_version(scipy.__version__) < parse_version("1.14") and check.func.__name__ in NEWER:
        pytest.skip("scikit-learn's check needs a newer scipy or a newer scikit-learn")
    check(estimator)


def torch_sees_a_gpu():
    import torch

    return torch.cuda.is_available()
