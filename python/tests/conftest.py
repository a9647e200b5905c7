"""Settings are process-wide: every test starts from the initial ones and leaves them behind."""

import os

import hypothesis
import pytest

import allotrope as al

# A slow machine is not a failure, and CI must not depend on luck.
hypothesis.settings.register_profile(
    "allotrope", deadline=None, derandomize="CI" in os.environ, print_blob=True
)
hypothesis.settings.load_profile("allotrope")


@pytest.fixture(autouse=True)
def initial_settings():
    yield
    al.set_promotion("standard")
    al.set_default_dtype("float32")
    al.set_inference(float64="keep")
