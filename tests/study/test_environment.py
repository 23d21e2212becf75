"""Software versions and the machine."""

import lowland
from lowland.study import environment


def test_the_environment_lists_libraries_and_hardware():
    assert environment.versions()["lowland"] == lowland.__version__
    assert {"python", "numpy", "scipy", "sklearn"} < environment.versions().keys()
    assert set(environment.machine()) == {"system", "processor", "cores", "memory"}
    assert all(environment.machine().values())


def test_modified_code_has_its_own_version(monkeypatch):
    environment.code_version.cache_clear()
    monkeypatch.setattr(environment, "__version__", "1.2.3")
    assert environment.code_version() == "1.2.3"
    environment.code_version.cache_clear()
    monkeypatch.setattr(environment, "__version__", "1.3.0.dev0")
    assert environment.code_version().startswith("1.3.0.dev0 ")  # and when a file last changed
    environment.code_version.cache_clear()
