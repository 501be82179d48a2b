"""The packages, one of which pyproject.toml cannot say: the folder `configs/`, installed inside of ours."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["transformer_mt*"]), "transformer_mt.configs"],
    package_dir={"transformer_mt.configs": "configs"},
)
