"""No name hides another."""

import importlib
import pkgutil

import longrank


def test_no_function_or_class_hides_a_module_of_its_own_package():
    walked = pkgutil.walk_packages(longrank.__path__, "longrank.")
    for name in ["longrank", *(each.name for each in walked if each.ispkg)]:
        package = importlib.import_module(name)
        modules = [each.name for each in pkgutil.iter_modules(package.__path__)]
        for module in modules:
            importlib.import_module(f"{name}.{module}")
        assert [each for each in modules if callable(getattr(package, each))] == [], name
