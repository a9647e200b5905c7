# Everything a developer runs. `make demo` and `make test` set up all they need in .venv and target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEELS := target/wheels
TABLES := cargo run --quiet --package xtask -- generate

.PHONY: help build wheel demo tour test driver test-rust test-python test-gpu test-exhaustive attack sanitize miri deny check \
	generate accuracy book speed bench bench-gpu clean

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

wheel: $(BIN)/maturin ## build the wheel that is given to others, in the slower profile `dist`
	$(BIN)/maturin build --quiet --profile dist --out $(WHEELS)

demo: build ## train one network in six precisions: a table, and a picture of the curves (DEVICE=gpu)
	$(BIN)/python examples/demo.py --device $(or $(DEVICE),cpu)

tour: build ## print the dtype, promotion and device tables, and a few casts
	$(BIN)/python examples/tour.py

test: driver test-rust test-python test-gpu ## run all tests but the exhaustive ones

# A driver for the tests of the GPU: the machine's, or one that computes on the CPU.
driver:
	@.ci/driver

# Everything that cargo builds, with all features: one build for all that follows.
FEATURES := --workspace --features allotrope/gpu,allotrope/ndarray,allotrope/nalgebra,allotrope/faer,allotrope/serde

# The last is a crate of its own, as users have theirs.
test-rust:
	cargo test $(FEATURES)
	cargo run --quiet --manifest-path tests/stranger/Cargo.toml --target-dir target/stranger
	cargo test --quiet --manifest-path tests/stranger/Cargo.toml --target-dir target/stranger

# The Rust tests visit every SIMD level in one process; here each level is a process of its own.
test-python: build
	$(BIN)/python -m pytest -q -n auto python/tests
	ALLOTROPE_SIMD=scalar $(BIN)/python -m pytest -q -n auto python/tests/test_cast*.py python/tests/structured
	ALLOTROPE_SIMD=avx2 $(BIN)/python -m pytest -q -n auto python/tests/test_cast*.py python/tests/structured

# The whole library on a GPU, with all features of its driver and with none; its name is printed.
GPU_TESTS := ALLOTROPE_GPU=$(or $(ALLOTROPE_GPU),software) ALLOTROPE_TEST_DEVICE=gpu $(BIN)/python -m pytest -n auto

test-gpu: driver build ## run the Python tests of devices on the GPU, or on a driver that stands for one
	$(GPU_TESTS) python/tests/devices -q -rs
	ALLOTROPE_GPU_FEATURES=portable $(GPU_TESTS) python/tests/devices -q -rs

test-exhaustive: ## cast all 2^32 float32 inputs to every narrower float, at every SIMD level (minutes)
	cargo test --release --package allotrope-dtype --test rounding -- --ignored --nocapture

attack: build ## hostile calls, interrupts, forks, kills and crossed scopes, in their long form (half an hour)
	ALLOTROPE_ATTACK=long $(BIN)/python -m pytest -q -n 0 -rP --durations=10 python/tests/attack

# The compiler's own checks need unstable flags: of a nightly toolchain, or of a stable one that is told so.
NIGHTLY := $(shell cargo +nightly --version >/dev/null 2>&1 && echo 'cargo +nightly' || echo 'RUSTC_BOOTSTRAP=1 cargo')
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
# What an interpreter gets through in minutes: blocks handed out, threads that join in, work that is given up.
MIRI_TESTS := parallel:: interrupt::tests::panics interrupt::tests::nothing
UNSAFE := --package allotrope-dtype --package allotrope-cpu --package allotrope-io

# Blocks and pools that are kept on purpose are no leaks.
sanitize: ## run the tests of the crates with unsafe code under AddressSanitizer (minutes)
	@mkdir -p target; echo 'fn main() {}' | RUSTC_BOOTSTRAP=1 rustc -Zsanitizer=address --target $(HOST) -o target/probe - 2>/dev/null \
		|| { echo 'sanitize: skipped: no AddressSanitizer for $(HOST) in this toolchain'; exit 0; } \
		&& RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0 $(NIGHTLY) test --target $(HOST) \
			--target-dir target/sanitize $(UNSAFE) --lib --tests

# Miri knows neither vector instructions nor the system's scheduler: scalar code, and few elements. Tree borrows:
# rayon's queues break the older rules (crossbeam-epoch says so itself).
miri: ## run the tests of the unsafe parts that an interpreter can run under Miri (minutes)
	@cargo +nightly miri --version >/dev/null 2>&1 \
		|| { echo 'miri: skipped: not installed (rustup component add miri --toolchain nightly)'; exit 0; } \
		&& ALLOTROPE_SIMD=scalar MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows' cargo +nightly miri test \
			--target-dir target/miri --package allotrope-cpu --lib -- $(MIRI_TESTS)

deny: ## licences, versions, sources and known holes of the dependencies, by cargo-deny
	@cargo deny --version >/dev/null 2>&1 || cargo install --locked --quiet cargo-deny
	cargo deny check licenses bans sources
	@cargo deny check advisories || echo 'deny: advisories: not checked, or with findings above'

check: ## formatting, lints, documentation, shaders, generated files
	cargo fmt --all --check
	cargo fmt --manifest-path tests/stranger/Cargo.toml --check
	cargo clippy $(FEATURES) --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(FEATURES) --no-deps --document-private-items --quiet
	cargo test --quiet $(FEATURES) --test shaders --test compilers
	$(TABLES) --check

generate: ## write the files that are made from the tables
	$(TABLES)

accuracy: ## measure the greatest error of every float function, and write the page of the book
	cargo run --quiet --package xtask --features accuracy -- generate --accuracy

book: ## build the book in target/book, with mdBook, which is installed if it is not there (minutes)
	@mdbook --version >/dev/null 2>&1 || cargo install --locked --quiet mdbook
	mdbook build book

speed: build ## measure beside NumPy, and torch and JAX where .venv or PEERS has them, and write the page of the book
	$(BIN)/python crates/bench/alone.py --page > target/speed.md
	mv target/speed.md book/src/speed.md

bench: speed ## write the page of speed, and print ratios to memcpy, to NumPy, and to torch and JAX where .venv has them
	cargo bench --package allotrope-bench
	$(BIN)/python crates/bench/peers.py
	$(BIN)/python crates/bench/structured.py
	$(BIN)/python crates/bench/autograd.py
	$(BIN)/python crates/bench/variables.py
	$(BIN)/python crates/bench/loader.py
	$(BIN)/python crates/bench/optim.py
	$(BIN)/python crates/bench/training.py

bench-gpu: ## print ratios of the GPU to a bare copy on it; software drivers count
	ALLOTROPE_GPU=software cargo run --release --package allotrope-gpu --example bench

clean: ## remove everything that was built
	rm -rf target $(VENV)
