//! Views against plain index arithmetic, over random shapes and chains of views.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_op::{ErrorKind, Layout, Nest, Shape, Slice, normalize_axes_or_none, normalize_axis};
use proptest::prelude::*;

/// A view and, independently of its strides, the buffer place of each of its elements in order.
#[derive(Clone, Debug)]
struct Model {
    layout: Layout,
    sizes: Vec<usize>,
    places: Vec<usize>,
}

/// Every index of a shape, in row-major order.
fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![vec![]], |prefixes, size| {
        prefixes
            .iter()
            .flat_map(|prefix| (0..*size).map(move |i| [prefix.as_slice(), &[i]].concat()))
            .collect()
    })
}

impl Model {
    fn new(sizes: &[usize]) -> Self {
        let shape = Shape::new("test", sizes).unwrap();
        let count = shape.count();
        Self {
            layout: Layout::contiguous(shape),
            sizes: sizes.to_vec(),
            places: (0..count).collect(),
        }
    }

    /// A view given by its layout, its sizes and, for each of its indices, the index it had.
    fn view(
        &self,
        layout: Layout,
        sizes: Vec<usize>,
        source: impl Fn(&[usize]) -> Vec<usize>,
    ) -> Self {
        let before = indices(&self.sizes);
        let places = indices(&sizes)
            .iter()
            .map(|index| {
                let source = source(index);
                self.places[before.iter().position(|b| *b == source).unwrap()]
            })
            .collect();
        Self {
            layout,
            sizes,
            places,
        }
    }

    fn check(&self) {
        assert_eq!(&self.layout.shape()[..], &self.sizes[..]);
        let got: Vec<usize> = indices(&self.sizes)
            .iter()
            .map(|i| self.layout.place(i))
            .collect();
        assert_eq!(got, self.places);
        let extent = self.places.iter().min().zip(self.places.iter().max());
        assert_eq!(
            self.layout.extent(),
            extent.map(|(low, high)| (*low, high + 1))
        );
        let in_order = self.places.windows(2).all(|pair| pair[1] == pair[0] + 1);
        assert_eq!(self.layout.is_contiguous(), in_order, "{:?}", self.layout);
    }
}

/// One random view of a model, by the numbers drawn.
fn apply(model: &Model, kind: u8, a: usize, b: isize, c: isize) -> Model {
    let rank = model.sizes.len();
    if rank == 0 {
        let layout = model.layout.unsqueeze("test", 0).unwrap();
        return model.view(layout, vec![1], |_| vec![]);
    }
    let dim = a % rank;
    match kind % 7 {
        0 => {
            let step = if c % 4 == 0 { -1 } else { c % 4 };
            let slice = Slice {
                start: Some(b),
                stop: None,
                step,
            };
            let layout = model.layout.slice("test", dim as isize, slice).unwrap();
            // Python's rule, spelt out: walk from the start while inside.
            let size = model.sizes[dim] as isize;
            let start = if b < 0 { b + size } else { b };
            let start = if step > 0 {
                start.max(0)
            } else {
                start.min(size - 1)
            };
            let mut picked = Vec::new();
            let mut at = start;
            while (0..size).contains(&at) {
                picked.push(at as usize);
                at += step;
            }
            let mut sizes = model.sizes.clone();
            sizes[dim] = picked.len();
            model.view(layout, sizes, |index| {
                let mut source = index.to_vec();
                source[dim] = picked[index[dim]];
                source
            })
        }
        1 => {
            let other = b.unsigned_abs() % rank;
            let layout = model
                .layout
                .transpose("test", dim as isize, other as isize)
                .unwrap();
            let mut sizes = model.sizes.clone();
            sizes.swap(dim, other);
            model.view(layout, sizes, |index| {
                let mut source = index.to_vec();
                source.swap(dim, other);
                source
            })
        }
        2 if model.sizes[dim] > 0 => {
            let chosen = b.unsigned_abs() % model.sizes[dim];
            let negative = chosen as isize - model.sizes[dim] as isize;
            let layout = model.layout.select("test", dim as isize, negative).unwrap();
            let mut sizes = model.sizes.clone();
            sizes.remove(dim);
            model.view(layout, sizes, |index| {
                let mut source = index.to_vec();
                source.insert(dim, chosen);
                source
            })
        }
        3 if rank < 4 => {
            let mut sizes = vec![b.unsigned_abs() % 3 + 1];
            sizes.extend(&model.sizes);
            let shape = Shape::new("test", &sizes).unwrap();
            let layout = model.layout.broadcast_to("test", &shape).unwrap();
            model.view(layout, sizes, |index| index[1..].to_vec())
        }
        4 if model.sizes[dim] > 0 => {
            let size = b.unsigned_abs() % model.sizes[dim] + 1;
            let step = c.unsigned_abs() % 3 + 1;
            let layout = model
                .layout
                .unfold("test", dim as isize, size, step)
                .unwrap();
            let mut sizes = model.sizes.clone();
            sizes[dim] = (model.sizes[dim] - size) / step + 1;
            sizes.push(size);
            model.view(layout, sizes, |index| {
                let mut source = index[..index.len() - 1].to_vec();
                source[dim] = index[dim] * step + index[index.len() - 1];
                source
            })
        }
        5 if rank > 1 => {
            let other = (dim + 1 + c.unsigned_abs() % (rank - 1)) % rank;
            let layout = model
                .layout
                .diagonal("test", b, dim as isize, other as isize)
                .unwrap();
            // Every index of both dimensions that is on the diagonal, walked.
            let pairs: Vec<(usize, usize)> = (0..model.sizes[dim])
                .flat_map(|i| (0..model.sizes[other]).map(move |j| (i, j)))
                .filter(|(i, j)| *j as isize - *i as isize == b)
                .collect();
            let kept = |d: &usize| *d != dim && *d != other;
            let mut sizes: Vec<usize> = (0..rank).filter(kept).map(|d| model.sizes[d]).collect();
            sizes.push(pairs.len());
            model.view(layout, sizes, |index| {
                let mut rest = index.iter();
                let (i, j) = pairs[index[index.len() - 1]];
                let place = |d: usize| match d {
                    _ if d == dim => i,
                    _ if d == other => j,
                    _ => *rest.next().unwrap(),
                };
                (0..rank).map(place).collect()
            })
        }
        _ => {
            let layout = model.layout.squeeze("test", None).unwrap();
            let kept: Vec<usize> = (0..rank).filter(|d| model.sizes[*d] != 1).collect();
            let sizes = kept.iter().map(|d| model.sizes[*d]).collect();
            model.view(layout, sizes, |index| {
                let mut source = vec![0; rank];
                kept.iter().zip(index).for_each(|(d, i)| source[*d] = *i);
                source
            })
        }
    }
}

