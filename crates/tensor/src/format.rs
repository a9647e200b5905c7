//! Printing, in torch's manner: aligned columns, long tensors summarised, scientific when needed.

use std::fmt::{self, Write};
use std::sync::{Mutex, PoisonError};

use crate::host::CPU;
use allotrope_dtype::{Error, Kind, Scalar, WeakScalar, default_dtype};

use crate::Tensor;
use crate::device::Device;

/// How tensors are printed, in the whole process.
///
/// ```
/// use allotrope_tensor::{PrintOptions, Tensor, print_options, set_print_options};
/// let before = print_options();
/// set_print_options(PrintOptions { precision: 2, ..before });
/// assert_eq!(Tensor::from_slice(&[1.5_f32, 0.125], &[2])?.to_string(), "tensor([1.50, 0.12])");
/// set_print_options(before);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// Digits after the point.
    pub precision: usize,
    /// Tensors with more elements are summarised.
    pub threshold: usize,
    /// Elements shown at either end of a summarised dimension.
    pub edge_items: usize,
    /// Characters per line.
    pub line_width: usize,
    /// Whether floats have an exponent; by their range if nothing is said.
    pub scientific: Option<bool>,
}

impl PrintOptions {
    const DEFAULT: Self = Self {
        precision: 4,
        threshold: 1000,
        edge_items: 3,
        line_width: 80,
        scientific: None,
    };
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

static OPTIONS: Mutex<PrintOptions> = Mutex::new(PrintOptions::DEFAULT);

/// How tensors are printed.
///
/// ```
/// use allotrope_tensor::print_options;
/// assert_eq!(print_options().precision, 4);
/// ```
#[must_use]
pub fn print_options() -> PrintOptions {
    *OPTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets how tensors are printed.
///
/// ```
/// use allotrope_tensor::{DType, PrintOptions, Tensor, print_options, set_print_options};
/// let before = print_options();
/// set_print_options(PrintOptions { threshold: 4, edge_items: 1, ..before });
/// assert_eq!(Tensor::arange(0, 9, 1, DType::I64)?.to_string(), "tensor([0,  ..., 8])");
/// set_print_options(before);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
pub fn set_print_options(options: PrintOptions) {
    *OPTIONS.lock().unwrap_or_else(PoisonError::into_inner) = options;
}

/// What stands before the brackets, which later lines are indented by.
const PREFIX: &str = "tensor(";

/// Writes a text in the width that is asked for. Unlike [`fmt::Formatter::pad`] it is never cut: a
/// precision is that of the numbers.
fn pad(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let missing = f.width().unwrap_or(0).saturating_sub(text.chars().count());
    let before = match f.align() {
        Some(fmt::Alignment::Right) => missing,
        Some(fmt::Alignment::Center) => missing / 2,
        _ => 0,
    };
    let fill = |count: usize, f: &mut fmt::Formatter<'_>| {
        (0..count).try_for_each(|_| f.write_char(f.fill()))
    };
    fill(before, f)?;
    f.write_str(text)?;
    fill(missing - before, f)
}

/// In torch's manner, by [`print_options`], with as many digits as a precision asks for.
///
/// ```
/// use allotrope_tensor::Tensor;
/// let x = Tensor::new([1.5_f32, 0.125])?;
/// assert_eq!(format!("{x}"), "tensor([1.5000, 0.1250])");
/// assert_eq!(format!("{x:.1}"), "tensor([1.5, 0.1])");
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.device() == Device::meta() {
            let (size, dtype) = (self.shape(), self.dtype());
            return f.pad(&format!(
                "{PREFIX}..., size={size}, dtype={dtype}, device='meta')"
            ));
        }
        if self.host_address().is_none() {
            let here = self.detach().to_backend(&CPU).map_err(|_| fmt::Error)?;
            let mut text = match f.precision() {
                Some(precision) => format!("{here:.precision$}"),
                None => here.to_string(),
            };
            text.pop();
            return pad(f, &format!("{text}, device='{}')", self.device()));
        }
        let mut options = print_options();
        options.precision = f.precision().unwrap_or(options.precision);
        let edge = (self.count() > options.threshold).then_some(options.edge_items);
        let mut cells = Vec::new();
        // Beside a size of zero the others may be as large as they like.
        if self.count() > 0 {
            self.collect_cells(&mut vec![0; self.rank()], 0, edge, &mut cells);
        }
        let style = Style::of(&cells, options);
        let cells: Vec<String> = cells.iter().map(|value| style.show(*value)).collect();
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        let mut body = Body {
            cells: cells.into_iter(),
            width,
            line: options.line_width,
            edge,
            text: PREFIX.to_owned(),
        };
        body.write(self.shape(), PREFIX.len());
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
        pad(f, &body.text)
    }
}

