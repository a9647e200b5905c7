"""Distributions and precision plans where the tensors are: nothing comes back to the CPU by itself."""

import pytest
from distributions.cases import MULTIVARIATE, OTHERS, UNIVARIATE
from distributions.test_answers import EXTRA

import allotrope as al
from allotrope import nn

D = al.distributions
DEVICES = [name for name in al.devices() if name != "cpu"]
CASES = [
    pytest.param(name, settings[0], id=name)
    for table in (UNIVARIATE, MULTIVARIATE, OTHERS)
    for name, (settings, _) in table.items()
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name, setting", CASES)
@pytest.mark.filterwarnings("ignore::allotrope.FallbackWarning", "ignore::allotrope.DemotionWarning")
def test_draws_and_densities_are_where_the_parameters_are(device, name, setting):
    kind = EXTRA.get(name) or getattr(D, name)

    def made(place):
        given = {k: v if k == "total_count" else al.tensor(v, device=place) for k, v in setting.items()}
        return kind(**given)

    law, beside = made(device), made("cpu")
    x = law.sample((5,))
    found = law.log_prob(x)
    assert x.device == found.device == device
    assert al.allclose(found.to("cpu"), beside.log_prob(x.to("cpu")), rtol=1e-3, atol=1e-3)
    for what in ("mean", "variance"):
        try:
            assert getattr(law, what).device == device
        except NotImplementedError:
            pass


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.filterwarnings("ignore::allotrope.FallbackWarning")
def test_plans_place_modules(device):
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    plan = al.plan({"*": {"store": "float32", "compute": "float32", "device": device}, "1": {"device": "cpu"}})
    y = plan.apply(model)(al.ones(2, 3))
    assert model[0].weight.device == device and y.device == model[1].weight.device == "cpu"
    y.sum().backward()
    assert model[0].weight.grad.device == device
    # Where the model is moved to is where its modules are from then on.
    assert model.to("cpu")(al.ones(2, 3)).device == "cpu"
    assert model.to(device)(al.ones(2, 3)).device == device