fn models() -> impl Strategy<Value = Model> {
    let sizes = prop::collection::vec(0_usize..5, 0..4);
    let views = prop::collection::vec((any::<u8>(), 0_usize..4, -6_isize..6, -6_isize..6), 0..4);
    (sizes, views).prop_map(|(sizes, views)| {
        views
            .into_iter()
            .fold(Model::new(&sizes), |model, (kind, a, b, c)| {
                apply(&model, kind, a, b, c)
            })
    })
}

proptest! {
    #[test]
    fn views_place_every_element_where_index_arithmetic_says(model in models()) {
        model.check();
    }

    #[test]
    fn reshape_keeps_the_order_of_elements_or_refuses(model in models(), cut in 1_usize..5) {
        let count = model.places.len();
        let sizes = if count % cut == 0 { vec![cut, count / cut] } else { vec![count] };
        let shape = Shape::new("test", &sizes).unwrap();
        match model.layout.reshape(&shape) {
            Some(layout) => {
                let places: Vec<usize> = indices(&sizes).iter().map(|i| layout.place(i)).collect();
                prop_assert_eq!(places, model.places);
            }
            // A refusal is only right if some element is not evenly spaced within the new sizes.
            None => {
                let rows: Vec<&[usize]> = model.places.chunks(sizes[sizes.len() - 1]).collect();
                let even = |places: &[usize]| places.windows(3).all(|w| w[1].wrapping_sub(w[0]) == w[2].wrapping_sub(w[1]));
                let starts: Vec<usize> = rows.iter().map(|row| row[0]).collect();
                let same_step = rows.windows(2).all(|w| {
                    w[0].len() < 2 || w[0][1].wrapping_sub(w[0][0]) == w[1][1].wrapping_sub(w[1][0])
                });
                prop_assert!(!(rows.iter().all(|row| even(row)) && even(&starts) && same_step));
            }
        }
    }

    #[test]
    fn a_nest_visits_every_element_once(model in models(), other in any::<bool>()) {
        let contiguous = Layout::contiguous(model.layout.shape().clone());
        let operands = if other { vec![&model.layout, &contiguous] } else { vec![&contiguous, &model.layout] };
        let nest = Nest::new(model.layout.shape(), &operands);
        let inner = nest.inner();
        let mut visited = Vec::new();
        nest.for_each_run(|starts| {
            for step in 0..inner.count {
                let place = |k: usize| (starts[k] as isize + step as isize * inner.strides[k]) as usize;
                visited.push(if other { (place(1), place(0)) } else { (place(0), place(1)) });
            }
        });
        visited.sort_unstable();
        let want: Vec<(usize, usize)> = model.places.iter().copied().enumerate().collect();
        prop_assert_eq!(visited, want);
    }

    #[test]
    fn broadcasting_follows_the_rule_of_numpy(
        a in prop::collection::vec(0_usize..4, 0..4),
        b in prop::collection::vec(0_usize..4, 0..4),
    ) {
        let (left, right) = (Shape::new("add", &a).unwrap(), Shape::new("add", &b).unwrap());
        let rank = a.len().max(b.len());
        let size = |s: &[usize], d: usize| (d + s.len()).checked_sub(rank).map_or(1, |i| s[i]);
        let fits = (0..rank).all(|d| size(&a, d) == size(&b, d) || size(&a, d) == 1 || size(&b, d) == 1);
        match Shape::broadcast("add", &[&left, &right]) {
            Ok(shape) => {
                prop_assert!(fits);
                for d in 0..rank {
                    let want = if size(&a, d) == 1 { size(&b, d) } else { size(&a, d) };
                    prop_assert_eq!(shape[d], want);
                }
            }
            Err(error) => {
                prop_assert!(!fits);
                prop_assert_eq!(error.kind(), ErrorKind::Value);
            }
        }
    }
}

