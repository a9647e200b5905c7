"""Which distributions are compared with recorded answers: parameters of single distributions, and values to
ask for. `record_answers.py` asks scipy and torch for them."""

# Class: settings, and the values at which densities are asked for.
UNIVARIATE = {
    "Normal": ([{"loc": 0.0, "scale": 1.0}, {"loc": -3.0, "scale": 0.2}], [-9.0, -3.1, 0.0, 0.3, 8.5]),
    "LogNormal": ([{"loc": 0.0, "scale": 1.0}, {"loc": 1.5, "scale": 0.25}], [1e-3, 0.5, 1.0, 4.0, 60.0]),
    "HalfNormal": ([{"scale": 1.0}, {"scale": 0.3}], [0.0, 0.1, 1.0, 4.0]),
    "Laplace": ([{"loc": 0.0, "scale": 1.0}, {"loc": 2.0, "scale": 0.3}], [-30.0, -1.0, 0.0, 2.0, 5.0]),
    "Cauchy": ([{"loc": 0.0, "scale": 1.0}, {"loc": 2.0, "scale": 0.3}], [-1e6, -1.0, 0.0, 2.0, 500.0]),
    "HalfCauchy": ([{"scale": 1.0}, {"scale": 0.3}], [0.0, 0.5, 2.0, 500.0]),
    "Gumbel": ([{"loc": 0.0, "scale": 1.0}, {"loc": 2.0, "scale": 0.3}], [-2.0, 0.0, 2.0, 7.0]),
    "Uniform": ([{"low": -1.0, "high": 3.0}, {"low": 0.0, "high": 0.5}], [0.0, 0.1, 0.4, 0.5]),
    "Pareto": ([{"scale": 1.0, "alpha": 3.0}, {"scale": 0.5, "alpha": 1.5}], [1.0, 1.5, 30.0]),
    "Weibull": ([{"scale": 1.0, "concentration": 0.7}, {"scale": 3.0, "concentration": 20.0}], [0.1, 1.0, 2.9, 3.2]),
    "Gamma": (
        [{"concentration": 0.2, "rate": 1.0}, {"concentration": 3.5, "rate": 0.5}, {"concentration": 400.0, "rate": 20.0}],
        [1e-3, 0.7, 6.0, 21.0, 80.0],
    ),
    "Chi2": ([{"df": 1.0}, {"df": 7.5}], [0.1, 1.0, 9.0, 40.0]),
    "Exponential": ([{"rate": 1.0}, {"rate": 12.0}], [0.0, 1e-3, 0.5, 20.0]),
    "Beta": (
        [{"concentration1": 0.5, "concentration0": 0.3}, {"concentration1": 2.0, "concentration0": 9.0},
         {"concentration1": 300.0, "concentration0": 200.0}],
        [0.01, 0.3, 0.6, 0.99],
    ),
    "StudentT": (
        [{"df": 0.7, "loc": 0.0, "scale": 1.0}, {"df": 5.0, "loc": 1.0, "scale": 0.5}, {"df": 1e6, "loc": 0.0, "scale": 2.0}],
        [-12.0, -1.0, 0.0, 1.0, 3.0],
    ),
    "FisherSnedecor": ([{"df1": 2.0, "df2": 3.0}, {"df1": 7.5, "df2": 12.0}], [0.05, 0.9, 1.5, 11.0]),
    "VonMises": ([{"loc": 0.5, "concentration": 0.01}, {"loc": -1.0, "concentration": 5.0}, {"loc": 0.0, "concentration": 900.0}], [-3.0, -1.0, 0.0, 0.1]),
    "ContinuousBernoulli": ([{"probs": 0.49}, {"probs": 0.5}, {"probs": 0.2}, {"probs": 0.999}], [0.0, 0.2, 0.7, 1.0]),
    "Kumaraswamy": (
        [{"concentration1": 2.0, "concentration0": 5.0}, {"concentration1": 0.5, "concentration0": 0.7}],
        [0.01, 0.3, 0.9],
    ),
    "Bernoulli": ([{"probs": 0.3}, {"probs": 0.97}], [0.0, 1.0]),
    "Geometric": ([{"probs": 0.3}, {"probs": 0.01}], [0.0, 1.0, 17.0, 400.0]),
    "Binomial": ([{"total_count": 12, "probs": 0.3}, {"total_count": 4000, "probs": 0.002}], [0.0, 1.0, 7.0, 12.0]),
    "NegativeBinomial": ([{"total_count": 3.0, "probs": 0.3}, {"total_count": 0.5, "probs": 0.95}], [0.0, 1.0, 9.0, 60.0]),
    "Poisson": ([{"rate": 0.3}, {"rate": 40.0}, {"rate": 1e4}], [0.0, 3.0, 45.0, 9900.0]),
}  # fmt: skip

# The same of vectors.
MULTIVARIATE = {
    "Dirichlet": ([{"concentration": [0.5, 2.0, 3.5]}], [[0.2, 0.3, 0.5], [0.01, 0.01, 0.98]]),
    "Multinomial": ([{"total_count": 6, "probs": [0.2, 0.3, 0.5]}], [[1, 2, 3], [6, 0, 0]]),
    "MultivariateNormal": (
        [{"loc": [1.0, -1.0, 0.5], "covariance_matrix": [[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.7]]}],
        [[1.0, -1.0, 0.5], [0.0, 2.0, 3.0]],
    ),
    "LowRankMultivariateNormal": (
        [{"loc": [1.0, -1.0, 0.5], "cov_factor": [[1.0], [2.0], [-0.5]], "cov_diag": [0.5, 1.0, 2.0]}],
        [[1.0, -1.0, 0.5], [0.0, 2.0, 3.0]],
    ),
}

