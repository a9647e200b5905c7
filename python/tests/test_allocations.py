"""Vectors as long as data are made fallibly: the sources are searched for those that are not.

`crates/cpu/src/memory.rs` has what stands instead. What depends on ranks, operands, threads and blocks of
a fixed size alone may be allocated as everywhere; where its line does not show that, a remark
`// bounded: why` stands on it or up to three lines before.
"""

import pathlib
import re

import pytest

CRATES = pathlib.Path(__file__).parents[2] / "crates"
SEARCHED = ["cpu", "tensor", "io", "python"]

#: What allocates without a way to fail.
ALLOCATING = re.compile(
    r"\bvec!\[[^;\]]*(?:\[[^\]]*\])?[^;\]]*;|\b(?:Vec|BufWriter|BufReader)::with_capacity\(|\.to_vec\(\)(?!\?)"
    r"|collect::<(?:Result<|PyResult<)?Vec|: Vec<[^=;]*> =[^;]*\.collect\(|\.concat\(\)|\.resize\("
)
#: Words for what there are few of, whatever the data.
FEW = re.compile(
    r"\b(?:shape|sizes?|strides|rank|axes|axis|dims?|order|kept|outer|batch|operands?|inputs?|outputs?|tensors?"
    r"|arguments|args|dtypes?|shapes|operation|batch|labels|letters|terms?|pieces|lines|names?|keys?|steps|slots"
    r"|references|values_|results|gradients|parameters|recorded|saved|plain|wanted|required|arrays|stencils"
    r"|filters|kernel|pad|repeated|links|all|every|both|blocks|own|each|summed|given|nodes|components|fields"
    r"|SmallVec|Dims|String|&'?\w* ?(?:Self|Tensor|Shape|str))\b|&str|&Self|&Tensor|&Shape"
)
#: Files without data: text for people, tests, and what is made once per process or program.
LEFT_OUT = re.compile(r"tests?\.rs$|/tests/|format\.rs$|/wgsl/|xtask|/recorded/recipe\.rs$|/memory\.rs$|table\.rs$")


def statements(text):
    """Lines of code outside tests, each with the rest of its statement and the remarks before it."""
    text = text.split("#[cfg(test)]\nmod tests {")[0]
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.lstrip().startswith("//"):
            continue
        yield number + 1, line, "\n".join(lines[max(0, number - 3) : number + 1])


def unbounded():
    for crate in SEARCHED:
        for path in sorted((CRATES / crate / "src").rglob("*.rs")):
            if LEFT_OUT.search(path.as_posix()):
                continue
            for number, line, before in statements(path.read_text()):
                if ALLOCATING.search(line) and not FEW.search(line) and "// bounded:" not in before:
                    yield f"{path.relative_to(CRATES)}:{number}: {line.strip()}"


def test_nothing_as_long_as_data_is_allocated_infallibly():
    found = list(unbounded())
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "let mut seen = vec![0_u8; count];",
        "let list: Vec<f64> = numbers.map(f64::from).collect();",
        "let list = Vec::with_capacity(count);",
        "let copy = elements.to_vec();",
        "let joined = halves.concat();",
        "buffer.resize(count, 0);",
        "Ok(numbers.collect::<Vec<_>>())",
    ],
)
def test_the_search_finds(line):
    assert ALLOCATING.search(line) and not FEW.search(line)