#[test]
fn contiguous_operands_of_any_rank_are_one_loop() {
    let shape = Shape::new("test", &[2, 3, 4, 5]).unwrap();
    let layout = Layout::contiguous(shape.clone());
    let nest = Nest::new(&shape, &[&layout, &layout, &layout]);
    assert_eq!((nest.loops().len(), nest.loops()[0].count), (1, 120));
    let row = Layout::contiguous(Shape::new("test", &[5]).unwrap());
    let row = row.broadcast_to("test", &shape).unwrap();
    assert_eq!(Nest::new(&shape, &[&layout, &row]).loops().len(), 2);
    let scalar = Layout::contiguous(Shape::scalar())
        .broadcast_to("test", &shape)
        .unwrap();
    assert_eq!(Nest::new(&shape, &[&layout, &scalar]).loops().len(), 1);
}

#[test]
fn bad_geometry_is_a_worded_error() {
    let message = |error: allotrope_op::Error| format!("{:?}: {error}", error.kind());
    let layout = Layout::contiguous(Shape::new("test", &[2, 3]).unwrap());
    let huge = Shape::new("zeros", &[usize::MAX, 2]).unwrap_err();
    assert_eq!(
        message(huge),
        "Value: zeros: too many elements: [18446744073709551615, 2]; at most 9223372036854775807 fit"
    );
    assert!(Shape::new("zeros", &[0, usize::MAX, 2]).is_err());
    assert_eq!(
        message(normalize_axis("sum", 2, 2).unwrap_err()),
        "Index: sum: axis out of range: 2; a tensor of 2 dimensions has axes -2 to 1"
    );
    assert_eq!(
        message(normalize_axis("sum", 0, 0).unwrap_err()),
        "Index: sum: axis out of range: 0; a tensor of 0 dimensions has no axes"
    );
    assert!(normalize_axes_or_none("sum", &[-1], 0).unwrap().is_empty());
    assert_eq!(
        message(normalize_axes_or_none("sum", &[1], 0).unwrap_err()),
        "Index: sum: axis out of range: 1; a tensor of 1 dimensions has axes -1 to 0"
    );
    assert_eq!(
        message(layout.permute("permute", &[0, -2]).unwrap_err()),
        "Value: permute: axis named twice: -2"
    );
    assert_eq!(
        message(layout.permute("permute", &[0]).unwrap_err()),
        "Value: permute: wrong number of axes: 1; 2 are needed"
    );
    assert_eq!(
        message(layout.select("select", 1, -4).unwrap_err()),
        "Index: select: index out of range: -4; dimension 1 has size 3"
    );
    let slice = Slice {
        step: 0,
        ..Slice::ALL
    };
    assert_eq!(
        message(layout.slice("slice", 0, slice).unwrap_err()),
        "Value: slice: the step is zero; any other step is accepted"
    );
    assert_eq!(
        message(layout.unfold("unfold", 1, 4, 1).unwrap_err()),
        "Value: unfold: window does not fit: size 4, step 1; the dimension has size 3 and steps start at 1"
    );
    let (a, b) = (
        Shape::new("add", &[2, 3]).unwrap(),
        Shape::new("add", &[4]).unwrap(),
    );
    assert_eq!(
        message(Shape::broadcast("add", &[&a, &b]).unwrap_err()),
        "Value: add: shapes do not broadcast: [2, 3] and [4]; sizes must be equal or 1"
    );
}
