"""scikit-learn's estimator checks for every method of the registry."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowland.methods.base.traits import traits_of

from .battery import METHODS, load_method

# Checks that our methods fail intentionally, each with its reason.
EXPECTED_FAILURES = {
    "check_array_api_same_namespace": "a model fitted on one array library or device transforms arrays of any other: "
    "it may be fitted on a GPU and used on a laptop",
}

ESTIMATORS = [cls(**traits_of(cls).quick) for cls in map(load_method, METHODS)]


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # its tables are small and often degenerate
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda est: EXPECTED_FAILURES)
def test_scikit_learn_contract(estimator, check):
    if "cuda" in str(getattr(check, "keywords", "")) and not torch_sees_a_gpu():
        pytest.skip("no GPU: scikit-learn itself only asks whether torch was built for one")
    check(estimator)


def torch_sees_a_gpu():
    import torch

    return torch.cuda.is_available()
