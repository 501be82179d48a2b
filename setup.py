"""The packages, one of which pyproject.toml cannot say: the folder `configs/`, installed inside of ours."""

from tempfile import TemporaryDirectory

from setuptools import find_packages, setup

# A folder `build/` that stays in the clone would add files that were deleted since to the next installation.
with TemporaryDirectory() as build:
    setup(
        packages=[*find_packages(include=["transformer_mt*"]), "transformer_mt.configs"],
        package_dir={"transformer_mt.configs": "configs"},
        options={"build": {"build_base": build}},
    )