# What torch alone has: densities at values.
OTHERS = {
    "LogitRelaxedBernoulli": ([{"temperature": 0.7, "probs": 0.3}], [-2.0, 0.0, 3.0]),
    "RelaxedBernoulli": ([{"temperature": 0.7, "probs": 0.3}], [0.1, 0.5, 0.9]),
    "ExpRelaxedCategorical": ([{"temperature": 0.7, "probs": [0.2, 0.3, 0.5]}], [[-1.6094379124341003, -1.2039728043259361, -0.6931471805599453]]),
    "RelaxedOneHotCategorical": ([{"temperature": 0.7, "probs": [0.2, 0.3, 0.5]}], [[0.3, 0.3, 0.4]]),
    "Categorical": ([{"probs": [1.0, 2.0, 5.0]}, {"logits": [-1.0, 0.5, 3.0]}], [0, 1, 2]),
    "OneHotCategorical": ([{"probs": [1.0, 2.0, 5.0]}], [[0.0, 1.0, 0.0]]),
}

# Pairs of which the divergence is asked for, both ways where there is a rule.
DIVERGENCES = [
    ("Normal", {"loc": 0.0, "scale": 1.0}, "Normal", {"loc": 1.5, "scale": 0.3}),
    ("LogNormal", {"loc": 0.0, "scale": 1.0}, "LogNormal", {"loc": 1.5, "scale": 0.3}),
    ("HalfNormal", {"scale": 1.0}, "HalfNormal", {"scale": 0.3}),
    ("Laplace", {"loc": 0.0, "scale": 1.0}, "Laplace", {"loc": 1.5, "scale": 0.3}),
    ("Cauchy", {"loc": 0.0, "scale": 1.0}, "Cauchy", {"loc": 1.5, "scale": 0.3}),
    ("Gumbel", {"loc": 0.0, "scale": 1.0}, "Gumbel", {"loc": 1.5, "scale": 0.7}),
    ("Exponential", {"rate": 2.0}, "Exponential", {"rate": 0.3}),
    ("Exponential", {"rate": 2.0}, "Gamma", {"concentration": 2.0, "rate": 0.3}),
    ("Gamma", {"concentration": 2.0, "rate": 0.3}, "Exponential", {"rate": 2.0}),
    ("Gamma", {"concentration": 2.0, "rate": 0.3}, "Gamma", {"concentration": 0.4, "rate": 1.3}),
    ("Chi2", {"df": 3.0}, "Gamma", {"concentration": 2.0, "rate": 0.3}),
    ("Beta", {"concentration1": 2.0, "concentration0": 0.3}, "Beta", {"concentration1": 0.7, "concentration0": 4.0}),
    ("Dirichlet", {"concentration": [0.5, 2.0, 3.5]}, "Dirichlet", {"concentration": [1.5, 0.2, 3.0]}),
    ("Bernoulli", {"probs": 0.3}, "Bernoulli", {"probs": 0.9}),
    ("Bernoulli", {"probs": 0.0}, "Bernoulli", {"probs": 0.9}),
    ("Bernoulli", {"probs": 0.3}, "Bernoulli", {"probs": 0.0}),
    ("Binomial", {"total_count": 5, "probs": 0.3}, "Binomial", {"total_count": 5, "probs": 0.9}),
    ("Geometric", {"probs": 0.3}, "Geometric", {"probs": 0.9}),
    ("Poisson", {"rate": 3.0}, "Poisson", {"rate": 0.4}),
    ("ContinuousBernoulli", {"probs": 0.3}, "ContinuousBernoulli", {"probs": 0.9}),
    ("Categorical", {"probs": [0.2, 0.3, 0.5]}, "Categorical", {"probs": [0.6, 0.3, 0.1]}),
    ("Categorical", {"probs": [0.2, 0.3, 0.5]}, "Categorical", {"probs": [0.6, 0.4, 0.0]}),
    ("OneHotCategorical", {"probs": [0.2, 0.3, 0.5]}, "OneHotCategorical", {"probs": [0.6, 0.3, 0.1]}),
    ("Uniform", {"low": 0.0, "high": 1.0}, "Uniform", {"low": -1.0, "high": 2.0}),
    ("Uniform", {"low": 0.0, "high": 1.0}, "Uniform", {"low": 0.5, "high": 2.0}),
    ("Uniform", {"low": 0.0, "high": 1.0}, "Normal", {"loc": 1.0, "scale": 0.6}),
    ("Laplace", {"loc": 0.0, "scale": 1.0}, "Normal", {"loc": 1.0, "scale": 0.6}),
    ("Pareto", {"scale": 1.0, "alpha": 2.0}, "Pareto", {"scale": 0.5, "alpha": 3.0}),
    ("Normal", {"loc": 0.0, "scale": 1.0}, "Gamma", {"concentration": 2.0, "rate": 0.3}),
    ("MultivariateNormal", MULTIVARIATE["MultivariateNormal"][0][0], "MultivariateNormal",
     {"loc": [0.0, 0.0, 0.0], "scale_tril": [[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-1.0, 0.3, 0.7]]}),
    ("LowRankMultivariateNormal", MULTIVARIATE["LowRankMultivariateNormal"][0][0], "MultivariateNormal",
     MULTIVARIATE["MultivariateNormal"][0][0]),
]  # fmt: skip

# Shapes and the shares below, at which the derivative of gamma numbers by the shape is asked for.
SLOPES = [(a, p) for a in (1.0, 1.3, 4.0, 60.0, 5e3, 2e5) for p in (1e-9, 1e-3, 0.2, 0.5, 0.8, 0.999, 1 - 1e-9)]