impl Tensor {
    /// The value at a place of memory that the CPU can read, in elements.
    fn element(&self, place: usize) -> Result<Scalar, Error> {
        let (size, bytes) = (self.dtype().itemsize(), self.storage("item")?);
        Scalar::from_bytes(self.dtype(), &bytes[place * size..(place + 1) * size])
    }

    /// The values that are shown, in order.
    fn collect_cells(
        &self,
        index: &mut Vec<usize>,
        dim: usize,
        edge: Option<usize>,
        cells: &mut Vec<WeakScalar>,
    ) {
        if dim == self.rank() {
            let value = self
                .element(self.layout().place(index))
                .map(|scalar| scalar.value());
            cells.extend(value);
            return;
        }
        for i in shown(self.shape()[dim], edge) {
            index[dim] = i;
            self.collect_cells(index, dim + 1, edge, cells);
        }
    }
}

/// The indices of a dimension that are shown.
fn shown(size: usize, edge: Option<usize>) -> impl Iterator<Item = usize> {
    let hidden = match edge {
        Some(edge) if size > edge.saturating_mul(2) => edge..size - edge,
        _ => 0..0,
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
    fn of(values: impl Iterator<Item = f64> + Clone, scientific: Option<bool>) -> Self {
        let finite = values.filter(|x| x.is_finite() && *x != 0.0).map(f64::abs);
        let (least, greatest) = finite
            .clone()
            .fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        let whole = finite.clone().all(|x| x.fract() == 0.0);
        let is_wide = greatest / least > 1000.0 || greatest > 1e8 || !whole && least < 1e-4;
        if scientific.unwrap_or(is_wide) {
            Self::Scientific
        } else if whole {
            Self::Whole
        } else {
            Self::Fixed
        }
    }

    fn show(self, value: f64, precision: usize) -> String {
        match self {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
            Self::Whole => format!("{value:.0}."),
            Self::Fixed => format!("{value:.precision$}"),
            Self::Scientific => scientific(value, precision),
        }
    }
}

/// As C and Python write it: a sign and two digits of exponent at least.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
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
    precision: usize,
}

impl Style {
    fn of(cells: &[WeakScalar], options: PrintOptions) -> Self {
        let parts = |imaginary: bool| {
            cells.iter().map(move |value| match value {
                WeakScalar::Float(x) => *x,
                WeakScalar::Complex(c) if imaginary => c.im,
                WeakScalar::Complex(c) => c.re,
                _ => 0.0,
            })
        };
        Self {
            real: Notation::of(parts(false), options.scientific),
            imaginary: Notation::of(parts(true), options.scientific),
            precision: options.precision,
        }
    }

    fn show(&self, value: WeakScalar) -> String {
        match value {
            WeakScalar::Bool(true) => "True".to_owned(),
            WeakScalar::Bool(false) => "False".to_owned(),
            WeakScalar::Int(value) => value.to_string(),
            WeakScalar::Float(value) => self.real.show(value, self.precision),
            WeakScalar::Complex(value) => {
                let imaginary = self.imaginary.show(value.im, self.precision);
                let sign = if imaginary.starts_with('-') { "" } else { "+" };
                let real = self.real.show(value.re, self.precision);
                format!("{real}{sign}{imaginary}j")
            }
        }
    }
}

/// The text so far, and the cells to come.
struct Body {
    cells: std::vec::IntoIter<String>,
    width: usize,
    line: usize,
    /// Elements at either end, where dimensions are summarised.
    edge: Option<usize>,
    text: String,
}

impl Body {
    /// Whether elements were left out before the one at a place.
    fn is_gap(&self, place: usize, index: usize) -> bool {
        index != place && Some(place) == self.edge
    }

    fn write(&mut self, sizes: &[usize], indent: usize) {
        match sizes {
            [] => self.text += &self.cells.next().unwrap_or_default(),
            _ if sizes.contains(&0) => self.text += "[]",
            [size] => self.write_row(*size, indent),
            [size, rest @ ..] => {
                let separator = format!(",{}{}", "\n".repeat(rest.len()), " ".repeat(indent + 1));
                self.text.push('[');
                for (place, i) in shown(*size, self.edge).enumerate() {
                    if place > 0 {
                        self.text += &separator;
                        if self.is_gap(place, i) {
                            self.text += "...";
                            self.text += &separator;
                        }
                    }
                    self.write(rest, indent + 1);
                }
                self.text.push(']');
            }
        }
    }

    fn write_row(&mut self, size: usize, indent: usize) {
        let per_line = (self.line.saturating_sub(indent) / (self.width + 2)).max(1);
        let mut items: Vec<String> = Vec::new();
        for (place, i) in shown(size, self.edge).enumerate() {
            if self.is_gap(place, i) {
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
