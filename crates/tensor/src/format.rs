//! Printing, in torch's manner: aligned columns, long tensors summarised, scientific when needed.

use std::fmt;

use allotrope_cpu::CPU;
use allotrope_dtype::{Kind, WeakScalar, default_dtype};

use crate::Tensor;

/// Tensors with more elements are summarised.
const SUMMARISE_FROM: usize = 1000;
/// Elements shown at either end of a summarised dimension.
const EDGE: usize = 3;
/// Characters per line.
const LINE: usize = 80;
/// Digits after the point.
const PRECISION: usize = 4;
/// What stands before the brackets, which later lines are indented by.
const PREFIX: &str = "tensor(";

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host_address().is_none() {
            let here = self.detach().to_backend(&CPU).map_err(|_| fmt::Error)?;
            return here.fmt(f);
        }
        let summarised = self.count() > SUMMARISE_FROM;
        let mut cells = Vec::new();
        // Beside a size of zero the others may be as large as they like.
        if self.count() > 0 {
            self.collect_cells(&mut vec![0; self.rank()], 0, summarised, &mut cells);
        }
        let style = Style::of(&cells);
        let cells: Vec<String> = cells.iter().map(|value| style.show(*value)).collect();
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        let mut body = Body {
            cells: cells.into_iter(),
            width,
            text: PREFIX.to_owned(),
        };
        body.write(self.shape(), PREFIX.len(), summarised);
        if self.count() == 0 && self.rank() > 1 {
            body.text += &format!(", size={}", self.shape());
        }
        let is_default = match self.dtype().kind() {
            Kind::Bool => true,
            Kind::Signed => self.dtype().bits() == 64 && self.count() > 0,
            Kind::Unsigned => false,
            Kind::Float => self.dtype() == default_dtype(),
            Kind::Complex => self.dtype() == default_dtype().to_complex(),
        };
        if !is_default {
            body.text += &format!(", dtype={}", self.dtype());
        }
        body.text.push(')');
        f.pad(&body.text)
    }
}

impl Tensor {
    /// The values that are shown, in order.
    fn collect_cells(
        &self,
        index: &mut Vec<usize>,
        dim: usize,
        summarised: bool,
        cells: &mut Vec<WeakScalar>,
    ) {
        if dim == self.rank() {
            let value = self
                .element(self.layout().place(index))
                .map(|scalar| scalar.value());
            cells.extend(value);
            return;
        }
        for i in shown(self.shape()[dim], summarised) {
            index[dim] = i;
            self.collect_cells(index, dim + 1, summarised, cells);
        }
    }
}

/// The indices of a dimension that are shown.
fn shown(size: usize, summarised: bool) -> impl Iterator<Item = usize> {
    let hidden = if summarised && size > 2 * EDGE {
        EDGE..size - EDGE
    } else {
        0..0
    };
    (0..hidden.start).chain(hidden.end..size)
}

/// How floats are written, chosen from all that are shown.
#[derive(Clone, Copy)]
enum Notation {
    /// Whole numbers with a point.
    Whole,
    /// Digits after the point.
    Fixed,
    /// With an exponent.
    Scientific,
}

impl Notation {
    /// torch's rule: an exponent for a wide range, large numbers and small fractions.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let finite = values.filter(|x| x.is_finite() && *x != 0.0).map(f64::abs);
        let (least, greatest) = finite
            .clone()
            .fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        let whole = finite.clone().all(|x| x.fract() == 0.0);
        if greatest / least > 1000.0 || greatest > 1e8 || !whole && least < 1e-4 {
            Self::Scientific
        } else if whole {
            Self::Whole
        } else {
            Self::Fixed
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
            Self::Whole => format!("{value:.0}."),
            Self::Fixed => format!("{value:.PRECISION$}"),
            Self::Scientific => scientific(value),
        }
    }
}

/// As C and Python write it: a sign and two digits of exponent at least.
fn scientific(value: f64) -> String {
    let text = format!("{value:.PRECISION$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        None => text,
    }
}

/// How values are written.
struct Style {
    real: Notation,
    imaginary: Notation,
}

impl Style {
    fn of(cells: &[WeakScalar]) -> Self {
        let parts = |imaginary: bool| {
            cells.iter().map(move |value| match value {
                WeakScalar::Float(x) => *x,
                WeakScalar::Complex(c) if imaginary => c.im,
                WeakScalar::Complex(c) => c.re,
                _ => 0.0,
            })
        };
        Self {
            real: Notation::of(parts(false)),
            imaginary: Notation::of(parts(true)),
        }
    }

    fn show(&self, value: WeakScalar) -> String {
        match value {
            WeakScalar::Bool(true) => "True".to_owned(),
            WeakScalar::Bool(false) => "False".to_owned(),
            WeakScalar::Int(value) => value.to_string(),
            WeakScalar::Float(value) => self.real.show(value),
            WeakScalar::Complex(value) => {
                let imaginary = self.imaginary.show(value.im);
                let sign = if imaginary.starts_with('-') { "" } else { "+" };
                format!("{}{sign}{imaginary}j", self.real.show(value.re))
            }
        }
    }
}

/// The text so far, and the cells to come.
struct Body {
    cells: std::vec::IntoIter<String>,
    width: usize,
    text: String,
}

impl Body {
    fn write(&mut self, sizes: &[usize], indent: usize, summarised: bool) {
        match sizes {
            [] => self.text += &self.cells.next().unwrap_or_default(),
            _ if sizes.contains(&0) => self.text += "[]",
            [size] => self.write_row(*size, indent, summarised),
            [size, rest @ ..] => {
                let separator = format!(",{}{}", "\n".repeat(rest.len()), " ".repeat(indent + 1));
                self.text.push('[');
                for (place, i) in shown(*size, summarised).enumerate() {
                    if place > 0 {
                        self.text += &separator;
                        if i != place && place == EDGE {
                            self.text += "...";
                            self.text += &separator;
                        }
                    }
                    self.write(rest, indent + 1, summarised);
                }
                self.text.push(']');
            }
        }
    }

    fn write_row(&mut self, size: usize, indent: usize, summarised: bool) {
        let per_line = (LINE.saturating_sub(indent) / (self.width + 2)).max(1);
        let mut items: Vec<String> = Vec::new();
        for (place, i) in shown(size, summarised).enumerate() {
            if i != place && place == EDGE {
                items.push(" ...".to_owned());
            }
            let cell = self.cells.next().unwrap_or_default();
            items.push(format!("{cell:>width$}", width = self.width));
        }
        let lines: Vec<String> = items.chunks(per_line).map(|line| line.join(", ")).collect();
        let separator = format!(",\n{}", " ".repeat(indent + 1));
        self.text += &format!("[{}]", lines.join(&separator));
    }
}
