"""scikit-learn's checks of the transformers that prepare tables."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowland import TablePreparer
from lowland.prepare.em_imputer import EMImputer


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # its tables are small and often degenerate
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([TablePreparer(), TablePreparer(impute=None, standardize=False), EMImputer()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
