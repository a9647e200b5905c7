# Everything a developer runs. `make demo` and `make test` set up all they need in .venv and target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEELS := target/wheels
TABLES := cargo run --quiet --package xtask -- generate

.PHONY: help build demo tour test test-rust test-python test-exhaustive check generate accuracy bench clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(BIN)/maturin:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'maturin>=1.9,<2'

build: $(BIN)/maturin ## build the release wheel and install it, with its test extras, in .venv
	rm -rf $(WHEELS)
	$(BIN)/maturin build --quiet --release --out $(WHEELS)
	$(BIN)/python -m pip install --quiet --no-deps --force-reinstall $(WHEELS)/*.whl
	$(BIN)/python -m pip install --quiet "$$(echo $(WHEELS)/*.whl)[test]"
	@ls -l $(WHEELS)/*.whl | awk '{ printf "%s has %.1f MB (25 at most)\n", $$NF, $$5 / 1e6 }'

demo: build ## train one network in six precisions: a table, and a picture of the curves
	$(BIN)/python examples/demo.py

tour: build ## print the dtype, promotion and device tables, and a few casts
	$(BIN)/python examples/tour.py

test: test-rust test-python ## run all tests but the exhaustive ones

test-rust:
	cargo test --workspace

# The Rust tests visit every SIMD level in one process; here each level is a process of its own.
test-python: build
	$(BIN)/python -m pytest -q -n auto python/tests
	ALLOTROPE_SIMD=scalar $(BIN)/python -m pytest -q -n auto python/tests/test_cast*.py python/tests/structured
	ALLOTROPE_SIMD=avx2 $(BIN)/python -m pytest -q -n auto python/tests/test_cast*.py python/tests/structured

test-exhaustive: ## cast all 2^32 float32 inputs to every narrower float, at every SIMD level (minutes)
	cargo test --release --package allotrope-dtype --test rounding -- --ignored --nocapture

check: ## formatting, lints, documentation, generated files
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --quiet
	$(TABLES) --check

generate: ## write the files that are made from the tables
	$(TABLES)

accuracy: ## measure the greatest error of every float function, and write the page of the book
	cargo run --quiet --package xtask --features accuracy -- generate --accuracy

bench: build ## print ratios to memcpy, to NumPy, and to torch and JAX where .venv has them
	cargo bench --package allotrope-bench
	$(BIN)/python crates/bench/peers.py
	$(BIN)/python crates/bench/structured.py
	$(BIN)/python crates/bench/autograd.py
	$(BIN)/python crates/bench/variables.py
	$(BIN)/python crates/bench/loader.py
	$(BIN)/python crates/bench/optim.py
	$(BIN)/python crates/bench/steps.py
	$(BIN)/python crates/bench/training.py

clean: ## remove everything that was built
	rm -rf target $(VENV)
