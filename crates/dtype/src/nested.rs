//! Arrays and vectors of numbers, in any depth: what tensors are written down as in Rust.

use crate::{Bool8, Element, Error, Problem};

mod sealed {
    #[allow(unnameable_types, reason = "nobody else is to implement it")]
    pub trait Sealed {}
}

/// An element, a `bool`, or an array, slice or vector of such, whose depth is the number of
/// dimensions.
///
/// Arrays know their sizes; vectors and slices of one depth must have equal lengths. A vector without
/// rows has rows of size 0.
///
/// ```
/// use allotrope_dtype::Nested;
///
/// fn sizes<N: Nested>(data: N) -> Result<Vec<usize>, allotrope_dtype::Error> {
///     N::sizes("tensor", &[data])
/// }
/// assert_eq!(sizes([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?, [2, 3]);
/// assert_eq!(
///     sizes(vec![vec![1, 2], vec![3]]).unwrap_err().to_string(),
///     "tensor: lists of different lengths: 2 and 1; all must be equal"
/// );
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
pub trait Nested: sealed::Sealed + Sized {
    /// What is at the bottom.
    type Element: Element;

    /// The sizes that each of several has.
    ///
    /// # Errors
    /// A value error if their sizes differ.
    fn sizes(op: &'static str, items: &[Self]) -> Result<Vec<usize>, Error>;

    /// Hands over the elements of several, in order, in as few pieces as there are.
    fn visit(items: &[Self], take: &mut dyn FnMut(&[Self::Element]));
}

impl<T: Element> sealed::Sealed for T {}
impl<T: Element> Nested for T {
    type Element = T;

    fn sizes(_: &'static str, _: &[Self]) -> Result<Vec<usize>, Error> {
        Ok(Vec::new())
    }

    fn visit(items: &[Self], take: &mut dyn FnMut(&[T])) {
        take(items);
    }
}

impl sealed::Sealed for bool {}
impl Nested for bool {
    type Element = Bool8;

    fn sizes(_: &'static str, _: &[Self]) -> Result<Vec<usize>, Error> {
        Ok(Vec::new())
    }

    fn visit(items: &[Self], take: &mut dyn FnMut(&[Bool8])) {
        take(bytemuck::must_cast_slice(items));
    }
}

impl<A: Nested, const N: usize> sealed::Sealed for [A; N] {}
impl<A: Nested, const N: usize> Nested for [A; N] {
    type Element = A::Element;

    fn sizes(op: &'static str, items: &[Self]) -> Result<Vec<usize>, Error> {
        let mut sizes = A::sizes(op, items.as_flattened())?;
        sizes.insert(0, N);
        Ok(sizes)
    }

    fn visit(items: &[Self], take: &mut dyn FnMut(&[A::Element])) {
        A::visit(items.as_flattened(), take);
    }
}

impl<A: Nested> sealed::Sealed for Vec<A> {}
impl<A: Nested> Nested for Vec<A> {
    type Element = A::Element;

    fn sizes(op: &'static str, items: &[Self]) -> Result<Vec<usize>, Error> {
        sizes_of_rows(op, items.iter().map(Vec::as_slice))
    }

    fn visit(items: &[Self], take: &mut dyn FnMut(&[A::Element])) {
        items.iter().for_each(|item| A::visit(item, take));
    }
}

impl<A: Nested> sealed::Sealed for &[A] {}
impl<A: Nested> Nested for &[A] {
    type Element = A::Element;

    fn sizes(op: &'static str, items: &[Self]) -> Result<Vec<usize>, Error> {
        sizes_of_rows(op, items.iter().copied())
    }

    fn visit(items: &[Self], take: &mut dyn FnMut(&[A::Element])) {
        items.iter().for_each(|item| A::visit(item, take));
    }
}

impl<A: Nested, const N: usize> sealed::Sealed for &[A; N] {}
impl<A: Nested, const N: usize> Nested for &[A; N] {
    type Element = A::Element;

    fn sizes(op: &'static str, items: &[Self]) -> Result<Vec<usize>, Error> {
        match items {
            [] => <[A; N]>::sizes(op, &[]),
            _ => sizes_of_rows(op, items.iter().map(|item| item.as_slice())),
        }
    }

    fn visit(items: &[Self], take: &mut dyn FnMut(&[A::Element])) {
        items.iter().for_each(|item| A::visit(*item, take));
    }
}

impl<A: Nested> sealed::Sealed for &Vec<A> {}
impl<A: Nested> Nested for &Vec<A> {
    type Element = A::Element;

    fn sizes(op: &'static str, items: &[Self]) -> Result<Vec<usize>, Error> {
        sizes_of_rows(op, items.iter().map(|item| item.as_slice()))
    }

    fn visit(items: &[Self], take: &mut dyn FnMut(&[A::Element])) {
        items.iter().for_each(|item| A::visit(item, take));
    }
}

/// The sizes of rows that all have the same: their number of items first.
fn sizes_of_rows<'a, A: Nested + 'a>(
    op: &'static str,
    mut rows: impl Iterator<Item = &'a [A]>,
) -> Result<Vec<usize>, Error> {
    let with_length = |row: &[A]| {
        let mut sizes = A::sizes(op, row)?;
        sizes.insert(0, row.len());
        Ok(sizes)
    };
    let first = with_length(rows.next().unwrap_or_default())?;
    for row in rows {
        let sizes = with_length(row)?;
        let differs = |(a, b): &(&usize, &usize)| a != b;
        if let Some((expected, given)) = first.iter().zip(&sizes).find(differs) {
            let (expected, given) = (*expected, *given);
            return Err(Error::new(op, Problem::Ragged { expected, given }));
        }
    }
    Ok(first)
}
