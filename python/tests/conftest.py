"""Settings are process-wide: every test starts from the initial ones and leaves them behind."""

import pytest

import allotrope as al


@pytest.fixture(autouse=True)
def initial_settings():
    yield
    al.set_promotion("standard")
    al.set_default_dtype("float32")
    al.set_inference(float64="keep")
