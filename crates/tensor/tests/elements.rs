//! Elements written where they lie, sizes as they are written down, and printing with a precision.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_tensor::{DType, ErrorKind, Tensor};

#[test]
fn written_elements_are_seen_by_nobody_else() {
    let mut x = Tensor::arange(0, 6, 1, DType::F32).unwrap();
    // Memory of its own is written where it is.
    let address = x.address();
    x.as_mut_slice::<f32>().unwrap()[0] = 7.0;
    assert_eq!((x.address(), x.to_vec::<f32>().unwrap()[0]), (address, 7.0));
    // What clones and views have is copied.
    let (clone, view) = (x.clone(), x.narrow(0, 2, 3).unwrap());
    x.as_mut_slice::<f32>().unwrap().fill(0.0);
    assert_eq!(
        clone.to_vec::<f32>().unwrap(),
        [7.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    );
    assert_eq!(view.to_vec::<f32>().unwrap(), [2.0, 3.0, 4.0]);
    assert_eq!(x.sum_all().unwrap().to_scalar::<f32>().unwrap(), 0.0);
    // A part of memory that nobody else has any more is written as that part.
    drop(clone);
    let mut view = view;
    view.as_mut_slice::<f32>().unwrap()[0] = 9.0;
    assert_eq!(view.to_vec::<f32>().unwrap(), [9.0, 3.0, 4.0]);
    // Other orders become row-major.
    let mut turned = Tensor::new([[1, 2], [3, 4]]).unwrap().t().unwrap();
    assert_eq!(turned.as_mut_slice::<i32>().unwrap(), [1, 3, 2, 4]);
    let mut wide = Tensor::new([1_i64]).unwrap().expand(3).unwrap();
    wide.as_mut_slice::<i64>().unwrap()[1] = 5;
    assert_eq!(wide.to_vec::<i64>().unwrap(), [1, 5, 1]);
    let mut nothing = Tensor::zeros((0, 3), DType::U8).unwrap();
    assert!(nothing.as_mut_slice::<u8>().unwrap().is_empty());
}

#[test]
fn what_has_a_history_is_not_written() {
    let mut leaf = Tensor::ones(2, DType::F32)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let mut made = leaf.square().unwrap();
    for x in [&mut leaf, &mut made] {
        let error = x.as_mut_slice::<f32>().unwrap_err();
        assert_eq!(
            (error.kind(), error.op()),
            (ErrorKind::Gradient, "as_mut_slice")
        );
    }
    let error = leaf.as_mut_slice::<f64>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dtype);
    let before = leaf.clone();
    let mut copy = leaf.detach();
    copy.as_mut_slice::<f32>().unwrap()[0] = 5.0;
    assert_eq!(before.to_vec::<f32>().unwrap(), [1.0, 1.0]);
}

#[test]
fn sizes_that_no_elements_have_are_worded_errors() {
    let x = Tensor::zeros((2, 3), DType::U8).unwrap();
    let refused = [
        x.reshape((usize::MAX, 2)),
        x.reshape((i64::MIN, 2)),
        x.reshape((-1, ())),
        x.reshape((4, ())),
        x.reshape(()),
        Tensor::zeros((usize::MAX, 2), DType::U8),
        Tensor::zeros(vec![1; 200], DType::U8),
    ];
    let texts: Vec<String> = refused.map(|made| made.unwrap_err().to_string()).into();
    assert_eq!(
        texts,
        [
            format!(
                "reshape: too many elements: [{}, 2]; at most {} fit",
                isize::MAX,
                isize::MAX
            ),
            format!(
                "reshape: wrong number of elements: [2, 3] to [{}, 2]; sizes must multiply to the same",
                isize::MIN
            ),
            "reshape: number of sizes of -1 out of range: 2; 0 and 1 are accepted".to_owned(),
            "reshape: wrong number of elements: [2, 3] to [4, -1]; sizes must multiply to the same"
                .to_owned(),
            "reshape: wrong number of elements: [2, 3] to []; sizes must multiply to the same"
                .to_owned(),
            format!(
                "zeros: too many elements: [{}, 2]; at most {} fit",
                usize::MAX,
                isize::MAX
            ),
            "zeros: too many dimensions: 200; at most 128 are accepted".to_owned(),
        ]
    );
    let ragged = Tensor::from_iter([vec![1], vec![2, 3]]).unwrap_err();
    assert_eq!(ragged.op(), "from_iter");
    assert_eq!(x.to_vec3::<u8>().unwrap_err().kind(), ErrorKind::Value);
    assert_eq!(x.to_vec2::<i8>().unwrap_err().kind(), ErrorKind::Dtype);
    assert_eq!(
        Tensor::zeros((2, 0), DType::U8)
            .unwrap()
            .to_vec2::<u8>()
            .unwrap(),
        [[], []]
    );
}

#[test]
fn a_precision_is_that_of_the_numbers_and_a_width_that_of_the_text() {
    let x = Tensor::new([1.0_f32 / 3.0, 100.0]).unwrap();
    assert_eq!(format!("{x:.2}"), "tensor([  0.33, 100.00])");
    assert_eq!(format!("{x:.0?}"), "tensor([  0, 100])");
    let one = Tensor::new(1_i64).unwrap();
    assert_eq!(
        format!("{one:12}|{one:>12}|{one:*^12}|{one:3}"),
        "tensor(1)   |   tensor(1)|*tensor(1)**|tensor(1)"
    );
    let c = Tensor::new([f64::NAN, 0.25])
        .unwrap()
        .to(DType::C128)
        .unwrap();
    assert_eq!(
        format!("{c:.1}"),
        "tensor([nan+0.j, 0.2+0.j], dtype=complex128)"
    );
}
